//! What a runner is told and what it finds in the store cross: whatever their order, each intent is taken once.

use ostler_model::thread::{IfBusy, Update};
use ostler_model::{Input, TaskSettings};
use ostler_store::Write;

use super::*;
use crate::engine::new_task;
use crate::shared::sample::shared_in;

/// A runner of a task that waits for its place.
async fn runner(folder: &std::path::Path) -> Runner {
    let shared = shared_in(folder);
    let id = TaskId::new("a");
    let settings = TaskSettings::in_folder("/".to_owned());
    let by = "ana".to_owned();
    let (_, batch) = new_task(settings, Input::text("harness"), by, None, &id, None);
    shared.store.commit(batch).await.unwrap();
    Runner::load(shared, &id).await.unwrap().unwrap()
}

fn send(id: &str) -> Intent {
    Intent {
        id: id.into(),
        task: "a".into(),
        wish: Wish::Send { input: Input::text("more"), if_busy: IfBusy::Queue },
        by: "ana".to_owned(),
        at: 0,
        state: IntentState::Pending,
    }
}

fn is_held(runner: &Runner, intent: &Intent) -> bool {
    runner.intents.contains_key(&intent.id)
}

/// It is found before its own order arrives, and is over by then.
#[tokio::test]
async fn an_intent_that_was_found_is_not_taken_again_when_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = runner(folder.path()).await;
    let intent = send("i");
    let written = Write::Intent(Box::new(intent.clone()));
    runner.shared.store.commit(written.into()).await.unwrap();
    runner.take(Happened::Order(Order::Look)).await.unwrap();
    assert!(is_held(&runner, &intent));

    let why = ostler_model::task::NotDone::TooLate;
    runner.settle_intent(&intent.id, IntentState::NotDone { why });
    runner.take(Happened::Order(Order::Submit(Box::new(intent.clone())))).await.unwrap();
    assert!(!is_held(&runner, &intent));
}

/// What became of it is not on disk yet.
#[tokio::test]
async fn an_intent_that_is_over_is_not_taken_again_when_it_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = runner(folder.path()).await;
    let intent = send("i");
    let written = Write::Intent(Box::new(intent.clone()));
    runner.shared.store.commit(written.into()).await.unwrap();
    runner.take(Happened::Order(Order::Submit(Box::new(intent.clone())))).await.unwrap();
    assert!(is_held(&runner, &intent));

    let why = ostler_model::task::NotDone::TooLate;
    runner.settle_intent(&intent.id, IntentState::NotDone { why });
    runner.take(Happened::Order(Order::Look)).await.unwrap();
    assert!(!is_held(&runner, &intent));
}

/// A turn that ended while a steer was in doubt is over, though nothing follows from that yet.
#[tokio::test]
async fn the_row_of_a_task_is_as_its_rules_have_it_also_if_nothing_follows() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = runner(folder.path()).await;
    let stored = async |runner: &mut Runner| {
        assert!(runner.write().await.unwrap());
        runner.shared.store.task(&TaskId::new("a")).await.unwrap().unwrap()
    };
    let tell = |runner: &mut Runner, update| runner.step(Signal::Told(Box::new(update)));
    let want = runner.machine.wants();
    runner.step(Signal::Placed { want });
    runner.step(Signal::Opened);
    tell(&mut runner, Update::TurnBegan { turn: "t1".into() });
    let steer = Signal::Submit { intent: "s".into(), if_busy: IfBusy::Steer };
    runner.step(steer);
    assert_eq!(stored(&mut runner).await.turn, Some("t1".into()));

    let result = serde_json::json!({
        "turn": "t1",
        "inputs": [],
        "end": { "status": "completed" },
        "tool_iterations": 0,
        "usage": ostler_model::usage::Usage::default(),
        "compacted": false,
        "retries": 0,
        "retire": false,
        "elapsed_ms": 1,
    });
    let result: ostler_model::TurnResult = serde_json::from_value(result).unwrap();
    tell(&mut runner, Update::TurnEnded { result: Box::new(result) });
    let task = stored(&mut runner).await;
    assert_eq!((&task.turn, task.spent.turns), (&None, 1));
    assert_eq!(task.last_result, runner.machine.task().last_result);

    tell(&mut runner, Update::TurnBegan { turn: "t2".into() });
    assert_eq!(stored(&mut runner).await.turn, Some("t2".into()));
}
