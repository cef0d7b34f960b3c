//! A disk that is full while a turn runs: the turn goes on, and what happened in it is written when there is room again.

use ostler_model::task::{Approval, SandboxMode};
use ostler_model::thread::Update;
use ostler_model::{Event, ItemBody, TaskState};
use ostler_scripted_model::{Answer, Call, Conversation, Script};
use ostler_server::api::{Line, StartAnswer, StartRequest, TaskDetail};
use ostler_server::client::ClientError;
use ostler_testkit::Stage;
use serde_json::json;
use tokio::time::{Duration, Instant, sleep};

use crate::daemon::Daemon;

const PROMPT: &str = "count the oats";
const STEPS: usize = 12;
const PATIENCE: Duration = Duration::from_secs(60);

/// Each step has a text that is worth writing down.
fn step(number: usize) -> Answer {
    Answer {
        text: Some(format!("{number}: {}", "oats ".repeat(2_000))),
        calls: vec![Call::function("exec_command", json!({ "cmd": "true" }))],
        ..Answer::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_goes_on_while_the_disk_is_full_and_nothing_of_it_is_lost() {
    let mut answers: Vec<Answer> = (1..=STEPS).map(step).collect();
    answers.push(Answer { text: Some("All counted.".to_owned()), ..Answer::default() });
    let conversation = Conversation { prompt: PROMPT.to_owned(), answers };
    let script = Script { conversations: vec![conversation], ..Script::default() };
    let program = env!("CARGO_BIN_EXE_ostler");
    let stage = Stage::set(program, env!("CARGO_TARGET_TMPDIR"), "0.166.0", script).unwrap();
    let daemon = Daemon::new(&stage, program).on_a_small_disk(24).await;
    daemon.start().await;
    let request = StartRequest {
        prompt: Some(PROMPT.to_owned()),
        cwd: stage.workspace().display().to_string(),
        sandbox: Some(SandboxMode::ReadOnly),
        approval: Some(Approval::OnRequest),
        ..StartRequest::default()
    };

    // The turn has begun, and waits for the model's word.
    stage.model().hold_answers();
    let mut client = daemon.client().await.unwrap();
    let answer: StartAnswer = client.post("/v1/tasks", &request).await.unwrap();
    let task = answer.task.id;
    stage.model().wait_for_requests(1, PATIENCE).await.unwrap();
    let ballast = daemon.state().join("ballast");
    fill(&ballast);
    stage.model().release_answers();

    // Codex is not held up by it, and whoever wants something new is told why it cannot be had.
    stage.model().wait_for_requests(STEPS as u64 + 1, PATIENCE).await.unwrap();
    let refused = client.post::<StartAnswer>("/v1/tasks", &request).await.unwrap_err();
    let ClientError::Problem(problem) = refused else { panic!("{refused}") };
    assert!(problem.detail.contains("disk"), "{problem:?}");
    let detail: TaskDetail = client.get(&format!("/v1/tasks/{task}")).await.unwrap();
    assert!(!detail.task.state.is_over(), "{:?} is told and not written", detail.task.state);

    std::fs::remove_file(&ballast).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let detail: TaskDetail = client.get(&format!("/v1/tasks/{task}")).await.unwrap();
        if detail.task.state.is_over() {
            assert_eq!(detail.task.state, TaskState::Completed, "{:?}", detail.task.cause);
            break;
        }
        assert!(Instant::now() < deadline, "{:?}\n{}", detail.task.state, daemon.log());
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(messages(&daemon, task.as_str()).await.len(), STEPS + 1);
    // In its own user namespace it cannot see who wants it to stop, and refuses.
    daemon.idle().await;
    daemon.kill();
    daemon.gone().await;
}

/// Nothing can be written when it comes up: it shows what there is, refuses what is new, and goes on when there is room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_daemon_comes_up_on_a_full_disk_and_goes_on_when_there_is_room() {
    let mut answers: Vec<Answer> = (1..=STEPS).map(step).collect();
    answers.push(Answer { text: Some("All counted.".to_owned()), ..Answer::default() });
    let conversation = Conversation { prompt: PROMPT.to_owned(), answers };
    let script = Script { conversations: vec![conversation], ..Script::default() };
    let program = env!("CARGO_BIN_EXE_ostler");
    let stage = Stage::set(program, env!("CARGO_TARGET_TMPDIR"), "0.166.0", script).unwrap();
    let daemon = Daemon::new(&stage, program).on_a_small_disk(24).await;
    daemon.start().await;
    let request = StartRequest {
        prompt: Some(PROMPT.to_owned()),
        cwd: stage.workspace().display().to_string(),
        sandbox: Some(SandboxMode::ReadOnly),
        approval: Some(Approval::OnRequest),
        ..StartRequest::default()
    };
    stage.model().hold_answers();
    let mut client = daemon.client().await.unwrap();
    let answer: StartAnswer = client.post("/v1/tasks", &request).await.unwrap();
    let task = answer.task.id;
    stage.model().wait_for_requests(1, PATIENCE).await.unwrap();
    let ballast = daemon.state().join("ballast");
    fill(&ballast);
    daemon.kill();
    daemon.gone().await;
    // What the dead one had open is given back to the disk.
    fill(&daemon.state().join("more-ballast"));

    daemon.start().await;
    let mut client = daemon.client().await.unwrap();
    let detail: TaskDetail = client.get(&format!("/v1/tasks/{task}")).await.unwrap();
    assert!(!detail.task.state.is_over(), "{:?}", detail.task.state);
    // The database's own log has room for a little that is new once it is written from its beginning again.
    let large = StartRequest { prompt: Some("oats ".repeat(180_000)), ..request };
    let refused = client.post::<StartAnswer>("/v1/tasks", &large).await.unwrap_err();
    let ClientError::Problem(problem) = refused else { panic!("{refused}") };
    assert!(problem.detail.contains("the disk is full"), "{problem:?}");

    stage.model().release_answers();
    stage.model().wait_for_requests(STEPS as u64 + 1, PATIENCE).await.unwrap();
    std::fs::remove_file(&ballast).unwrap();
    std::fs::remove_file(daemon.state().join("more-ballast")).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let detail: TaskDetail = client.get(&format!("/v1/tasks/{task}")).await.unwrap();
        if detail.task.state.is_over() {
            assert_eq!(detail.task.state, TaskState::Completed, "{:?}", detail.task.cause);
            break;
        }
        assert!(Instant::now() < deadline, "{:?}\n{}", detail.task.state, daemon.log());
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(messages(&daemon, task.as_str()).await.len(), STEPS + 1);
    daemon.idle().await;
    daemon.kill();
    daemon.gone().await;
}

/// Until nothing fits any more.
fn fill(ballast: &std::path::Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(ballast).unwrap();
    for size in [64 * 1024, 4096, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

/// What the agent said, from a log without a gap.
async fn messages(daemon: &Daemon, task: &str) -> Vec<String> {
    let client = daemon.client().await.unwrap();
    let mut lines = client.lines(&format!("/v1/tasks/{task}/events")).await.unwrap();
    let (mut said, mut next) = (Vec::new(), 1);
    while let Some(line) = lines.next::<Line>().await.unwrap() {
        let Line::Event { seq, event, .. } = line else { continue };
        assert_eq!(seq, next);
        next += 1;
        assert!(!matches!(*event, Event::Lost { .. }), "{event:?}");
        if let Event::Thread { update, .. } = *event
            && let Update::ItemEnded { item, .. } = *update
            && let ItemBody::AgentMessage(message) = item.body
        {
            said.push(message.text);
        }
    }
    said
}
