//! Retention: what goes, what stays, and what is said of it.

use std::collections::BTreeMap;

use ostler_model::{Event, TaskId, TaskState};
use ostler_store::{Retention, Store, Write};

use crate::samples::{NOON, event, id, in_state, new};
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
async fn twelve(store: &Store, wire_bytes: usize) {
    for number in 0..12_i64 {
        let state = match number {
            1 => TaskState::Working,
            2..6 => TaskState::Failed,
            _ => TaskState::Completed,
        };
        let name = format!("t{number:02}");
        let mut writes = vec![new(in_state(&name, state, NOON + number * HOUR)), event(&name, 1)];
        let lines = noise(wire_bytes, number.cast_unsigned());
        writes.push(Write::Wire { task: id(&name), at: NOON, lines });
        write(store, writes).await;
    }
}

/// Bytes that no compression makes smaller.
fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..bytes).map(next).collect()
}

#[tokio::test]
async fn old_tasks_go_and_what_is_not_over_stays() {
    let world = World::new();
    let store = world.open();
    twelve(&store, 10).await;
    let used = |at| Write::RuleUsed { rule: "r".into(), ask: "a".into(), task: id("t"), at };
    write(&store, vec![used(NOON), used(NOON + 20 * HOUR)]).await;
    let retention = Retention { age_ms: Some(10 * HOUR), ..Retention::none() };
    let report = store.sweep(NOON + 14 * HOUR, &retention).await.unwrap();
    assert_eq!(report.too_old, ids(&["t00", "t02", "t03"]));
    assert_eq!((report.rule_uses, report.too_many.len()), (1, 0));
    assert_eq!((report.too_large.len(), report.wire_removed.len()), (0, 0));
    assert_eq!(left(&store).await, ["t01", "t04", "t05", "t06", "t07", "t08", "t09", "t10", "t11"]);
    world.wait_until_rows(&store, "events", 9).await;
    world.wait_until_rows(&store, "wire", 9).await;
    let again = store.sweep(NOON + 14 * HOUR, &retention).await.unwrap();
    assert!(again.is_empty(), "{again:?}");
}

#[tokio::test]
async fn of_each_state_only_so_many_are_kept() {
    let world = World::new();
    let store = world.open();
    twelve(&store, 10).await;
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
async fn raw_lines_go_first_when_only_the_size_is_too_large_and_the_log_says_so() {
    let world = World::new();
    let store = world.open();
    twelve(&store, 100_000).await;
    let retention = Retention { size_bytes: Some(900_000), ..Retention::none() };
    let report = store.sweep(NOON, &retention).await.unwrap();
    assert_eq!(report.too_large, []);
    assert_eq!(report.wire_removed, ids(&["t00", "t02", "t03", "t04", "t05", "t06"]));
    assert!(report.bytes_before > 1_200_000 && report.bytes_after <= 900_000, "{report:?}");
    assert_eq!(left(&store).await.len(), 12);
    let log = store.events(&id("t00"), 1, 9).await.unwrap();
    assert!(matches!(&log[0].event, Event::Removed { before_seq: 2, .. }), "{log:?}");
    assert_eq!(store.wire(&id("t00"), 0, 9).await.unwrap(), []);
    // Running, although it is the second oldest.
    assert_eq!(store.wire(&id("t01"), 0, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn whole_tasks_go_when_raw_lines_are_not_enough_and_the_file_shrinks() {
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
