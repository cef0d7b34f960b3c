//! Reviews: turns with two names.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::request::turn::ReviewTarget;
use ostler_codex::thread::{TurnContent, TurnInput};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{ItemBody, TurnEnd};
use rstest::rstest;

use super::{INTERRUPTED_WITHIN, Scene, by_test, hangs, says};
use crate::text;

fn review() -> TurnInput {
    let target = ReviewTarget::Custom { instructions: "look at the harness".to_owned() };
    TurnInput::new(TurnContent::Review(target))
}

#[rstest]
#[tokio::test]
async fn a_review_is_one_turn_with_one_answer(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        ("look at the harness", vec![text("A buckle is loose.")]),
        ("then", vec![text("Fixed.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;

    let ticket = thread.thread.send(review(), IfBusy::Fail).await.unwrap();
    let result = thread.turn_end().await.unwrap();

    assert_eq!((&result.end, &result.inputs), (&TurnEnd::Completed, &vec![ticket.input.clone()]));
    assert_eq!(result.final_answer.as_deref(), Some("A buckle is loose."));
    assert_eq!(ticket.outcome().await.unwrap().result, result);
    let ended = thread.updates().find_map(|update| match update {
        Update::ItemEnded { item, .. } => match &item.body {
            ItemBody::ReviewEnded { review } => Some(review.clone()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(ended.as_deref(), Some("A buckle is loose."));
    let began =
        thread.updates().filter(|update| matches!(update, Update::TurnBegan { .. })).count();
    assert_eq!(began, 1, "{:#?}", thread.seen);
    // The second name must not be taken for a turn that still runs, nor a second review for the first.
    assert_eq!(thread.run(says("then")).await.unwrap().result.end, TurnEnd::Completed);
    assert!(
        thread.updates().all(|update| !matches!(update, Update::Stray { .. })),
        "{:#?}",
        thread.seen
    );
}

/// Codex takes an interrupt of a review only under the name that it announced.
#[rstest]
#[tokio::test]
async fn a_review_is_interrupted(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let conversations =
        vec![("look at the harness", vec![hangs()]), ("then", vec![text("Fixed.")])];
    let scene = Scene::of(version, conversations).await;
    let thread = scene.free_thread(ThreadOptions::default()).await;
    let ticket = thread.thread.send(review(), IfBusy::Fail).await.unwrap();
    scene.asked(1).await;

    let interrupted = thread.thread.interrupt("the test");
    tokio::time::timeout(INTERRUPTED_WITHIN, interrupted).await.unwrap();

    let result = ticket.outcome().await.unwrap().result;
    assert_eq!((result.end, result.retire), (by_test(), false));
    assert_eq!(thread.thread.run(says("then")).await.unwrap().result.end, TurnEnd::Completed);
}

#[rstest]
#[tokio::test]
async fn a_review_is_interrupted_before_it_has_begun(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations =
        vec![("look at the harness", vec![hangs()]), ("then", vec![text("Fixed.")])];
    let scene = Scene::of(version, conversations).await;
    let thread = scene.free_thread(ThreadOptions::default()).await;
    let ticket = thread.thread.send(review(), IfBusy::Fail).await.unwrap();

    let interrupted = thread.thread.interrupt("the test");
    tokio::time::timeout(INTERRUPTED_WITHIN, interrupted).await.unwrap();

    let result = ticket.outcome().await.unwrap().result;
    assert_eq!((result.end, result.retire), (by_test(), false));
    assert_eq!(thread.thread.run(says("then")).await.unwrap().result.end, TurnEnd::Completed);
}

/// Up to 0.142.5 an input sent into a review is answered, and lost. A steer of ours waits for the end instead.
#[rstest]
#[tokio::test]
async fn an_input_sent_during_a_review_is_answered_after_it(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations =
        vec![("look at the harness", vec![text("Fine.")]), ("then", vec![text("Fixed.")])];
    let scene = Scene::of(version, conversations).await;
    scene.stage.model().hold_answers();
    let thread = scene.free_thread(ThreadOptions::default()).await;
    let reviewed = thread.thread.send(review(), IfBusy::Fail).await.unwrap();
    scene.asked(1).await;

    let steer = thread.thread.send(says("then"), IfBusy::Steer).await.unwrap();
    let queued = thread.thread.send(says("then again"), IfBusy::Queue).await.unwrap();
    scene.stage.model().release_answers();

    assert_eq!(reviewed.outcome().await.unwrap().result.final_answer.as_deref(), Some("Fine."));
    for ticket in [steer, queued] {
        let result = ticket.outcome().await.unwrap().result;
        assert_eq!(
            (result.end, result.final_answer.as_deref()),
            (TurnEnd::Completed, Some("Fixed."))
        );
    }
}
