//! Codex reviews what a task has changed.

use std::process::Command;

use ostler_model::input::{Content, ReviewOf};
use ostler_model::thread::IfBusy;
use ostler_model::{Input, TaskState};
use ostler_scripted_model::{Conversation, Script};
use ostler_testkit::{Stage, Workshop};
use rstest::rstest;

use crate::{PROMPT, text};

#[rstest]
#[tokio::test]
async fn the_uncommitted_changes_are_reviewed_as_a_turn_of_the_task(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![text("Harnessed.")];
    let conversations = vec![Conversation { prompt: PROMPT.to_owned(), answers }];
    let fallback = Some(text("The girth is loose."));
    let script = Script { conversations, fallback, ..Script::default() };
    let (program, scratch) = (env!("CARGO_BIN_EXE_ostler"), env!("CARGO_TARGET_TMPDIR"));
    let stage = Stage::set(program, scratch, version, script).unwrap();
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(stage.workspace()).output();
        assert!(done.unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    std::fs::write(stage.workspace().join("harness.txt"), "loose\n").unwrap();
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let review = Content::Review(ReviewOf::UncommittedChanges);
    let input = Input { content: review, ..Input::text("") };
    shop.engine.send(&task, input, IfBusy::Queue, "test", None).await.unwrap();
    let reviewed = |task: &ostler_model::Task| {
        let answer = task.last_result.as_ref().and_then(|result| result.final_answer.as_deref());
        task.state == TaskState::Completed && answer != Some("Harnessed.")
    };
    let ended = shop.until_that(&task, reviewed).await.unwrap();

    let answer = ended.last_result.and_then(|result| result.final_answer).unwrap_or_default();
    assert!(answer.contains("The girth is loose."), "{answer}");
    assert_eq!(shop.engine.store().turns(&task).await.unwrap().len(), 2);
    shop.close().await.unwrap();
}
