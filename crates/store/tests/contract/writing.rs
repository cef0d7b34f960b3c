//! How it is written: in order, together, by one alone.

use std::sync::Arc;
use std::time::Duration;

use ostler_store::{Batch, Committed, Seqs, Store, StoreError};

use crate::samples::{event, id, new, task};
use crate::world::{World, refused, write};

#[tokio::test]
async fn who_opens_last_holds_the_store() {
    let world = World::new();
    let first = world.open();
    write(&first, vec![new(task("t1"))]).await;
    let second = world.open();
    assert_eq!((first.epoch(), second.epoch()), (1, 2));

    assert!(matches!(refused(&first, vec![event("t1", 1)]).await, StoreError::Fenced));
    write(&second, vec![event("t1", 2)]).await;
    assert!(matches!(refused(&first, vec![event("t1", 3)]).await, StoreError::Fenced));
    let appended = first.append(Batch(vec![event("t1", 4)])).await;
    assert!(matches!(appended, Err(StoreError::Fenced)));
    assert_eq!(second.events(&id("t1"), 0, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_appended_stands_before_what_is_committed_after_it() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1"))]).await;
    for number in 1..=50 {
        store.append(Batch(vec![event("t1", number)])).await.unwrap();
    }
    let written = write(&store, vec![event("t1", 51)]).await;
    assert_eq!(written, Committed::Written(vec![Seqs { task: id("t1"), first: 51, last: 51 }]));
    let events = store.events(&id("t1"), 0, 99).await.unwrap();
    let times: Vec<_> = events.iter().map(|logged| logged.at).collect();
    assert!(times.is_sorted() && times.len() == 51, "{times:?}");
}

#[tokio::test]
async fn what_is_appended_is_written_without_anybody_waiting_and_those_who_listen_are_told() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1"))]).await;
    let mut news = store.news();
    store.append(Batch(vec![event("t1", 1), event("t1", 2)])).await.unwrap();
    let told = tokio::time::timeout(Duration::from_secs(10), news.recv()).await.unwrap().unwrap();
    assert_eq!(told, Arc::from([Seqs { task: id("t1"), first: 1, last: 2 }]));
    assert_eq!(store.events(&id("t1"), 0, 9).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_wrong_append_is_told_by_the_health_and_harms_nobody() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1"))]).await;
    store.append(Batch(vec![event("nobody", 1)])).await.unwrap();
    write(&store, vec![event("t1", 1)]).await;
    let health = store.health();
    assert_eq!(health.refused_appends, 1);
    assert!(matches!(health.last_refusal, Some(StoreError::NoTask(task)) if task == id("nobody")));
    assert!(health.failing.is_none());
}

#[tokio::test]
async fn many_who_write_at_once_all_find_theirs() {
    let world = World::new();
    let store = world.open();
    let tasks: Vec<_> = (0..8).map(|number| format!("t{number}")).collect();
    write(&store, tasks.iter().map(|name| new(task(name))).collect()).await;
    let writers = tasks.iter().cloned().map(|name| {
        let store = store.clone();
        tokio::spawn(async move {
            for number in 1..=25 {
                let written = write(&store, vec![event(&name, number)]).await;
                let seqs = Seqs { task: id(&name), first: number, last: number };
                assert_eq!(written, Committed::Written(vec![seqs]));
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    for name in tasks {
        assert_eq!(store.task(&id(&name)).await.unwrap().unwrap().last_seq, 25);
    }
}

#[tokio::test]
async fn a_batch_larger_than_the_queue_is_written_all_the_same() {
    let world = World::new();
    let mut settings = world.settings();
    settings.queue_bytes = 1000;
    let store = Store::open(settings).unwrap();
    write(&store, vec![new(task("t1"))]).await;
    let many = (1..=100).map(|number| event("t1", number)).collect();
    let waited = tokio::time::timeout(Duration::from_secs(30), store.commit(Batch(many)));
    waited.await.unwrap().unwrap();
    assert_eq!(store.task(&id("t1")).await.unwrap().unwrap().last_seq, 100);
}

#[tokio::test]
async fn what_was_handed_over_is_written_when_the_store_closes_and_nothing_after() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1"))]).await;
    let other = store.clone();
    store.append(Batch(vec![event("t1", 1)])).await.unwrap();
    store.close().await;
    assert!(matches!(refused(&other, vec![event("t1", 2)]).await, StoreError::Closed));
    assert!(matches!(other.task(&id("t1")).await, Err(StoreError::Closed)));
    assert_eq!(world.open().task(&id("t1")).await.unwrap().unwrap().last_seq, 1);
}

#[tokio::test]
async fn what_was_handed_over_is_written_when_the_last_handle_goes() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1"))]).await;
    store.append(Batch(vec![event("t1", 1)])).await.unwrap();
    drop(store);
    world.wait_until_rows_of_nobody("events", 1).await;
}
