//! A working folder or a rollout that is gone: the task waits for a person, and what was said is not lost.

use std::fs;

use ostler_engine::StartTask;
use ostler_model::task::AskRecord;
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{AskKind, Decision, Event, Task, TaskId, TaskState};
use ostler_testkit::Workshop;
use rstest::rstest;
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::{PROMPT, stage_of, text};

const THEN: &str = "saddle it";
const ELSEWHERE: &str = "paint it in another stable";

fn is_disconnected(event: &Event) -> bool {
    let Event::Thread { update, .. } = event else { return false };
    matches!(**update, Update::Disconnected { .. })
}

/// The question that keeps the task waiting, once it is another than this one.
async fn asked(shop: &Workshop, task: &TaskId, before: Option<&AskRecord>) -> (AskRecord, String) {
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let asks = shop.engine.store().undecided_asks_of(task).await.unwrap();
        let new = asks.into_iter().find(|ask| before.is_none_or(|before| before.id != ask.id));
        if let Some(ask) = new {
            let AskKind::Continue { why } = ask.content.kind.clone() else { panic!("{ask:?}") };
            assert_eq!(shop.task(task).await.unwrap().state, TaskState::Parked);
            return (ask, why);
        }
        let task = shop.task(task).await.unwrap();
        assert!(Instant::now() < deadline, "nobody is asked: {:?} {:?}", task.state, task.cause);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn has_saddled(task: &Task) -> bool {
    let result = task.last_result.as_ref();
    task.state == TaskState::Completed
        && result.and_then(|result| result.final_answer.as_deref()) == Some("Saddled.")
}

#[rstest]
#[tokio::test]
async fn without_its_folder_a_task_waits_and_goes_on_when_it_is_there_again(
    #[values("0.142.5", "0.166.0")] version: &str,
    #[values(false, true)] over_a_restart: bool,
) {
    let stage =
        stage_of(version, vec![(PROMPT, vec![text("Harnessed.")]), (THEN, vec![text("Saddled.")])]);
    let folder = stage.workspace().join("stable");
    fs::create_dir(&folder).unwrap();
    let mut shop = Workshop::open(&stage).await.unwrap();
    let cwd = folder.display().to_string();
    let task = shop.start_with(&stage, PROMPT, |settings| settings.cwd = cwd).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    fs::remove_dir(&folder).unwrap();
    if over_a_restart {
        shop.kill_codex(&stage, &task).await.unwrap();
        shop.close().await.unwrap();
        shop = Workshop::open(&stage).await.unwrap();
    }
    let intent = shop.send(&task, THEN, IfBusy::Queue).await.unwrap();
    let (ask, why) = asked(&shop, &task, None).await;
    assert!(why.contains("its working folder") && why.contains("stable is gone"), "{why}");
    assert!(why.contains(&format!("`ostler fork {task} --from-log --cwd DIR PROMPT`")), "{why}");
    assert_eq!(stage.model().requests_seen(), 1, "a turn began in nothing");

    // Still gone: it is asked again.
    shop.answer(&ask, Decision::Once).await.unwrap();
    let (ask, _) = asked(&shop, &task, Some(&ask)).await;
    fs::create_dir(&folder).unwrap();
    shop.answer(&ask, Decision::Once).await.unwrap();
    shop.until_that(&task, has_saddled).await.unwrap();
    assert!(!shop.settled(&intent).await.unwrap().is_open());
    assert_eq!(stage.model().requests_seen(), 2);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn without_its_rollout_a_task_waits_and_a_new_one_knows_what_was_said(
    #[values("0.142.5", "0.166.0")] version: &str,
    #[values(false, true)] is_killed: bool,
) {
    let stage = stage_of(
        version,
        vec![
            (PROMPT, vec![text("Harnessed.")]),
            (THEN, vec![text("Saddled.")]),
            (ELSEWHERE, vec![text("Painted.")]),
        ],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    // A thread that is open stays in its app-server's memory.
    match is_killed {
        true => {
            shop.kill_codex(&stage, &task).await.unwrap();
            // An input that is written to a dead connection may have arrived, and is not given again.
            let is_told = async || shop.log(&task).await.unwrap().iter().any(is_disconnected);
            let noticed = async {
                while !is_told().await {
                    sleep(Duration::from_millis(20)).await;
                }
            };
            timeout(Duration::from_secs(60), noticed).await.unwrap();
        }
        false => assert!(shop.engine.release(&task).await.unwrap()),
    }
    let sessions = stage.codex_home().join("sessions");
    let aside = stage.codex_home().join("aside");
    fs::rename(&sessions, &aside).unwrap();
    shop.send(&task, THEN, IfBusy::Queue).await.unwrap();
    let (ask, why) = asked(&shop, &task, None).await;
    assert!(why.contains("Codex has lost thread"), "{why}");
    assert!(why.contains(&format!("`ostler fork {task} --from-log PROMPT`")), "{why}");

    let parent = shop.task(&task).await.unwrap();
    let input = shop.engine.input_from_log(&parent, ELSEWHERE.to_owned()).await.unwrap();
    let wish = StartTask {
        settings: parent.settings.clone(),
        input,
        by: "test".to_owned(),
        key: None,
        forked_from: None,
        id: None,
        worktree: false,
    };
    let new = shop.engine.start_task(wish).await.unwrap().task;
    shop.until(&new, TaskState::Completed).await.unwrap();
    let seen = stage.model().requests();
    let last = String::from_utf8(seen.last().unwrap().body.to_vec()).unwrap();
    for said in [PROMPT, "Harnessed.", "in an earlier conversation", ELSEWHERE] {
        assert!(last.contains(said), "{said:?} is missing: {last}");
    }

    drop(fs::remove_dir_all(&sessions));
    fs::rename(&aside, &sessions).unwrap();
    shop.answer(&ask, Decision::Once).await.unwrap();
    shop.until_that(&task, has_saddled).await.unwrap();
    shop.close().await.unwrap();
}
