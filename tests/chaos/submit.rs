//! Whoever is told that a task is started finds it again, whatever happens right after.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_model::{TaskId, TaskState};
use ostler_scripted_model::{Answer, Script};
use ostler_server::api::{StartAnswer, StartRequest, TaskList};
use ostler_testkit::Stage;
use tokio::time::timeout;

use crate::daemon::Daemon;
use crate::number;

/// From one change of any task to the next. They come many a second; but if the last daemon was killed while it started an app-server, this one
/// waits up to a minute for that before it starts another.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test]
async fn a_task_that_was_acknowledged_is_there_after_any_kill() {
    let times = number("OSTLER_SUBMIT_KILLS", 200);
    let answer = Answer { text: Some("Yes.".to_owned()), ..Answer::default() };
    let script = Script { fallback: Some(answer), ..Script::default() };
    let program = env!("CARGO_BIN_EXE_ostler");
    let stage = Stage::set(program, env!("CARGO_TARGET_TMPDIR"), "0.166.0", script).unwrap();
    // One task is at work for ever, so that the others wait and each daemon has little to take up.
    stage.model().hold_answers();
    let daemon = Daemon::with_limits(
        &stage,
        program,
        "running = 1\nidle_app_server = \"2s\"\nidle_thread = \"1s\"\n",
    );
    let mut acknowledged = BTreeSet::new();
    for time in 0..times {
        daemon.start().await;
        let request = StartRequest {
            prompt: Some(format!("task {time}")),
            cwd: stage.workspace().display().to_string(),
            ..StartRequest::default()
        };
        let mut client = daemon.client().await.unwrap();
        let answer: StartAnswer = client.post("/v1/tasks", &request).await.unwrap();
        daemon.kill();
        daemon.gone().await;
        acknowledged.insert(answer.task.id);
    }
    daemon.start().await;
    let mut client = daemon.client().await.unwrap();
    let list: TaskList = client.get("/v1/tasks?limit=500").await.unwrap();
    let found: BTreeSet<TaskId> = list.tasks.into_iter().map(|task| task.id).collect();
    assert_eq!(found, acknowledged);

    // All of them can still be run.
    let mut changes = daemon.client().await.unwrap().lines("/v1/changes").await.unwrap();
    stage.model().release_answers();
    loop {
        let list: TaskList = client.get("/v1/tasks?limit=500").await.unwrap();
        let of = |state| list.tasks.iter().filter(|task| task.state == state).count() as u64;
        if of(TaskState::Completed) == times {
            break;
        }
        assert_eq!(of(TaskState::Failed), 0, "{list:?}");
        let next = timeout(PATIENCE, changes.next::<serde_json::Value>()).await;
        drop(next.unwrap_or_else(|_| panic!("nothing goes on: {list:?}")).unwrap());
    }
    daemon.end().await;
}
