//! What `ostler ls` and `ostler show` read, of a daemon that has few tasks and of one that has a hundred thousand.

use std::time::Instant;

use ostler_model::{Task, TaskState};
use ostler_server::api::{StartAnswer, StartRequest, TaskDetail, TaskList};
use ostler_store::{Batch, Store, Write};

use crate::budgets::{Budget, median};
use crate::daemon::Daemon;

const FEW: usize = 100;
const MANY: usize = 100_000;
/// Tasks that are written together.
const AT_ONCE: usize = 1000;
const READS: usize = 200;

pub(crate) fn few_and_many() -> Vec<Budget> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (few, many) = runtime.block_on(async { (read(FEW).await, read(MANY).await) });
    vec![Budget {
        what: "what `ls` and `show` read of a daemon with 100,000 tasks, beside one with 100",
        figure: many / few,
        most: 2.0,
        unit: "×",
        note: format!("{many:.2} ms and {few:.2} ms over its socket"),
    }]
}

/// The milliseconds that one look takes.
async fn read(tasks: usize) -> f64 {
    let daemon = Daemon::start("").await;
    let request = StartRequest {
        // At work for ever.
        prompt: Some("never".to_owned()),
        cwd: daemon.folder.path().display().to_string(),
        ..StartRequest::default()
    };
    let mut client = daemon.client().await.unwrap();
    let started: StartAnswer = client.post("/v1/tasks", &request).await.unwrap();
    drop(client);
    let sample = started.task;
    let daemon = daemon.filled(async |store| fill(&store, &sample, tasks).await).await;

    let states = |is_wanted: fn(TaskState) -> bool| {
        let wanted = TaskState::ALL.into_iter().filter(|state| is_wanted(*state));
        wanted.map(TaskState::name).collect::<Vec<_>>().join(",")
    };
    let pages = [
        (500, states(|state| !state.is_over() && !state.waits_for_a_person())),
        (500, states(TaskState::waits_for_a_person)),
        (10, states(TaskState::is_over)),
    ];
    let mut client = daemon.client().await.unwrap();
    let mut looks = Vec::new();
    for _ in 0..READS {
        let begin = Instant::now();
        let mut shown = 0;
        for (limit, states) in &pages {
            let path = format!("/v1/tasks?limit={limit}&state={states}");
            shown += client.get::<TaskList>(&path).await.unwrap().tasks.len();
        }
        let path = format!("/v1/tasks/{}", sample.id);
        let _detail: TaskDetail = client.get(&path).await.unwrap();
        looks.push(begin.elapsed().as_secs_f64() * 1e3);
        assert_eq!(shown, 11, "the one at work, and the last ten that ended");
    }
    daemon.end().await;
    median(looks)
}

async fn fill(store: &Store, sample: &Task, tasks: usize) {
    for first in (0..tasks).step_by(AT_ONCE) {
        let mut batch = Batch::new();
        for number in first..tasks.min(first + AT_ONCE) {
            let ended_at = sample.created_at - number as i64;
            let task = Task {
                id: format!("{number:012}").as_str().into(),
                state: TaskState::Completed,
                updated_at: ended_at,
                ended_at: Some(ended_at),
                thread: None,
                keeper: None,
                turn: None,
                ..sample.clone()
            };
            batch.push(Write::NewTask { task: Box::new(task), key: None });
        }
        store.commit(batch).await.unwrap();
    }
}
