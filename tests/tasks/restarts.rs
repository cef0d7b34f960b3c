//! Our process ends at any point, and the next one takes up all of it.

use std::time::Duration;

use ostler_model::task::{IntentState, Receipt, Wish};
use ostler_model::thread::IfBusy;
use ostler_model::{Decision, Event, TaskState};
use ostler_testkit::Workshop;
use rstest::rstest;

use crate::{
    LEAVES_A_LINE, PROMPT, answer_of, command, decide_on_disk, is_taken, stage, stage_of, text,
    untrusted,
};

const NEXT: &str = "feed the cat";

#[rstest]
#[tokio::test]
async fn a_turn_that_runs_goes_on_without_us(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(true, false)] ends_meanwhile: bool,
) {
    let stage = stage_of(version, vec![(NEXT, vec![text("Two.")]), (PROMPT, vec![text("One.")])]);
    stage.model().hold_answers();
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Working).await.unwrap();
    shop.until_requests(&stage, 1).await.unwrap();
    let queued = shop.send(&task, NEXT, IfBusy::Queue).await.unwrap();
    shop.close().await.unwrap();
    if ends_meanwhile {
        stage.model().release_answers();
    }
    let shop = Workshop::open(&stage).await.unwrap();
    if !ends_meanwhile {
        shop.until(&task, TaskState::Working).await.unwrap();
        stage.model().release_answers();
    }
    assert!(is_taken(&shop.settled(&queued).await.unwrap()));
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();

    assert_eq!((answer_of(&ended), ended.spent.turns), (Some("Two."), 2));
    assert_eq!(stage.model().requests_seen(), 2);
    let answers = shop.log(&task).await.unwrap().into_iter().filter_map(|event| match event {
        Event::Thread { update, .. } => match *update {
            ostler_model::thread::Update::TurnEnded { result } => result.final_answer,
            _ => None,
        },
        _ => None,
    });
    assert_eq!(answers.collect::<Vec<_>>(), ["One.", "Two."]);
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_task_that_is_over_stays_over(#[values("0.130.0", "0.166.0")] version: &str) {
    let stage = stage_of(version, vec![(NEXT, vec![text("Two.")]), (PROMPT, vec![text("One.")])]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let before = shop.until(&task, TaskState::Completed).await.unwrap();
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    assert_eq!(shop.task(&task).await.unwrap().state, TaskState::Completed);
    let sent = shop.send(&task, NEXT, IfBusy::Queue).await.unwrap();
    shop.settled(&sent).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), &ended.thread), (Some("Two."), &before.thread));
    assert_eq!(stage.model().requests_seen(), 2);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn an_answer_that_is_written_reaches_codex_after_a_restart(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    // Our process ends in the moment in which the answer is on disk.
    let (answered, ()) = tokio::join!(shop.answer(&ask, Decision::Once), async { shop.stop() });
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    if answered.is_err() {
        // It was told that it does not count, and it does not.
        shop.answer(&ask, Decision::Once).await.unwrap();
    }
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(answer_of(&ended), Some("Done."));
    assert_eq!(stage.lines("ran.log"), ["ran"]);
    let asks = shop.engine.store().asks_of(&task).await.unwrap();
    assert_eq!(asks.iter().map(|known| &known.id).collect::<Vec<_>>(), [&ask.id]);
    let answers: Vec<_> = shop.intents(&task).await.unwrap().into_iter().collect();
    let answers = answers.into_iter().filter(|(wish, _)| matches!(wish, Wish::Answer { .. }));
    let states: Vec<_> = answers.map(|(_, state)| state).collect();
    assert_eq!(states, [IntentState::Done { receipt: Receipt::Answered }]);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn an_answer_that_codex_never_got_is_given_when_it_asks_again(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.close().await.unwrap();
    decide_on_disk(&stage, &ask, Decision::Once).await;

    let shop = Workshop::open(&stage).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(stage.lines("ran.log"), ["ran"]);
    let asks = shop.engine.store().asks_of(&task).await.unwrap();
    assert_eq!(asks.iter().map(|known| &known.id).collect::<Vec<_>>(), [&ask.id]);
    let intents = shop.intents(&task).await.unwrap();
    let answered = IntentState::Done { receipt: Receipt::Answered };
    assert!(intents.iter().any(|(_, state)| *state == answered), "{intents:?}");
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

#[tokio::test]
async fn what_is_wanted_of_a_task_that_nobody_heard_is_heard_by_the_next_process() {
    let stage = stage_of("0.166.0", vec![(NEXT, vec![text("Two.")]), (PROMPT, vec![text("One.")])]);
    let shop = Workshop::open(&stage).await.unwrap();
    let over = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&over, TaskState::Completed).await.unwrap();
    shop.close().await.unwrap();
    // A line that nobody is served from.
    let shop = Workshop::open_with(&stage, |settings| settings.running = 0).await.unwrap();
    let in_line = shop.start(&stage, PROMPT).await.unwrap();
    shop.stop();
    let sent = shop.send(&over, NEXT, IfBusy::Queue).await.unwrap();
    let stopped = shop.engine.interrupt(&in_line, "test").await.unwrap();
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    assert!(is_taken(&shop.settled(&sent).await.unwrap()));
    let done = IntentState::Done { receipt: Receipt::Nothing };
    assert_eq!(shop.settled(&stopped).await.unwrap(), done);
    shop.until(&in_line, TaskState::Cancelled).await.unwrap();
    let ended = shop.until(&over, TaskState::Completed).await.unwrap();
    assert_eq!(answer_of(&ended), Some("Two."));
    assert_eq!(stage.model().requests_seen(), 2);
    shop.close().await.unwrap();
}

/// The turn's time stands still while a person is waited for, also while we are away.
#[rstest]
#[tokio::test]
async fn the_time_of_a_turn_does_not_run_while_an_ask_waits_over_a_restart(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    // Longer than a busy machine needs to come to the ask, and then to the end.
    let timeout = Duration::from_secs(15);
    let limited = |settings: &mut ostler_model::TaskSettings| {
        untrusted(settings);
        settings.turn_timeout_ms = Some(timeout.as_millis() as u64);
    };
    let task = shop.start_with(&stage, PROMPT, limited).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.close().await.unwrap();
    // What is tested is that this time does not count.
    tokio::time::sleep(timeout).await;
    let shop = Workshop::open(&stage).await.unwrap();
    shop.until(&task, TaskState::WaitingForApproval).await.unwrap();
    shop.answer(&ask, Decision::Once).await.unwrap();
    let ended = shop.until_that(&task, |task| task.state.is_over()).await.unwrap();

    assert_eq!((ended.state, answer_of(&ended)), (TaskState::Completed, Some("Done.")));
    assert_eq!(stage.lines("ran.log"), ["ran"]);
    shop.close().await.unwrap();
}

/// A task that is removed while its thread is only being joined again must not leave its turn to run unseen.
#[rstest]
#[tokio::test]
async fn a_task_that_is_removed_right_after_a_restart_does_nothing_more(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    let answers = vec![command(LEAVES_A_LINE), text("Done.")];
    let stage = stage_of(version, vec![(NEXT, vec![text("Two.")]), (PROMPT, answers)]);
    stage.model().hold_answers();
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Working).await.unwrap();
    shop.until_requests(&stage, 1).await.unwrap();
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    shop.engine.remove(&task).await.unwrap();
    stage.model().release_answers();
    // Another task in the same app-server comes to its end; by then the first one would have written its line.
    let other = shop.start(&stage, NEXT).await.unwrap();
    shop.until(&other, TaskState::Completed).await.unwrap();
    assert_eq!(stage.lines("ran.log"), [""; 0]);
    assert_eq!(shop.engine.store().task(&task).await.unwrap(), None);
    shop.close().await.unwrap();
}
