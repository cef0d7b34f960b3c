//! A task from its start to its answer.

use ostler_model::task::Approval;
use ostler_model::{Decision, TaskState};
use ostler_testkit::Workshop;
use rstest::rstest;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

#[rstest]
#[tokio::test]
async fn a_task_runs_and_its_answer_is_kept(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![text("The horse is harnessed.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();

    let ended = shop.until(&task, TaskState::Completed).await.unwrap();

    let answer = ended.last_result.and_then(|result| result.final_answer);
    assert_eq!(answer.as_deref(), Some("The horse is harnessed."));
    let states = shop.states(&task).await.unwrap();
    assert_eq!(states, [TaskState::Starting, TaskState::Working, TaskState::Completed]);
    let own = (ostler_model::item::Sender::Task, PROMPT.to_owned());
    assert_eq!(crate::prompts(&shop, &task).await, [own]);
    shop.close().await.unwrap();
}

/// They are made when somebody first wants them, and kept.
#[rstest]
#[tokio::test]
async fn the_messages_of_a_task_are_the_same_each_time(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command("echo hay"), text("The horse is harnessed.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    assert_eq!(shop.engine.store().messages(&task).await.unwrap(), []);
    let made = shop.engine.messages(&task).await.unwrap();
    let told = format!("{made:?}");
    for part in [PROMPT, "hay", "The horse is harnessed."] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    assert_eq!(shop.engine.store().messages(&task).await.unwrap(), made);
    assert_eq!(shop.engine.messages(&task).await.unwrap(), made);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_task_waits_for_an_approval_over_a_restart_of_the_daemon(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let untrusted =
        |settings: &mut ostler_model::TaskSettings| settings.approval = Approval::Untrusted;
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let before = shop.ask(&task).await.unwrap();
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    let after = shop.ask(&task).await.unwrap();
    assert_eq!((&after.id, &after.digest), (&before.id, &before.digest));
    shop.answer(&after, Decision::Once).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();

    assert_eq!(stage.lines("ran.log"), ["ran"]);
    assert_eq!(ended.last_result.and_then(|result| result.final_answer).as_deref(), Some("Done."));
    assert_eq!(stage.model().requests_seen(), 2);
    shop.log(&task).await.unwrap();
    shop.close().await.unwrap();
}
