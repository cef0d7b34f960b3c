//! A task is interrupted: in line, at work, and when it is over.

use ostler_model::task::{IntentState, NotDone, Receipt};
use ostler_model::{Decision, TaskState};
use ostler_testkit::Workshop;
use rstest::rstest;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text, untrusted};

#[tokio::test]
async fn one_in_line_is_taken_back_and_its_place_is_free() {
    let stage = stage("0.166.0", vec![text("One.")]);
    stage.model().hold_answers();
    let shop = Workshop::open_with(&stage, |settings| settings.running = 1).await.unwrap();
    let working = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&working, TaskState::Working).await.unwrap();
    let in_line = shop.start(&stage, PROMPT).await.unwrap();
    let last = shop.start(&stage, PROMPT).await.unwrap();

    let intent = shop.engine.interrupt(&in_line, "test").await.unwrap();
    let done = IntentState::Done { receipt: Receipt::Nothing };
    assert_eq!(shop.settled(&intent).await.unwrap(), done);
    shop.until(&in_line, TaskState::Cancelled).await.unwrap();
    assert_eq!(shop.states(&in_line).await.unwrap(), [TaskState::Cancelled]);
    stage.model().release_answers();
    shop.until(&working, TaskState::Completed).await.unwrap();
    shop.until(&last, TaskState::Completed).await.unwrap();
    assert_eq!(stage.model().requests_seen(), 2);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_turn_that_runs_is_ended_and_one_that_is_over_is_not(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![text("Never.")]);
    stage.model().hold_answers();
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let working = shop.until(&task, TaskState::Working).await.unwrap();
    shop.until_requests(&stage, 1).await.unwrap();
    let intent = shop.engine.interrupt(&task, "test").await.unwrap();
    let receipt = Receipt::Interrupted { turn: working.turn.unwrap() };
    assert_eq!(shop.settled(&intent).await.unwrap(), IntentState::Done { receipt });
    shop.until(&task, TaskState::Cancelled).await.unwrap();

    let again = shop.engine.interrupt(&task, "test").await.unwrap_err();
    let nothing = format!("nothing runs that could be ended: task {task} is cancelled");
    assert_eq!(again.to_string(), nothing);
    let intents = shop.engine.store().intents(&task).await.unwrap();
    let too_late = IntentState::NotDone { why: NotDone::TooLate };
    assert_eq!(intents.last().map(|intent| &intent.state), Some(&too_late));
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn one_that_waits_for_an_answer_is_ended_and_asks_no_more(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Never.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.engine.interrupt(&task, "test").await.unwrap();
    shop.until(&task, TaskState::Cancelled).await.unwrap();

    let seen = shop.states(&task).await.unwrap();
    use TaskState::{Cancelled, Starting, WaitingForApproval, Working};
    assert_eq!(seen, [Starting, Working, WaitingForApproval, Cancelled]);
    assert_eq!(shop.engine.store().undecided_asks_of(&task).await.unwrap(), []);
    shop.answer(&ask, Decision::Once).await.unwrap_err();
    assert_eq!(stage.lines("ran.log"), [""; 0]);
    shop.close().await.unwrap();
}
