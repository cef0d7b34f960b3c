//! At the edge of its budget a task stops and asks.

use ostler_model::ask::AskKind;
use ostler_model::task::{AskState, Budget, Cause, Edge, IntentState, NotDone};
use ostler_model::thread::IfBusy;
use ostler_model::{Decision, TaskSettings, TaskState};
use ostler_scripted_model::{Answer, Usage};
use ostler_testkit::Workshop;
use rstest::rstest;

use crate::{AFTER_PAUSE, PROMPT, answer_of, command, decide_on_disk, hangs, stage_of, text};

fn costs(input: u64, answer: Answer) -> Answer {
    Answer { usage: Usage { input, output: 0, ..Usage::default() }, ..answer }
}

fn of_tokens(settings: &mut TaskSettings) {
    settings.budget = Budget { tokens: Some(1_000), ..Budget::default() };
}

#[rstest]
#[tokio::test]
async fn tokens_that_are_used_up_stop_the_task_until_somebody_decides(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(Decision::Once, Decision::Deny)] decision: Decision,
) {
    // Codex says what an answer cost when its command is done, and then goes on at once: that goes nowhere.
    let stage = stage_of(
        version,
        vec![
            (AFTER_PAUSE, vec![costs(10, text("Done."))]),
            (PROMPT, vec![costs(2_000, command("true")), hangs()]),
        ],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, of_tokens).await.unwrap();
    let parked = shop.until(&task, TaskState::Parked).await.unwrap();
    let edge = Edge::Tokens { used: 2_000, most: 1_000 };
    assert_eq!(parked.cause, Cause::BudgetUsed { edge });
    let ask = shop.ask(&task).await.unwrap();
    assert!(matches!(&ask.content.kind, AskKind::Continue { why } if why.contains("1000 tokens")));

    shop.answer(&ask, decision.clone()).await.unwrap();
    let expected =
        if decision == Decision::Once { TaskState::Completed } else { TaskState::Cancelled };
    let ended = shop.until(&task, expected).await.unwrap();

    if decision == Decision::Once {
        assert_eq!((answer_of(&ended), ended.budget.tokens), (Some("Done."), Some(3_000)));
    } else {
        assert_eq!(answer_of(&ended), None);
    }
    let ask = shop.engine.store().ask(&ask.id).await.unwrap().unwrap();
    assert_eq!(ask.state, AskState::Closed);
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

#[tokio::test]
async fn turns_that_are_used_up_stop_the_task_before_the_next_one() {
    let stage = stage_of(
        "0.166.0",
        vec![
            ("feed the cat", vec![text("Two.")]),
            ("feed the dog", vec![text("Three.")]),
            (PROMPT, vec![text("One.")]),
        ],
    );
    stage.model().hold_answers();
    let shop = Workshop::open(&stage).await.unwrap();
    let turns = |settings: &mut TaskSettings| settings.budget.turns = Some(1);
    let task = shop.start_with(&stage, PROMPT, turns).await.unwrap();
    shop.until(&task, TaskState::Working).await.unwrap();
    shop.send(&task, "feed the cat", IfBusy::Queue).await.unwrap();
    let last = shop.send(&task, "feed the dog", IfBusy::Queue).await.unwrap();
    stage.model().release_answers();

    shop.until(&task, TaskState::Parked).await.unwrap();
    let first = shop.ask(&task).await.unwrap();
    // The question outlives our process, and so does what waits for the answer.
    shop.close().await.unwrap();
    let shop = Workshop::open(&stage).await.unwrap();
    shop.answer(&first, Decision::Once).await.unwrap();
    let parked = shop
        .until_that(&task, |task| task.spent.turns == 2 && task.state == TaskState::Parked)
        .await
        .unwrap();
    assert_eq!(answer_of(&parked), Some("Two."));
    let second = shop.ask(&task).await.unwrap();
    assert_ne!(first.id, second.id);
    shop.answer(&second, Decision::Deny).await.unwrap();

    shop.until(&task, TaskState::Cancelled).await.unwrap();
    let last = shop.settled(&last).await.unwrap();
    assert!(matches!(last, IntentState::NotDone { why: NotDone::Withdrawn { .. } }), "{last:?}");
    assert_eq!(stage.model().requests_seen(), 2);
    shop.close().await.unwrap();
}

#[tokio::test]
async fn time_that_is_used_up_stops_the_task() {
    let stage = stage_of("0.166.0", vec![(PROMPT, vec![command("sleep 60"), text("Never.")])]);
    let shop = Workshop::open(&stage).await.unwrap();
    let short = |settings: &mut TaskSettings| settings.budget.work_ms = Some(1_500);
    let task = shop.start_with(&stage, PROMPT, short).await.unwrap();
    let parked = shop.until(&task, TaskState::Parked).await.unwrap();

    let Cause::BudgetUsed { edge: Edge::WorkTime { used_ms, most_ms: 1_500 } } = parked.cause
    else {
        panic!("{parked:?}")
    };
    assert!(used_ms >= 1_500);
    // Whoever interrupts a task that asks cancels it, and the question with it.
    let ask = shop.ask(&task).await.unwrap();
    shop.engine.interrupt(&task, "test").await.unwrap();
    shop.until(&task, TaskState::Cancelled).await.unwrap();
    let asks = shop.engine.store().undecided_asks_of(&task).await.unwrap();
    assert_eq!(asks, []);
    shop.answer(&ask, Decision::Once).await.unwrap_err();
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_word_that_was_written_right_before_our_process_was_killed_counts() {
    let stage = stage_of(
        "0.166.0",
        vec![("feed the cat", vec![text("Two.")]), (PROMPT, vec![text("One.")])],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let turns = |settings: &mut TaskSettings| settings.budget.turns = Some(1);
    let task = shop.start_with(&stage, PROMPT, turns).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    shop.send(&task, "feed the cat", IfBusy::Queue).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.close().await.unwrap();
    decide_on_disk(&stage, &ask, Decision::Once).await;

    let shop = Workshop::open(&stage).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), ended.spent.turns), (Some("Two."), 2));
    let open = shop.engine.store().open_intents_of(&task).await.unwrap();
    assert_eq!(open, []);
    shop.close().await.unwrap();
}
