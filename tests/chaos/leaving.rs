//! The daemon ends in good order, as at a restart or an update of the system, while Codex begins to ask. That must not be
//! worse than a crash: every question is put to a person by the next daemon, and every command runs once.

use std::time::Duration;

use ostler_model::task::{Approval, AskState, SandboxMode};
use ostler_model::{Decision, TaskId, TaskState};
use ostler_scripted_model::{Answer, Call, Conversation, Pace, Script};
use ostler_server::api::{AnswerRequest, AskList, StartAnswer, StartRequest, TaskDetail, TaskList};
use ostler_testkit::Stage;
use rstest::rstest;
use rustix::process::Signal;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::daemon::Daemon;
use crate::{name, number};

/// From one ask to the next: so close that some begin in the very moment of the signal.
const BETWEEN_MS: u64 = 2;

/// All at once, and an app-server that goes when the test is over.
const LIMITS: &str =
    "running = 100\nrunning_per_pool = 100\nidle_app_server = \"2s\"\nidle_thread = \"1s\"\n";

const PATIENCE: Duration = Duration::from_secs(120);

/// A task that asks once.
fn conversation(task: u64) -> Conversation {
    let leaves_a_line = format!("sh -c 'echo ran >> {}.log'", name(task));
    let arguments = json!({ "cmd": leaves_a_line, "yield_time_ms": 30_000 });
    let before_headers_ms = BETWEEN_MS * task;
    let asks = Answer {
        calls: vec![Call::function("exec_command", arguments)],
        pace: Some(Pace { before_headers_ms, ..Pace::default() }),
        ..Answer::default()
    };
    let done = Answer { text: Some("Done.".to_owned()), ..Answer::default() };
    Conversation { prompt: name(task), answers: vec![asks, done] }
}

#[rstest]
#[tokio::test]
async fn no_ask_is_lost_when_the_daemon_ends_in_good_order_while_codex_asks(
    #[values("0.142.5", "0.166.0")] version: &str,
    #[values(0, 1, 8, 16)] asked_before: usize,
) {
    let count = number("OSTLER_CHAOS_TASKS", 24);
    let script =
        Script { conversations: (0..count).map(conversation).collect(), ..Script::default() };
    let program = env!("CARGO_BIN_EXE_ostler");
    let stage = Stage::set(program, env!("CARGO_TARGET_TMPDIR"), version, script).unwrap();
    stage.model().hold_answers();
    let daemon = Daemon::with_limits(&stage, program, LIMITS);
    daemon.start().await;
    let tasks = start(&daemon, &stage, count).await;
    stage.model().wait_for_requests(count, PATIENCE).await.unwrap();

    stage.model().release_answers();
    until_asked(&daemon, asked_before).await;
    assert!(daemon.send(Signal::TERM));
    daemon.gone().await;
    daemon.start().await;
    answer_all(&daemon, &tasks).await;

    all_ran_once(&daemon, &stage, &tasks).await;
    daemon.end().await;
}

/// Ended again and again while it comes back to threads that wait for an answer: an opening that is given up must not answer
/// in anybody's place.
#[rstest]
#[tokio::test]
async fn no_ask_is_lost_when_the_daemon_ends_while_it_comes_back(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    const ROUNDS: u32 = 32;
    /// A daemon needs a fifth of a second or less from its first answer until all threads are joined.
    const BETWEEN: Duration = Duration::from_millis(6);
    let count = 4;
    let script =
        Script { conversations: (0..count).map(conversation).collect(), ..Script::default() };
    let program = env!("CARGO_BIN_EXE_ostler");
    let stage = Stage::set(program, env!("CARGO_TARGET_TMPDIR"), version, script).unwrap();
    let daemon = Daemon::with_limits(&stage, program, LIMITS);
    daemon.start().await;
    let tasks = start(&daemon, &stage, count).await;
    until_asked(&daemon, tasks.len()).await;
    for round in 0..ROUNDS {
        assert!(daemon.send(Signal::TERM));
        daemon.gone().await;
        daemon.start().await;
        // The moment is what is drawn here.
        sleep(BETWEEN * round).await;
    }
    until_asked(&daemon, tasks.len()).await;
    answer_all(&daemon, &tasks).await;
    all_ran_once(&daemon, &stage, &tasks).await;
    daemon.end().await;
}

/// Every task has completed, and its command has run once.
async fn all_ran_once(daemon: &Daemon, stage: &Stage, tasks: &[TaskId]) {
    for (task, id) in tasks.iter().enumerate() {
        let mut client = daemon.client().await.unwrap();
        let found: TaskDetail = client.get(&format!("/v1/tasks/{id}")).await.unwrap();
        assert_eq!(found.task.state, TaskState::Completed, "{id}: {:?}", found.task.cause);
        assert_eq!(stage.lines(&format!("{}.log", name(task as u64))), ["ran"], "{id}");
    }
    let requests = stage.model().requests();
    let failed = |body: String| body.contains("approval request failed");
    let failed = requests.iter().filter(|it| failed(it.json().to_string())).count();
    assert_eq!((failed, requests.len()), (0, 2 * tasks.len()));
}

async fn start(daemon: &Daemon, stage: &Stage, count: u64) -> Vec<TaskId> {
    let mut tasks = Vec::new();
    for task in 0..count {
        let request = StartRequest {
            prompt: Some(name(task)),
            cwd: stage.workspace().display().to_string(),
            sandbox: Some(SandboxMode::WorkspaceWrite),
            approval: Some(Approval::Untrusted),
            ..StartRequest::default()
        };
        let mut client = daemon.client().await.unwrap();
        let answer: StartAnswer = client.post("/v1/tasks", &request).await.unwrap();
        tasks.push(answer.task.id);
    }
    tasks
}

/// Waits until so many questions are known.
async fn until_asked(daemon: &Daemon, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    let mut client = daemon.client().await.unwrap();
    while client.get::<AskList>("/v1/asks").await.unwrap().asks.len() < count {
        assert!(Instant::now() < deadline, "nobody asks");
        sleep(Duration::from_millis(2)).await;
    }
}

/// Says yes once per task, until all are over.
async fn answer_all(daemon: &Daemon, tasks: &[TaskId]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut client = daemon.client().await.unwrap();
        let open: AskList = client.get("/v1/asks").await.unwrap();
        for shown in open.asks.iter().filter(|shown| shown.ask.state == AskState::Open) {
            let decision = Decision::Once;
            let request = AnswerRequest { decision, reason: None, remember: None, surface: None };
            let path = format!("/v1/asks/{}/answer", shown.ask.id);
            client.post::<serde_json::Value>(&path, &request).await.unwrap();
        }
        let list: TaskList = client.get("/v1/tasks?limit=500").await.unwrap();
        if list.tasks.iter().filter(|task| task.state.is_over()).count() == tasks.len() {
            return;
        }
        if Instant::now() >= deadline {
            daemon.describe().await;
            panic!("not all tasks came to their end");
        }
        sleep(Duration::from_millis(50)).await;
    }
}
