//! Somebody deletes the runtime folder: a cleaner of temporary files, or the end of a session. The daemon can be reached
//! again, its app-servers are found by their processes, and nothing of a task is lost.

use std::time::Duration;

use ostler_codex::keeper::Condition;
use ostler_model::task::{Approval, SandboxMode};
use ostler_model::{Decision, TaskId, TaskState};
use ostler_scripted_model::{Answer, Call, Conversation, Script};
use ostler_server::api::{AnswerRequest, AskList, StartAnswer, StartRequest, TaskDetail};
use ostler_testkit::Stage;
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::check;
use crate::daemon::Daemon;

const PATIENCE: Duration = Duration::from_secs(90);

/// Who is there when the folder is deleted, and whether it ends after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Daemons {
    /// One, which goes on.
    One,
    /// One, and another after it.
    OneAndAnother,
    /// None; the next one finds no folder.
    TheNext,
}

#[rstest]
#[tokio::test]
async fn an_ask_outlives_the_runtime_folder(
    #[values("0.142.5", "0.166.0")] version: &str,
    #[values(Daemons::One, Daemons::OneAndAnother, Daemons::TheNext)] daemons: Daemons,
) {
    let stage = stage(version);
    let daemon = Daemon::new(&stage, env!("CARGO_BIN_EXE_ostler"));
    daemon.start().await;
    let task = start(&daemon, &stage).await;
    let before = until_asked(&daemon, &task).await;
    let keeper = daemon.keepers().remove(0).id().clone();

    if daemons == Daemons::TheNext {
        daemon.kill();
        daemon.gone().await;
    }
    std::fs::remove_dir_all(daemon.home().join("run")).unwrap();
    match daemons {
        Daemons::One => {}
        Daemons::OneAndAnother => {
            daemon.kill();
            daemon.gone().await;
            daemon.start().await;
        }
        Daemons::TheNext => daemon.start().await,
    }
    daemon.reachable().await;
    let asked = until_asked(&daemon, &task).await;
    assert_eq!(asked, before, "it is the same question");
    answer(&daemon, &asked).await;
    until(&daemon, &task, TaskState::Completed).await;

    assert_eq!(stage.lines("ran.log"), ["ran"]);
    let keepers = daemon.keepers();
    let living = keepers.iter().filter(|found| found.condition == Condition::Running);
    assert_eq!(living.map(|found| found.id()).collect::<Vec<_>>(), [&keeper], "{keepers:?}");
    daemon.end().await;
    check::nothing_left(&daemon, &stage);
}

/// Nobody can reach an app-server any more that has neither keeper nor folder.
#[rstest]
#[tokio::test]
async fn an_app_server_without_keeper_and_folder_is_no_orphan(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version);
    let daemon = Daemon::new(&stage, env!("CARGO_BIN_EXE_ostler"));
    daemon.start().await;
    let task = start(&daemon, &stage).await;
    until_asked(&daemon, &task).await;
    daemon.kill();
    daemon.gone().await;
    let keepers = daemon.keepers();
    let record = keepers[0].record.as_ref().unwrap();
    let (kept_by, codex) = (record.keeper.unwrap(), record.codex.unwrap());
    kill_process(Pid::from_raw(kept_by.pid).unwrap(), Signal::KILL).unwrap();
    while kept_by.is_alive() {
        sleep(Duration::from_millis(10)).await;
    }
    std::fs::remove_dir_all(daemon.home().join("run")).unwrap();

    daemon.start().await;
    let deadline = Instant::now() + PATIENCE;
    while codex.is_alive() {
        assert!(Instant::now() < deadline, "codex lives on:\n{}", daemon.log());
        sleep(Duration::from_millis(50)).await;
    }
    // Its turn was cut off; the task goes on in another app-server and asks again.
    until_over(&daemon, &task).await;
    assert_eq!(stage.lines("ran.log"), ["ran"]);
    daemon.end().await;
    check::nothing_left(&daemon, &stage);
}

fn stage(version: &str) -> Stage {
    let arguments = json!({ "cmd": "sh -c 'echo ran >> ran.log'", "yield_time_ms": 30_000 });
    let asks =
        Answer { calls: vec![Call::function("exec_command", arguments)], ..Answer::default() };
    let done = Answer { text: Some("Done.".to_owned()), ..Answer::default() };
    // Whoever was cut off is asked to go on, and wants the same once more.
    let after = Conversation {
        prompt: "cut off because its process died".to_owned(),
        answers: vec![asks.clone(), done.clone()],
    };
    let first = Conversation { prompt: "harness the horse".to_owned(), answers: vec![asks, done] };
    let script = Script { conversations: vec![after, first], ..Script::default() };
    let program = env!("CARGO_BIN_EXE_ostler");
    Stage::set(program, env!("CARGO_TARGET_TMPDIR"), version, script).unwrap()
}

async fn start(daemon: &Daemon, stage: &Stage) -> TaskId {
    let request = StartRequest {
        prompt: Some("harness the horse".to_owned()),
        cwd: stage.workspace().display().to_string(),
        sandbox: Some(SandboxMode::WorkspaceWrite),
        approval: Some(Approval::Untrusted),
        ..StartRequest::default()
    };
    let mut client = daemon.client().await.unwrap();
    client.post::<StartAnswer>("/v1/tasks", &request).await.unwrap().task.id
}

async fn until(daemon: &Daemon, task: &TaskId, state: TaskState) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut client = daemon.client().await.unwrap();
        let found: TaskDetail = client.get(&format!("/v1/tasks/{task}")).await.unwrap();
        if found.task.state == state {
            return;
        }
        if Instant::now() >= deadline || found.task.state.is_over() {
            daemon.describe().await;
            panic!("it is {}: {:?}", found.task.state, found.task.cause);
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Says yes to whatever is asked, until the task has completed.
async fn until_over(daemon: &Daemon, task: &TaskId) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut client = daemon.client().await.unwrap();
        let found: TaskDetail = client.get(&format!("/v1/tasks/{task}")).await.unwrap();
        match found.task.state {
            TaskState::Completed => return,
            TaskState::WaitingForApproval => {
                let open: AskList = client.get("/v1/asks").await.unwrap();
                for shown in open.asks {
                    answer(daemon, shown.ask.id.as_str()).await;
                }
            }
            _ => {}
        }
        if Instant::now() >= deadline || found.task.state.is_over() {
            daemon.describe().await;
            panic!("it is {}: {:?}", found.task.state, found.task.cause);
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// The name of the question that waits.
async fn until_asked(daemon: &Daemon, task: &TaskId) -> String {
    until(daemon, task, TaskState::WaitingForApproval).await;
    let mut client = daemon.client().await.unwrap();
    let open: AskList = client.get("/v1/asks").await.unwrap();
    open.asks[0].ask.id.to_string()
}

async fn answer(daemon: &Daemon, ask: &str) {
    let decision = Decision::Once;
    let request = AnswerRequest { decision, reason: None, remember: None, surface: None };
    let mut client = daemon.client().await.unwrap();
    let path = format!("/v1/asks/{ask}/answer");
    client.post::<serde_json::Value>(&path, &request).await.unwrap();
}
