//! Inputs put into a turn that runs. The proof that one arrived is its echo, never the answer alone.

use ostler_codex::driver::ThreadOptions;
use ostler_model::TurnEnd;
use ostler_model::thread::{IfBusy, Update};
use ostler_scripted_model::{Answer, Fault};
use ostler_testkit::DrivenThread;
use rstest::rstest;

use super::{Scene, breaks_off, by_test, once, says, speaks};
use crate::{LEAVES_A_LINE, command, text};

/// Where each input was taken, in order.
fn taken(thread: &DrivenThread) -> Vec<(String, String)> {
    let taken = thread.updates().filter_map(|update| match update {
        Update::InputTaken { input, turn } => Some((input.to_string(), turn.to_string())),
        _ => None,
    });
    taken.collect()
}

#[rstest]
#[tokio::test]
async fn a_steer_during_a_tool_reaches_the_model_in_the_same_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![command(LEAVES_A_LINE), text("Blinkers are on.")];
    let scene = Scene::of(version, vec![("harness", answers)]).await;
    let mut thread = scene.asking_thread(ThreadOptions::default()).await;
    let first = thread.thread.send(says("harness"), IfBusy::Fail).await.unwrap();
    let (ask, _) = thread.ask().await.unwrap();

    let steer = thread.thread.send(says("and blinkers"), IfBusy::Steer).await.unwrap();
    thread.thread.answer(ask, once()).await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!(result.end, TurnEnd::Completed);
    assert_eq!(result.inputs, [first.input.clone(), steer.input.clone()]);
    let turn = result.turn.to_string();
    let expected =
        [first.input, steer.input.clone()].map(|input| (input.to_string(), turn.clone()));
    assert_eq!(taken(&thread), expected);
    assert_eq!(steer.outcome().await.unwrap().result, result);
    let told: Vec<_> = scene.requests().iter().map(|it| it.contains("and blinkers")).collect();
    assert_eq!(told, [false, true]);
}

#[rstest]
#[tokio::test]
async fn a_steer_in_the_middle_of_an_answer_is_taken(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    // The steer is there before the model has its breath back.
    let fault = Some(Fault::Hang { after: 4, for_ms: Some(15_000) });
    let slow = Answer { fault, ..text(&"clip clop ".repeat(15)) };
    let scene = Scene::of(version, vec![("trot", vec![slow, text("Whoa.")])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let first = thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    speaks(&mut thread).await;

    let steer = thread.thread.send(says("and stop"), IfBusy::Steer).await.unwrap();
    let result = thread.turn_end().await.unwrap();

    assert_eq!(result.end, TurnEnd::Completed);
    assert_eq!(result.inputs, [first.input, steer.input]);
    assert_eq!(result.final_answer.as_deref(), Some("Whoa."));
    assert!(scene.requests()[1].contains("and stop"));
}

/// Tries around the end of the answer. Codex refuses the steer, or answers it, or, if it comes in the last moment, takes it
/// in without asking the model again; whichever it is, the input is with the model once.
#[rstest]
#[tokio::test]
async fn a_steer_around_the_end_of_a_turn_is_never_lost(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    const TRIES: usize = 8;
    let names = (0..TRIES).map(|number| (format!("lap {number}."), format!("late {number}.")));
    let names: Vec<_> = names.collect();
    let mut conversations = vec![("go on", vec![text("On.")])];
    for (lap, late) in &names {
        conversations.push((lap.as_str(), vec![text("Round."), text("Round again.")]));
        conversations.push((late.as_str(), vec![text("Late.")]));
    }
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    for (lap, late) in &names {
        let first = thread.thread.send(says(lap), IfBusy::Queue).await.unwrap();
        speaks(&mut thread).await;
        let steer = thread.thread.send(says(late), IfBusy::Steer).await.unwrap();
        let input = steer.input.clone();

        let first = first.outcome().await.unwrap().result;
        let steered = steer.outcome().await.unwrap().result;

        assert_eq!((first.end, &steered.end), (TurnEnd::Completed, &TurnEnd::Completed));
        if steered.unanswered == [input] {
            assert_eq!(steered.turn, first.turn);
            thread.thread.run(says("go on")).await.unwrap();
        } else {
            assert_eq!(steered.final_answer.as_deref(), Some("Late."));
        }
        let last = scene.requests().last().unwrap().clone();
        assert_eq!(last.matches(late.as_str()).count(), 1, "{late}: {last}");
        // All that was told is read before the next lap.
        let is_end =
            |it: &Update| matches!(it, Update::TurnEnded { result } if result.turn == steered.turn);
        while !thread.updates().any(is_end) {
            thread.next("the end of the lap").await.unwrap();
        }
    }
}

/// An accepted steer is lost inside Codex if an interrupt follows at once; the driver sees that it was not echoed.
#[rstest]
#[tokio::test]
async fn a_steer_cut_off_by_an_interrupt_is_not_lost(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![("trot", vec![breaks_off()]), ("turn left", vec![text("Left.")])];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let first = thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    speaks(&mut thread).await;

    let steer = thread.thread.send(says("turn left"), IfBusy::Steer).await.unwrap();
    thread.thread.interrupt("the test").await;

    assert_eq!(first.outcome().await.unwrap().result.end, by_test());
    let steered = steer.outcome().await.unwrap().result;
    // 0.166.0 may have put it into the turn before the interrupt; then it is in the history.
    if steered.end == by_test() {
        assert_eq!(version, "0.166.0");
        let answer = thread.thread.run(says("turn left")).await.unwrap().result;
        assert_eq!(answer.final_answer.as_deref(), Some("Left."));
    } else {
        assert_eq!(steered.final_answer.as_deref(), Some("Left."));
    }
    let last = scene.requests().last().unwrap().clone();
    assert!(last.contains("turn left"), "{last}");
}
