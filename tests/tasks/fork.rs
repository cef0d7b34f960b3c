//! A task that goes on from a turn of another one.

use ostler_engine::{StartTask, fork_of};
use ostler_model::thread::IfBusy;
use ostler_model::{Input, TaskState, TurnId};
use ostler_testkit::Workshop;
use rstest::rstest;

use crate::{PROMPT, stage_of, text};

const THEN: &str = "saddle it";
const FORKED: &str = "paint it instead";

#[rstest]
#[tokio::test]
async fn a_fork_has_the_turns_up_to_the_one_that_was_named(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(false, true)] at_a_turn: bool,
) {
    let stage = stage_of(
        version,
        vec![
            (PROMPT, vec![text("Harnessed.")]),
            (THEN, vec![text("Saddled.")]),
            (FORKED, vec![text("Painted.")]),
        ],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let parent = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&parent, TaskState::Completed).await.unwrap();
    shop.engine.send(&parent, Input::text(THEN), IfBusy::Queue, "test", None).await.unwrap();
    let two_turns = |task: &ostler_model::Task| {
        task.state == TaskState::Completed
            && task.last_result.as_ref().and_then(|result| result.final_answer.as_deref())
                == Some("Saddled.")
    };
    let parent = shop.until_that(&parent, two_turns).await.unwrap();
    let turns = shop.engine.store().turns(&parent.id).await.unwrap();
    let first: Option<TurnId> = at_a_turn.then(|| turns[0].turn.clone());
    let wish = StartTask {
        settings: parent.settings.clone(),
        input: Input::text(FORKED),
        by: "test".to_owned(),
        key: None,
        forked_from: fork_of(&parent, first),
        id: None,
        worktree: false,
    };
    let fork = shop.engine.start_task(wish).await.unwrap().task;

    let can = !at_a_turn || version == "0.166.0";
    let state = if can { TaskState::Completed } else { TaskState::Failed };
    let ended = shop.until(&fork, state).await.unwrap();

    if can {
        let answer = ended.last_result.and_then(|result| result.final_answer);
        assert_eq!(answer.as_deref(), Some("Painted."));
        let seen = stage.model().requests();
        let last = String::from_utf8(seen.last().unwrap().body.to_vec()).unwrap();
        let has = |words: &str| last.contains(words);
        assert_eq!((has("Harnessed."), has("Saddled.")), (true, !at_a_turn));
    } else {
        let why = format!("{:?}", ended.cause);
        assert!(why.contains("0.166.0"), "it says which Codex can: {why}");
        assert_eq!(stage.model().requests_seen(), 2, "nothing was forked");
    }
    assert_eq!(shop.engine.store().turns(&parent.id).await.unwrap(), turns);
    shop.close().await.unwrap();
}
