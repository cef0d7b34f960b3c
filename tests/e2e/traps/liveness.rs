//! Turns that stand still, and turns that only seem to.

use std::time::Duration;

use ostler_codex::driver::ThreadOptions;
use ostler_model::thread::{Finding, IfBusy, Limits, OnStall, SeenState, Update};
use ostler_model::{Failure, FailureClass, Interrupter, TurnEnd};
use ostler_testkit::DrivenThread;
use rstest::rstest;

use super::{Scene, hangs, limits, once, says};
use crate::{LEAVES_A_LINE, command, text};

/// Far longer than Codex needs for a step, and short for a test.
const STALL: Duration = Duration::from_millis(1500);

/// For turns that must not be taken for standing still, whatever else the machine does.
const LONG_STALL: Duration = Duration::from_secs(10);

fn stall(on_stall: OnStall) -> ThreadOptions {
    stall_after(STALL, on_stall)
}

fn stall_after(stall_after: Duration, on_stall: OnStall) -> ThreadOptions {
    limits(Limits { stall_after, on_stall, ..Limits::default() })
}

async fn stalled(thread: &mut DrivenThread) -> (Finding, Option<Failure>) {
    let stalled = thread.until("word of the standstill", |update| match update {
        Update::Stalled { found, retrying, .. } => Some((found.clone(), retrying.clone())),
        _ => None,
    });
    stalled.await.unwrap()
}

#[rstest]
#[tokio::test]
async fn a_model_that_never_answers_is_noticed_and_the_turn_ended_as_chosen(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("wait", vec![hangs()])]).await;
    let mut warned = scene.free_thread(stall(OnStall::Warn)).await;
    let mut interrupted = scene.free_thread(stall(OnStall::Interrupt)).await;
    let mut failed = scene.free_thread(stall(OnStall::Fail)).await;
    for thread in [&warned, &interrupted, &failed] {
        thread.thread.send(says("wait"), IfBusy::Fail).await.unwrap();
    }

    let found = (Finding::Answers { state: SeenState::Active }, None);
    assert_eq!(stalled(&mut warned).await, found);
    // It is said again, later and later, and nothing else is done.
    assert_eq!(stalled(&mut warned).await, found);
    assert_eq!(stalled(&mut interrupted).await, found);
    let result = interrupted.turn_end().await.unwrap();
    assert_eq!(result.end, TurnEnd::Interrupted { by: Interrupter::Stall });
    assert_eq!(stalled(&mut failed).await, found);
    let result = failed.turn_end().await.unwrap();
    assert_eq!(result.failure().map(|it| &it.class), Some(&FailureClass::TimedOut), "{result:?}");
    assert_eq!(super::ends(&warned), []);
    warned.thread.interrupt("the test").await;
    assert_eq!(warned.turn_end().await.unwrap().end, super::by_test());
}

/// 0.166.0 never gives up when nobody listens; the older ones fail at once.
#[rstest]
#[tokio::test]
async fn a_model_that_cannot_be_reached_ends_the_turn_as_a_failure_of_the_network(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("go", vec![text("Never said.")])]).await;
    scene.stage.model().refuse_connections().await.unwrap();
    let mut thread = scene.free_thread(stall_after(LONG_STALL, OnStall::Fail)).await;
    thread.thread.send(says("go"), IfBusy::Fail).await.unwrap();

    let result = thread.turn_end().await.unwrap();

    assert_eq!(result.failure().map(|it| &it.class), Some(&FailureClass::Network), "{result:?}");
    if version == "0.166.0" {
        let retrying = thread.updates().filter(|it| matches!(it, Update::Retrying { .. })).count();
        let stalled = thread.updates().find_map(|update| match update {
            Update::Stalled { retrying, .. } => retrying.clone(),
            _ => None,
        });
        assert!(retrying > 0);
        assert_eq!(stalled.map(|failure| failure.class), Some(FailureClass::Network));
        assert!(result.elapsed_ms < 120_000, "{}", result.elapsed_ms);
    }
}

/// A long command says nothing for a while. That is worth a word, and no more.
#[rstest]
#[tokio::test]
async fn a_slow_turn_is_warned_about_and_left_alone(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene =
        Scene::of(version, vec![("graze", vec![command("sleep 4"), text("Grazed.")])]).await;
    let mut thread = scene.free_thread(stall(OnStall::Warn)).await;
    thread.thread.send(says("graze"), IfBusy::Fail).await.unwrap();

    let (found, _) = stalled(&mut thread).await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!(found, Finding::Answers { state: SeenState::Active });
    assert_eq!((result.end, result.final_answer.as_deref()), (TurnEnd::Completed, Some("Grazed.")));
}

/// The clock of the second thread shows that the budget of the first one would long be used up.
#[rstest]
#[tokio::test]
async fn the_budget_stands_still_while_a_person_is_asked(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    // Enough for what the first one has to do besides asking, on a busy machine too.
    let budget_ms = 15_000;
    let budget = Some(Duration::from_millis(budget_ms));
    let options = || limits(Limits { budget, ..Limits::default() });
    let conversations = vec![
        ("harness", vec![command(LEAVES_A_LINE), text("Harnessed.")]),
        ("wait", vec![hangs()]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut asking = scene.asking_thread(options()).await;
    asking.thread.send(says("harness"), IfBusy::Fail).await.unwrap();
    let (ask, _) = asking.ask().await.unwrap();
    let mut hanging = scene.free_thread(options()).await;
    hanging.thread.send(says("wait"), IfBusy::Fail).await.unwrap();

    let timed_out = hanging.turn_end().await.unwrap();
    assert_eq!(
        timed_out.failure().map(|it| &it.class),
        Some(&FailureClass::TimedOut),
        "{timed_out:?}"
    );
    assert!(timed_out.elapsed_ms >= budget_ms && timed_out.retire, "{timed_out:?}");
    asking.thread.answer(ask, once()).await;
    let result = asking.turn_end().await.unwrap();

    assert_eq!(result.end, TurnEnd::Completed);
    assert!(result.elapsed_ms >= budget_ms, "the ask was not open for as long as the budget");
    assert_eq!(scene.stage.lines("ran.log"), ["ran"]);
}
