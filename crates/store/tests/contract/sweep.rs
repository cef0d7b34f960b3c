//! Retention: what goes, what stays, and what is said of it.

use std::collections::BTreeMap;

use ostler_model::task::IntentState;
use ostler_model::{Event, TaskId, TaskState};
use ostler_store::{Retention, Store, Write};

use crate::samples::{NOON, event, id, in_state, intent, new};
use crate::world::{World, write};

const HOUR: i64 = 3_600_000;

async fn left(store: &Store) -> Vec<String> {
    let tasks = store.tasks_by_prefix("", 1000).await.unwrap();
    tasks.into_iter().map(|task| task.id.to_string()).collect()
}

fn ids(names: &[&str]) -> Vec<TaskId> {
    names.iter().map(|name| id(name)).collect()
}

/// Twelve tasks, one for each hour, among them one that is not over.
async fn twelve(store: &Store) {
    for number in 0..12_i64 {
        let state = match number {
            1 => TaskState::Working,
            2..6 => TaskState::Failed,
            _ => TaskState::Completed,
        };
        let name = format!("t{number:02}");
        let task = new(in_state(&name, state, NOON + number * HOUR));
        write(store, vec![task, event(&name, 1)]).await;
    }
}

#[tokio::test]
async fn old_tasks_go_and_what_is_not_over_stays() {
    let world = World::new();
    let store = world.open();
    twelve(&store).await;
    let used = |at| Write::RuleUsed { rule: "r".into(), ask: "a".into(), task: id("t"), at };
    write(&store, vec![used(NOON), used(NOON + 20 * HOUR)]).await;
    let retention = Retention { age_ms: Some(10 * HOUR), ..Retention::none() };
    let report = store.sweep(NOON + 14 * HOUR, &retention).await.unwrap();
    assert_eq!(report.too_old, ids(&["t00", "t02", "t03"]));
    assert_eq!((report.rule_uses, report.too_many.len()), (1, 0));
    assert_eq!(report.too_large, []);
    assert_eq!(left(&store).await, ["t01", "t04", "t05", "t06", "t07", "t08", "t09", "t10", "t11"]);
    world.wait_until_rows(&store, "events", 9).await;
    let again = store.sweep(NOON + 14 * HOUR, &retention).await.unwrap();
    assert!(again.is_empty(), "{again:?}");
}

/// Somebody was told that it is on disk, and the task that it was sent to is not at work again yet.
#[tokio::test]
async fn a_task_that_was_just_sent_something_stays_until_that_is_settled() {
    let world = World::new();
    let store = world.open();
    for name in ["t0", "t1"] {
        write(&store, vec![new(in_state(name, TaskState::Completed, NOON))]).await;
    }
    let sent = |state| Write::Intent(Box::new(intent("i", "t0", state)));
    write(&store, vec![sent(IntentState::Pending)]).await;
    let by_age = Retention { age_ms: Some(HOUR), ..Retention::none() };
    let tasks = BTreeMap::from([(TaskState::Completed, 0)]);
    let by_count = Retention { tasks, ..Retention::none() };
    let by_size = Retention { size_bytes: Some(1), ..Retention::none() };

    for retention in [&by_age, &by_count, &by_size] {
        store.sweep(NOON + 2 * HOUR, retention).await.unwrap();
        assert_eq!(left(&store).await, ["t0"]);
    }
    write(&store, vec![sent(IntentState::Unknown { why: "nobody can say".to_owned() })]).await;
    store.sweep(NOON + 2 * HOUR, &by_age).await.unwrap();
    assert_eq!(left(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn of_each_state_only_so_many_are_kept() {
    let world = World::new();
    let store = world.open();
    twelve(&store).await;
    let tasks = BTreeMap::from([
        (TaskState::Completed, 2),
        (TaskState::Failed, 3),
        // Nobody may ask for this.
        (TaskState::Working, 0),
    ]);
    let retention = Retention { tasks, ..Retention::none() };
    let report = store.sweep(NOON, &retention).await.unwrap();
    assert_eq!(report.too_many, ids(&["t00", "t06", "t07", "t08", "t09", "t02"]));
    assert_eq!(left(&store).await, ["t01", "t03", "t04", "t05", "t10", "t11"]);
}

#[tokio::test]
async fn the_oldest_tasks_go_when_the_size_is_too_large_and_the_file_shrinks() {
    let world = World::new();
    let store = world.open();
    for number in 0..40 {
        let name = format!("t{number:02}");
        let state = if number == 0 { TaskState::Parked } else { TaskState::Completed };
        let text = "x".repeat(2000);
        let notice = |n: i64| Write::Event {
            task: id(&name),
            at: n,
            event: Box::new(Event::Notice {
                name: "n".to_owned(),
                json: text.clone(),
                agent: None,
            }),
        };
        let mut writes = vec![new(in_state(&name, state, NOON + number * HOUR))];
        writes.extend((0..100).map(notice));
        write(&store, writes).await;
    }
    let before = store.sizes().await.unwrap().file;
    let retention = Retention { size_bytes: Some(2_000_000), ..Retention::none() };
    let report = store.sweep(NOON, &retention).await.unwrap();
    assert!(report.bytes_after <= 2_000_000 && report.bytes_before > 8_000_000, "{report:?}");
    let left = left(&store).await;
    assert_eq!(left[0], "t00");
    assert_eq!(left.len() + report.too_large.len(), 40);
    // The oldest of those that are over went, and no more of them than had to.
    assert_eq!(
        left[1..],
        (40 - left.len() + 1..40).map(|n| format!("t{n:02}")).collect::<Vec<_>>()
    );
    assert!(report.bytes_after > 1_500_000, "{report:?}");
    let after = store.sizes().await.unwrap().file;
    assert!(after < before - 2_000_000, "{before} {after}");
}

#[tokio::test]
async fn others_write_while_a_sweep_goes_on() {
    let world = World::new();
    let store = world.open();
    let mut writes = vec![new(in_state("old", TaskState::Completed, NOON))];
    writes.extend((0..30_000).map(|number| event("old", number)));
    writes.push(new(in_state("t1", TaskState::Working, NOON)));
    write(&store, writes).await;
    let retention = Retention { age_ms: Some(0), ..Retention::none() };
    let sweeping = tokio::spawn({
        let store = store.clone();
        async move { store.sweep(NOON + 1, &retention).await.unwrap() }
    });
    let mut written_meanwhile = 0_u64;
    while !sweeping.is_finished() {
        write(&store, vec![event("t1", written_meanwhile)]).await;
        written_meanwhile += 1;
    }
    assert_eq!(sweeping.await.unwrap().too_old, ids(&["old"]));
    assert!(written_meanwhile > 5, "{written_meanwhile}");
}
