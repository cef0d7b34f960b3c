//! Tasks: what is written is read back, in every order it is asked for.

use ostler_model::{Task, TaskState};
use ostler_store::{Committed, Cursor, Seqs, StartKey, Store, StoreError, TaskFilter, Write};

use crate::samples::{NOON, event, id, in_state, new, task};
use crate::world::{World, refused, write};

#[tokio::test]
async fn a_task_is_read_back_as_it_was_written_also_by_the_next_store() {
    let world = World::new();
    let store = world.open();
    let written = write(&store, vec![new(task("t1")), event("t1", 1), event("t1", 2)]).await;
    let seqs = Seqs { task: id("t1"), first: 1, last: 2 };
    assert_eq!(written, Committed::Written(vec![seqs]));
    let expected = Task { last_seq: 2, ..task("t1") };
    assert_eq!(store.task(&id("t1")).await.unwrap(), Some(expected.clone()));
    store.close().await;

    let store = world.open();
    assert_eq!(store.epoch(), 2);
    assert_eq!(store.task(&id("t1")).await.unwrap(), Some(expected));
    assert_eq!(store.task(&id("t2")).await.unwrap(), None);
}

#[tokio::test]
async fn a_task_is_written_anew_and_its_log_goes_on() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1")), event("t1", 1)]).await;
    let changed =
        Task { title: "other".to_owned(), ..in_state("t1", TaskState::Working, NOON + 5) };
    let written = write(&store, vec![Write::Task(Box::new(changed.clone())), event("t1", 2)]).await;
    let seqs = Seqs { task: id("t1"), first: 2, last: 2 };
    assert_eq!(written, Committed::Written(vec![seqs]));
    let expected = Task { last_seq: 2, ..changed };
    assert_eq!(store.task(&id("t1")).await.unwrap(), Some(expected));
}

#[tokio::test]
async fn a_batch_that_is_wrong_leaves_nothing_behind() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1")), event("t1", 1)]).await;
    let error = refused(&store, vec![event("t1", 2), event("nobody", 1)]).await;
    assert!(matches!(error, StoreError::NoTask(task) if task == id("nobody")));
    let error = refused(&store, vec![event("t1", 2), new(task("t1"))]).await;
    assert!(matches!(error, StoreError::TaskIdTaken(task) if task == id("t1")));
    let error = refused(&store, vec![Write::Task(Box::new(task("t2")))]).await;
    assert!(matches!(error, StoreError::NoTask(task) if task == id("t2")));
    assert_eq!(store.task(&id("t1")).await.unwrap().unwrap().last_seq, 1);
}

#[tokio::test]
async fn a_key_starts_one_task_for_each_who_uses_it() {
    let world = World::new();
    let store = world.open();
    let start = |name: &str, digest: &str, by: &str| {
        let task = Box::new(Task { started_by: by.to_owned(), ..task(name) });
        let key = Some(StartKey { key: "k".to_owned(), digest: digest.to_owned() });
        vec![Write::NewTask { task, key }, event(name, 1)]
    };
    let seqs = |name: &str| Committed::Written(vec![Seqs { task: id(name), first: 1, last: 1 }]);

    assert_eq!(write(&store, start("t1", "d", "ada")).await, seqs("t1"));
    assert_eq!(write(&store, start("t2", "d", "ada")).await, Committed::Known(id("t1")));
    assert_eq!(write(&store, start("t3", "d", "bob")).await, seqs("t3"));
    let error = refused(&store, start("t4", "other", "ada")).await;
    let StoreError::KeyReused { key, task } = error else { panic!("{error}") };
    assert_eq!((key.as_str(), task), ("k", id("t1")));

    let key = |key: &str, digest: &str| StartKey { key: key.to_owned(), digest: digest.to_owned() };
    let found = store.started_with("ada", &key("k", "d")).await.unwrap();
    assert_eq!(found, Some(id("t1")));
    assert_eq!(store.task(&id("t2")).await.unwrap(), None);
    assert_eq!(store.started_with("ada", &key("other", "d")).await.unwrap(), None);
    let error = store.started_with("ada", &key("k", "other")).await.unwrap_err();
    let StoreError::KeyReused { key, task } = error else { panic!("{error}") };
    assert_eq!((key.as_str(), task), ("k", id("t1")));
}

#[tokio::test]
async fn tasks_are_found_by_the_beginning_of_their_id() {
    let world = World::new();
    let store = world.open();
    write(&store, ["b2", "a1", "b1", "b3", "c1"].map(|id| new(task(id))).into()).await;
    let found = async |prefix: &str, most| -> Vec<String> {
        let tasks = store.tasks_by_prefix(prefix, most).await.unwrap();
        tasks.into_iter().map(|task| task.id.to_string()).collect()
    };
    assert_eq!(found("b", 9).await, ["b1", "b2", "b3"]);
    assert_eq!(found("b", 2).await, ["b1", "b2"]);
    assert_eq!(found("b2", 2).await, ["b2"]);
    assert_eq!(found("x", 2).await, [""; 0]);
}

#[tokio::test]
async fn each_end_is_told_once_to_whoever_started_the_task() {
    let world = World::new();
    let store = world.open();
    let ended = |name: &str, by: &str, at: i64| {
        let mut task = in_state(name, TaskState::Completed, at);
        (task.started_by, task.ended_at) = (by.to_owned(), Some(at));
        task
    };
    for (name, by, at) in [("t1", "ada", 30), ("t2", "ada", 20), ("t3", "bea", 10)] {
        write(&store, vec![new(ended(name, by, at))]).await;
    }
    let mut working = in_state("t4", TaskState::Working, 40);
    working.started_by = "ada".to_owned();
    write(&store, vec![new(working)]).await;
    let told = |task: &str, by: &str, ended_at: i64| Write::EndTold {
        task: id(task),
        started_by: by.to_owned(),
        ended_at,
    };
    let untold = async |store: &Store, by: &str| -> Vec<String> {
        let tasks = store.untold_ends(by, 9).await.unwrap();
        tasks.into_iter().map(|task| task.id.to_string()).collect()
    };
    assert_eq!(untold(&store, "ada").await, ["t2", "t1"]);
    // Neither another's task nor another end is told by it.
    write(&store, vec![told("t2", "ada", 20), told("t3", "ada", 10), told("t1", "ada", 29)]).await;
    assert_eq!(
        (untold(&store, "ada").await, untold(&store, "bea").await),
        (vec!["t1".to_owned()], vec!["t3".to_owned()])
    );
    // It holds for good, until the task ends again.
    store.close().await;
    let store = world.open();
    assert_eq!(untold(&store, "ada").await, ["t1"]);
    write(&store, vec![Write::Task(Box::new(ended("t2", "ada", 50)))]).await;
    assert_eq!(untold(&store, "ada").await, ["t1", "t2"]);
    let filter = TaskFilter { started_by: Some("ada".to_owned()), ..TaskFilter::default() };
    let own = async |filter: &TaskFilter| -> Vec<String> {
        let page = store.tasks(filter, Cursor::FIRST, 9).await.unwrap();
        page.tasks.into_iter().map(|task| task.id.to_string()).collect()
    };
    assert_eq!(own(&filter).await, ["t2", "t4", "t1"]);
    assert_eq!(own(&TaskFilter { states: vec![TaskState::Working], ..filter }).await, ["t4"]);
}

#[tokio::test]
async fn the_list_goes_page_by_page_from_the_newest() {
    let world = World::new();
    let store = world.open();
    let states = [TaskState::Working, TaskState::Completed, TaskState::Failed];
    for number in 0..9_i64 {
        let state = states[usize::try_from(number).unwrap() % 3];
        // Three at a time change in the same millisecond.
        let mut task = in_state(&format!("t{number}"), state, NOON + number / 3);
        if number > 6 {
            task.settings.cwd = "/elsewhere".to_owned();
        }
        write(&store, vec![new(task)]).await;
    }
    let pages = async |states: &[TaskState], cwd: Option<&str>| {
        let filter =
            TaskFilter { states: states.to_vec(), cwd: cwd.map(str::to_owned), started_by: None };
        let mut pages: Vec<Vec<String>> = Vec::new();
        let mut before = Cursor::FIRST;
        loop {
            let page = store.tasks(&filter, before, 4).await.unwrap();
            pages.push(page.tasks.into_iter().map(|task| task.id.to_string()).collect());
            let Some(next) = page.next else { return pages };
            before = next.to_string().parse().unwrap();
        }
    };
    assert_eq!(
        pages(&[], None).await,
        [vec!["t8", "t7", "t6", "t5"], vec!["t4", "t3", "t2", "t1"], vec!["t0"]]
    );
    assert_eq!(pages(&states[..1], None).await, [vec!["t6", "t3", "t0"]]);
    let two = [TaskState::Failed, TaskState::Completed];
    assert_eq!(pages(&two, None).await, [vec!["t8", "t7", "t5", "t4"], vec!["t2", "t1"]]);
    assert_eq!(pages(&[], Some("/elsewhere")).await, [["t8", "t7"]]);
    assert_eq!(pages(&two[..1], Some("/work/here")).await, [["t5", "t2"]]);
    assert!("x".parse::<Cursor>().is_err());
}

#[tokio::test]
async fn counts_follow_every_change() {
    let world = World::new();
    let store = world.open();
    for name in ["t1", "t2", "t3"] {
        write(&store, vec![new(task(name))]).await;
    }
    write(&store, vec![Write::Task(Box::new(in_state("t2", TaskState::Working, NOON)))]).await;
    write(&store, vec![Write::Task(Box::new(in_state("t3", TaskState::Failed, NOON)))]).await;
    write(&store, vec![Write::RemoveTask(id("t3"))]).await;
    // Taken back with its batch.
    refused(&store, vec![new(task("t4")), event("nobody", 1)]).await;
    let counts = store.counts().await.unwrap();
    assert_eq!(counts, [(TaskState::Queued, 1), (TaskState::Working, 1)].into());
}

#[tokio::test]
async fn unfinished_tasks_and_those_to_be_woken_are_found() {
    let world = World::new();
    let store = world.open();
    let parked = |name: &str, wake_at| {
        let wake_at = Some(NOON + wake_at);
        new(Task { wake_at, ..in_state(name, TaskState::Parked, NOON) })
    };
    write(&store, vec![new(task("t1")), parked("t2", 20), parked("t3", 10), parked("t4", 30)])
        .await;
    write(&store, vec![new(in_state("t5", TaskState::Completed, NOON))]).await;
    let stale = Task { wake_at: Some(NOON), ..in_state("t6", TaskState::Working, NOON) };
    write(&store, vec![new(stale)]).await;

    let names = |tasks: Vec<Task>| -> Vec<_> {
        tasks.into_iter().map(|task| task.id.to_string()).collect()
    };
    assert_eq!(names(store.unfinished().await.unwrap()), ["t1", "t2", "t3", "t4", "t6"]);
    assert_eq!(names(store.at_work().await.unwrap()), ["t6"]);
    assert_eq!(names(store.due(NOON + 20, 9).await.unwrap()), ["t3", "t2"]);
    assert_eq!(store.next_wake(NOON + 20).await.unwrap(), Some(NOON + 30));
    assert_eq!(store.next_wake(NOON + 30).await.unwrap(), None);
}

#[tokio::test]
async fn the_queue_is_fair_and_keeps_places() {
    let world = World::new();
    let store = world.open();
    let by = |name: &str, by: &str, at| {
        let started_by = by.to_owned();
        new(Task { started_by, ..in_state(name, TaskState::Queued, NOON + at) })
    };
    write(&store, (0..4).map(|n| by(&format!("a{n}"), "ada", n)).collect()).await;
    write(&store, vec![by("b0", "bob", 10), by("b1", "bob", 11), by("c0", "", 12)]).await;
    let working = Task { started_by: "bob".to_owned(), ..in_state("b9", TaskState::Working, NOON) };
    write(&store, vec![new(working)]).await;
    // What else is written of a waiting task does not send it to the end.
    write(&store, vec![Write::Task(Box::new(in_state("a0", TaskState::Queued, NOON + 99)))]).await;

    let queue = store.queued(6).await.unwrap();
    let names: Vec<_> = queue.iter().map(|queued| queued.task.to_string()).collect();
    assert_eq!(names, ["a0", "c0", "a1", "b0", "a2", "b1"]);
    assert_eq!(queue[0].since, NOON);

    // Once it has been placed, it comes again as a new one.
    write(&store, vec![Write::Task(Box::new(in_state("a0", TaskState::Working, NOON)))]).await;
    write(&store, vec![Write::Task(Box::new(in_state("a0", TaskState::Queued, NOON + 50)))]).await;
    let last = store.queued(9).await.unwrap().pop().unwrap();
    assert_eq!((last.task, last.since), (id("a0"), NOON + 50));
}
