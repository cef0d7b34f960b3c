//! Those who watch a thread, or do not.

use std::time::Duration;

use ostler_codex::driver::{ThreadOptions, WireLines};
use ostler_codex::thread::{Decided, Decider, Notice, Told};
use ostler_model::thread::{AskEnd, IfBusy, Limits, OnStall, Update};
use ostler_model::{Decision, TurnEnd};
use ostler_scripted_model::Answer;
use rstest::rstest;

use super::{Scene, says};
use crate::{LEAVES_A_LINE, command, text};

/// More than all queues between the model and a watcher hold, if each is told by itself; that is so where the lines of the
/// wire are told too.
const DELTAS: u64 = 6000;

fn flood() -> Answer {
    Answer { deltas: DELTAS, ..Answer::default() }
}

/// Silence that we made ourselves is no reason to end anything.
#[rstest]
#[tokio::test]
async fn a_watcher_that_reads_late_misses_nothing(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("gallop", vec![flood()])]).await;
    let stall_after = Duration::from_secs(10);
    let limits = Limits { stall_after, on_stall: OnStall::Interrupt, ..Limits::default() };
    let options = ThreadOptions { lines: WireLines::Told, ..super::limits(limits) };
    let mut thread = scene.free_thread(options).await;
    let other = scene.free_thread(ThreadOptions::default()).await;
    let ticket = thread.thread.send(says("gallop"), IfBusy::Fail).await.unwrap();

    // The model has said all it has to say, and nobody has read it. Longer than the driver waits for a sign of life.
    let waited = tokio::time::timeout(stall_after * 2, ticket.outcome()).await;
    assert!(waited.is_err(), "the turn ended though nobody read its updates");
    // Commands are taken meanwhile.
    other.thread.interrupt("the test").await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!(result.end, TurnEnd::Completed);
    let text: String = thread
        .updates()
        .filter_map(|update| match update {
            Update::Delta { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(result.final_answer, Some(text.clone()));
    assert_eq!(text.len() as u64, DELTAS * 9);
}

/// Pieces that come together are told together, and none is left out.
#[rstest]
#[tokio::test]
async fn a_text_in_many_pieces_is_told_whole(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("gallop", vec![flood()])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    thread.thread.send(says("gallop"), IfBusy::Fail).await.unwrap();
    let result = thread.turn_end().await.unwrap();

    let pieces: Vec<&str> = thread
        .updates()
        .filter_map(|update| match update {
            Update::Delta { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(result.final_answer, Some(pieces.concat()));
    assert!((pieces.len() as u64) < DELTAS, "{} pieces", pieces.len());
}

#[rstest]
#[tokio::test]
async fn a_watcher_that_never_reads_is_let_go(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene =
        Scene::of(version, vec![("gallop", vec![flood()]), ("then", vec![text("Then.")])]).await;
    let options = ThreadOptions {
        patience: Duration::from_secs(1),
        lines: WireLines::Told,
        ..ThreadOptions::default()
    };
    let mut lazy = scene.free_thread(options).await;
    let mut other = scene.free_thread(ThreadOptions::default()).await;

    let outcome = lazy.thread.run(says("gallop")).await.unwrap();

    assert_eq!(outcome.result.end, TurnEnd::Completed);
    assert_eq!(other.run(says("then")).await.unwrap().result.end, TurnEnd::Completed);
    let mut last = None;
    while let Ok(update) = lazy.next("the last update").await {
        last = Some(update.what);
    }
    assert_eq!(last, Some(Told::Notice(Notice::LeftBehind)));
    assert_eq!(lazy.thread.run(says("then")).await.unwrap().result.end, TurnEnd::Completed);
}

#[rstest]
#[tokio::test]
async fn a_thread_works_unwatched_and_the_driver_ends_with_its_last_handle(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("gallop", vec![flood()])]).await;
    let second = scene.stage.drive(&scene.codex).await.unwrap();
    let settings = scene.stage.settings(
        super::workspace_write(),
        ostler_codex::protocol::approval_policy::ApprovalPolicy::Never,
    );
    let (thread, updates) =
        second.driver.start_thread(settings, ThreadOptions::default()).await.unwrap();
    drop(updates);

    let outcome = thread.run(says("gallop")).await.unwrap();

    assert_eq!(outcome.result.end, TurnEnd::Completed);
    drop(thread);
    second.close().await.unwrap();
}

/// A decider that fails, in whatever way, has declined; the driver and its other threads go on.
#[rstest]
#[tokio::test]
async fn a_decider_that_panics_declines(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let answers = vec![command(LEAVES_A_LINE), text("Not then.")];
    let scene = Scene::of(version, vec![("harness", answers)]).await;
    let at_once =
        Decider::new(|_, _| -> std::future::Ready<Result<Decided, String>> { panic!("at once") });
    let later = Decider::new(|_, ask| async move {
        match ask.offers.contains(&Decision::Once) {
            true => panic!("later"),
            false => Err("not offered".to_owned()),
        }
    });
    for decider in [at_once, later] {
        let mut thread = scene.asking_thread(ThreadOptions::default()).await;
        thread.thread.decide_with(decider).await;

        let result = thread.run(says("harness")).await.unwrap().result;

        assert_eq!(
            (result.end, result.final_answer.as_deref()),
            (TurnEnd::Completed, Some("Not then."))
        );
        let closed = thread.updates().find_map(|update| match update {
            Update::AskClosed { how, .. } => Some(how.clone()),
            _ => None,
        });
        assert!(matches!(closed, Some(AskEnd::Declined { .. })), "{closed:?}");
    }
    assert_eq!(scene.stage.lines("ran.log").len(), 0);
}
