//! Items that complete late, or never.

use ostler_codex::driver::ThreadOptions;
use ostler_model::item::{ItemEnd, Outcome};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{ItemBody, TurnEnd};
use ostler_scripted_model::{Answer, Call, Fault};
use ostler_testkit::DrivenThread;
use rstest::rstest;
use serde_json::json;

use super::{Scene, breaks_off, by_test, says, speaks};
use crate::{command, text};

/// How the steps of a turn ended, by their kind.
fn steps(thread: &DrivenThread) -> Vec<(&'static str, ItemEnd)> {
    let steps = thread.updates().filter_map(|update| match update {
        Update::ItemEnded { item, how, .. } => Some((
            match &item.body {
                ItemBody::UserMessage(_) => "input",
                ItemBody::AgentMessage(_) => "message",
                ItemBody::Command(_) => "command",
                _ => "other",
            },
            *how,
        )),
        _ => None,
    });
    steps.collect()
}

/// Up to 0.142.5 even a quick command is told as ended after its turn.
#[rstest]
#[tokio::test]
async fn a_quick_command_ends_within_its_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        ("count", vec![command("echo one"), text("Counted.")]),
        ("again", vec![text("Again.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;

    let counted = thread.run(says("count")).await.unwrap();
    let again = thread.run(says("again")).await.unwrap();

    assert_eq!((counted.result.tool_iterations, again.result.tool_iterations), (1, 0));
    let output = thread.updates().find_map(|update| match update {
        Update::ItemEnded { turn, item, how: ItemEnd::Reported } => match &item.body {
            ItemBody::Command(command) => Some((turn.clone(), command.output.clone())),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(output, Some((counted.result.turn, "one\n".to_owned())));
    assert!(
        thread.updates().all(|update| !matches!(update, Update::Stray { .. })),
        "{:#?}",
        thread.seen
    );
}

/// A command that runs on behind its turn is closed with it; what Codex says of it later is kept apart.
#[rstest]
#[tokio::test]
async fn a_command_left_running_is_closed_with_its_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let wait = "sh -c 'until test -e go; do sleep 0.05; done; echo gone'";
    let call = Call::function("exec_command", json!({"cmd": wait, "yield_time_ms": 250}));
    let background = Answer { calls: vec![call], ..Answer::default() };
    let conversations = vec![
        ("leave", vec![background, text("Left it running.")]),
        ("again", vec![command("touch go"), text("Again.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;

    let left = thread.run(says("leave")).await.unwrap();
    assert_eq!(left.result.end, TurnEnd::Completed);
    assert!(steps(&thread).contains(&("command", ItemEnd::Interrupted)), "{:?}", steps(&thread));
    let again = thread.run(says("again")).await.unwrap();

    assert_eq!((again.result.end, again.result.tool_iterations), (TurnEnd::Completed, 1));
    let is_late = |update: &Update| matches!(update, Update::Stray { item: Some(item), .. } if matches!(item.body, ItemBody::Command(_)));
    if !thread.updates().any(is_late) {
        thread.until("the late end", |update| is_late(update).then_some(())).await.unwrap();
    }
    let outputs = thread.updates().filter_map(|update| match update {
        Update::ItemEnded { turn, item, .. } if *turn == again.result.turn => Some(&item.body),
        _ => None,
    });
    let others =
        outputs.filter(|body| matches!(body, ItemBody::Command(it) if it.output.contains("gone")));
    assert_eq!(others.count(), 0, "the late command was mixed into the next turn");
}

#[rstest]
#[tokio::test]
async fn a_message_cut_by_an_interrupt_is_closed_as_such(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("trot", vec![breaks_off()])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    speaks(&mut thread).await;

    thread.thread.interrupt("the test").await;

    assert_eq!(thread.turn_end().await.unwrap().end, by_test());
    assert_eq!(steps(&thread), [("input", ItemEnd::Reported), ("message", ItemEnd::Interrupted)]);
}

/// The answer breaks off and Codex asks the model again: the first half never completes.
#[rstest]
#[tokio::test]
async fn a_message_cut_by_a_retry_does_not_count(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let fault = Fault::Drop { after: 2, how: ostler_scripted_model::Cut::Reset };
    let broken = Answer { fault: Some(fault), ..text("One two three.") };
    let scene = Scene::of(version, vec![("count", vec![broken, text("All three.")])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;

    let result = thread.run(says("count")).await.unwrap().result;

    assert_eq!((result.end, result.retries), (TurnEnd::Completed, 1));
    assert_eq!(result.final_answer.as_deref(), Some("All three."));
    let expected = [
        ("input", ItemEnd::Reported),
        ("message", ItemEnd::Superseded),
        ("message", ItemEnd::Reported),
    ];
    assert_eq!(steps(&thread), expected);
}

/// Declined commands are told, with what became of them.
#[rstest]
#[tokio::test]
async fn a_declined_command_is_told_as_declined(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![command(crate::LEAVES_A_LINE), text("Not then.")];
    let scene = Scene::of(version, vec![("harness", answers)]).await;
    let mut thread = scene.asking_thread(ThreadOptions::default()).await;
    thread.thread.decide_with_nobody().await;

    let result = thread.run(says("harness")).await.unwrap().result;

    assert_eq!(result.end, TurnEnd::Completed);
    let outcomes = thread.updates().filter_map(|update| match update {
        Update::ItemEnded { item, .. } => match &item.body {
            ItemBody::Command(command) => Some(command.outcome.clone()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Declined]);
}
