//! Turns are answered one after the other, each by its own name.

use ostler_codex::driver::ThreadOptions;
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{FailureClass, Interrupter, TurnEnd};
use rstest::rstest;

use super::{Scene, ends, hangs, says, speaks, turn_began};
use crate::text;

#[rstest]
#[tokio::test]
async fn inputs_sent_meanwhile_are_answered_in_order_by_turns_of_their_own(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        ("first", vec![text("One.")]),
        ("second", vec![text("Two.")]),
        ("third", vec![text("Three.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    scene.stage.model().hold_answers();
    let mut thread = scene.free_thread(ThreadOptions::default()).await;

    let mut tickets = Vec::new();
    for input in ["first", "second", "third"] {
        tickets.push(thread.thread.send(says(input), IfBusy::Queue).await.unwrap());
    }
    scene.asked(1).await;
    scene.stage.model().release_answers();

    let mut began = Vec::new();
    for (ticket, answer) in tickets.into_iter().zip(["One.", "Two.", "Three."]) {
        let turn = turn_began(&mut thread).await;
        let result = thread.turn_end().await.unwrap();
        assert_eq!((&result.turn, &result.inputs), (&turn, &vec![ticket.input.clone()]));
        assert_eq!(result.final_answer.as_deref(), Some(answer));
        assert_eq!(ticket.outcome().await.unwrap().result, result);
        assert!(!began.contains(&turn), "two turns of one name");
        began.push(turn);
    }
    assert_eq!(scene.stage.model().requests_seen(), 3);
}

#[rstest]
#[tokio::test]
async fn a_busy_thread_refuses_an_input_that_must_not_wait(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![("first", vec![text("One.")]), ("second", vec![text("Two.")])];
    let scene = Scene::of(version, conversations).await;
    scene.stage.model().hold_answers();
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    thread.thread.send(says("first"), IfBusy::Fail).await.unwrap();

    let refused = thread.thread.send(says("second"), IfBusy::Fail).await.unwrap();
    let failure = refused.outcome().await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Busy);
    scene.stage.model().release_answers();

    assert_eq!(thread.turn_end().await.unwrap().final_answer.as_deref(), Some("One."));
    assert_eq!(scene.stage.model().requests_seen(), 1, "the refused input was sent");
}

#[rstest]
#[tokio::test]
async fn an_urgent_input_ends_the_turn_and_is_answered_next(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![("first", vec![hangs()]), ("second", vec![text("Two.")])];
    let scene = Scene::of(version, conversations).await;
    let thread = scene.free_thread(ThreadOptions::default()).await;
    let first = thread.thread.send(says("first"), IfBusy::Queue).await.unwrap();
    scene.asked(1).await;

    let second = thread.thread.send(says("second"), IfBusy::Interrupt).await.unwrap();

    let by = Interrupter::Caller { name: "a new input".into() };
    let first = first.outcome().await.unwrap().result;
    assert_eq!(first.end, TurnEnd::Interrupted { by });
    let second = second.outcome().await.unwrap().result;
    assert_eq!((second.final_answer.as_deref(), second.end), (Some("Two."), TurnEnd::Completed));
    assert_ne!(first.turn, second.turn);
}

/// One driver, one connection, two turns at once: nothing of the one shows up in the other.
#[rstest]
#[tokio::test]
async fn two_threads_of_one_driver_do_not_mix(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations =
        vec![("bay", vec![text("A bay horse.")]), ("grey", vec![text("A grey one.")])];
    let scene = Scene::of(version, conversations).await;
    scene.stage.model().hold_answers();
    let mut bay = scene.free_thread(ThreadOptions::default()).await;
    let mut grey = scene.free_thread(ThreadOptions::default()).await;
    let sent_bay = bay.thread.send(says("bay"), IfBusy::Fail).await.unwrap();
    let sent_grey = grey.thread.send(says("grey"), IfBusy::Fail).await.unwrap();
    scene.asked(2).await;
    scene.stage.model().release_answers();

    for (thread, sent, answer) in
        [(&mut bay, sent_bay, "A bay horse."), (&mut grey, sent_grey, "A grey one.")]
    {
        let result = thread.turn_end().await.unwrap();
        assert_eq!(
            (result.inputs, result.final_answer.as_deref()),
            (vec![sent.input], Some(answer))
        );
        assert_eq!(ends(thread), [(Some(answer.to_owned()), TurnEnd::Completed)]);
        let own = thread.thread.id();
        assert!(thread.seen.iter().all(|update| update.thread == *own && update.agent.is_none()));
        let strays = thread.updates().filter(|update| matches!(update, Update::Stray { .. }));
        assert_eq!(strays.count(), 0);
    }
}

#[rstest]
#[tokio::test]
async fn the_next_turn_of_an_interrupted_thread_is_not_harmed(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![("first", vec![super::breaks_off()]), ("second", vec![text("Two.")])];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    thread.thread.send(says("first"), IfBusy::Fail).await.unwrap();
    speaks(&mut thread).await;

    // The second one waits for the first to have ended.
    thread.thread.interrupt("the test").await;
    let outcome = thread.thread.run(says("second")).await.unwrap();

    assert_eq!(outcome.result.end, TurnEnd::Completed);
    assert_eq!(outcome.result.final_answer.as_deref(), Some("Two."));
}
