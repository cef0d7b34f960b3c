//! Interrupts: whenever they come, the turn ends, and what it started ends with it.

use ostler_codex::driver::ThreadOptions;
use ostler_model::TurnEnd;
use ostler_model::item::{ItemEnd, Outcome};
use ostler_model::thread::{AskEnd, IfBusy, Update, Withdrawal};
use ostler_model::{ItemBody, ThreadId};
use rstest::rstest;

use super::{INTERRUPTED_WITHIN, Scene, by_test, hangs, says, tool_began, wait_until};
use crate::{LEAVES_A_LINE, command, text};

/// Whether a process with this word among its arguments runs.
fn runs(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.starts_with("sleep") && line.contains(word)
    })
}

/// Right after the input is handed over Codex refuses interrupts and runs the turn all the same.
#[rstest]
#[tokio::test]
async fn an_interrupt_right_after_sending_is_not_lost(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    const TIMES: usize = 20;
    let prompts: Vec<_> = (0..TIMES).map(|number| format!("go {number}!")).collect();
    let conversations = prompts.iter().map(|prompt| (prompt.as_str(), vec![hangs()]));
    let scene = Scene::of(version, conversations.collect()).await;
    let thread = scene.free_thread(ThreadOptions::default()).await;
    let handle = thread.thread.clone();
    // Nobody reads the updates.
    drop(thread);
    for prompt in &prompts {
        let ticket = handle.send(says(prompt), IfBusy::Fail).await.unwrap();
        handle.interrupt("the test").await;
        let outcome = tokio::time::timeout(INTERRUPTED_WITHIN, ticket.outcome()).await;
        let result = outcome.unwrap().unwrap().result;
        assert_eq!((result.end, result.retire), (by_test(), false), "{prompt}");
    }
}

#[rstest]
#[tokio::test]
async fn an_interrupt_ends_the_process_of_a_command(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    // A number of seconds that nobody else sleeps.
    let seconds = format!("{}.{}", 6000 + std::process::id() % 1000, version.replace('.', ""));
    let answers = vec![command(&format!("sleep {seconds}")), text("Never said.")];
    let scene =
        Scene::of(version, vec![("graze", answers), ("trot", vec![text("Trotting.")])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    thread.thread.send(says("graze"), IfBusy::Fail).await.unwrap();
    tool_began(&mut thread).await;
    wait_until("the command does not run", || runs(&seconds)).await;

    thread.thread.interrupt("the test").await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!((result.end, result.retire), (by_test(), false));
    wait_until("the command runs on", || !runs(&seconds)).await;
    // Codex never completes it, or calls it failed; either way it is closed within its turn.
    let closed = thread.updates().find_map(|update| match update {
        Update::ItemEnded { item, how, .. } => match &item.body {
            ItemBody::Command(command) => Some((how, &command.outcome)),
            _ => None,
        },
        _ => None,
    });
    let closed = closed.unwrap();
    assert!(
        matches!(
            closed,
            (ItemEnd::Interrupted, Outcome::Interrupted) | (ItemEnd::Reported, Outcome::Failed)
        ),
        "{closed:?}"
    );
    assert_eq!(thread.run(says("trot")).await.unwrap().result.end, TurnEnd::Completed);
}

#[rstest]
#[tokio::test]
async fn an_interrupt_withdraws_the_open_ask(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![command(LEAVES_A_LINE), text("Never said.")];
    let scene =
        Scene::of(version, vec![("harness", answers), ("trot", vec![text("Trotting.")])]).await;
    let mut thread = scene.asking_thread(ThreadOptions::default()).await;
    thread.thread.send(says("harness"), IfBusy::Fail).await.unwrap();
    let (ask, _) = thread.ask().await.unwrap();

    thread.thread.interrupt("the test").await;
    let result = thread.turn_end().await.unwrap();
    // Late, and for nobody.
    thread.thread.answer(ask.clone(), super::once()).await;

    assert_eq!(result.end, by_test());
    assert_eq!(thread.run(says("trot")).await.unwrap().result.end, TurnEnd::Completed);
    let closed = thread.updates().filter_map(|update| match update {
        Update::AskClosed { ask, how } => Some((ask.clone(), how.clone())),
        _ => None,
    });
    let withdrawn = AskEnd::Withdrawn { reason: Withdrawal::TurnEnded };
    assert_eq!(closed.collect::<Vec<_>>(), [(ask, withdrawn)]);
    assert_eq!(scene.stage.lines("ran.log").len(), 0);
}

/// A second interrupt of one turn is not answered by Codex until the end of the next; one without a turn is refused.
#[rstest]
#[tokio::test]
async fn interrupts_twice_and_at_rest_do_no_harm(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene =
        Scene::of(version, vec![("wait", vec![hangs()]), ("trot", vec![text("Trotting.")])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    tokio::time::timeout(INTERRUPTED_WITHIN, thread.thread.interrupt("the test")).await.unwrap();
    thread.thread.send(says("wait"), IfBusy::Fail).await.unwrap();
    scene.asked(1).await;

    let (one, two) = (thread.thread.clone(), thread.thread.clone());
    let both = async { tokio::join!(one.interrupt("the test"), two.interrupt("somebody else")) };
    tokio::time::timeout(INTERRUPTED_WITHIN, both).await.unwrap();
    let result = thread.turn_end().await.unwrap();
    tokio::time::timeout(INTERRUPTED_WITHIN, thread.thread.interrupt("the test")).await.unwrap();

    assert_eq!((result.end, result.retire), (by_test(), false));
    assert_eq!(thread.run(says("trot")).await.unwrap().result.end, TurnEnd::Completed);
    let ends: Vec<_> = super::ends(&thread).into_iter().map(|(_, end)| end).collect();
    assert_eq!(ends, [by_test(), TurnEnd::Completed]);
    let thread: ThreadId = thread.thread.id().clone();
    assert!(!thread.as_str().is_empty());
}

#[rstest]
#[tokio::test]
async fn a_model_that_never_answers_does_not_hold_up_an_interrupt(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("wait", vec![hangs()])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let ticket = thread.thread.send(says("wait"), IfBusy::Fail).await.unwrap();
    scene.asked(1).await;

    let interrupted = thread.thread.interrupt("the test");
    tokio::time::timeout(INTERRUPTED_WITHIN, interrupted).await.unwrap();

    let result = ticket.outcome().await.unwrap().result;
    assert_eq!((result.end, result.retire, result.final_answer), (by_test(), false, None));
    assert_eq!(thread.turn_end().await.unwrap().end, by_test());
}
