//! What must hold when all is over.

use std::collections::{BTreeMap, BTreeSet};

use ostler_model::task::AskClosed;
use ostler_model::thread::Update;
use ostler_model::{AskId, Event, FailureClass, TaskState};
use ostler_server::api::{Line, Receipts, TaskDetail};
use ostler_testkit::Stage;
use serde_json::Value;

use crate::daemon::Daemon;
use crate::name;
use crate::people::People;

pub async fn tasks(daemon: &Daemon, stage: &Stage, people: &People<'_>) {
    for (number, task) in &people.started {
        let mut client = daemon.client().await.unwrap();
        let detail: TaskDetail = client.get(&format!("/v1/tasks/{task}")).await.unwrap();
        let found = detail.task;
        assert_eq!(found.state, TaskState::Completed, "{task}: {:?}", found.cause);
        assert_eq!((found.turn, detail.asks.len(), detail.intents.len()), (None, 0, 0), "{task}");
        let answer = found.last_result.and_then(|result| result.final_answer);
        assert_eq!(answer, Some(format!("{} is ready.", name(*number))), "{task}");
        let receipts: Receipts = client.get(&format!("/v1/tasks/{task}/receipts")).await.unwrap();
        assert!(receipts.intents.iter().all(|intent| !intent.state.is_open()), "{receipts:?}");

        let log = log(daemon, task.as_str()).await;
        let crashes = log.iter().filter(|event| is_crash(event)).count();
        for step in 1..=2 {
            // A command that was killed with its app-server after it had done its work may be done again.
            let lines = stage.lines(&format!("{}.{step}.log", name(*number))).len();
            assert!(
                (1..=1 + crashes).contains(&lines),
                "{task}: {lines} lines after {crashes} crashes"
            );
        }
        no_answer_was_asked_for_twice(task.as_str(), &log);
        states_follow(task.as_str(), &log);
    }
}

/// The log, without a gap.
async fn log(daemon: &Daemon, task: &str) -> Vec<Event> {
    let client = daemon.client().await.unwrap();
    let mut lines = client.lines(&format!("/v1/tasks/{task}/events")).await.unwrap();
    let mut log = Vec::new();
    while let Some(line) = lines.next::<Line>().await.unwrap() {
        if let Line::Event { seq, event, .. } = line {
            assert_eq!(seq, log.len() as u64 + 1, "{task} has a gap");
            log.push(*event);
        }
    }
    log
}

fn is_crash(event: &Event) -> bool {
    let Event::Thread { update, .. } = event else { return false };
    let Update::TurnEnded { result } = &**update else { return false };
    result.failure().is_some_and(|failure| failure.class == FailureClass::ServerGone)
}

/// A question is new only if no answer to the same one waits to be used.
fn no_answer_was_asked_for_twice(task: &str, log: &[Event]) {
    let mut digests: BTreeMap<&AskId, &str> = BTreeMap::new();
    let mut unused: BTreeSet<&str> = BTreeSet::new();
    for event in log {
        match event {
            Event::AskOpened { ask, digest, .. } => {
                assert!(
                    !unused.contains(digest.as_str()),
                    "{task} asked again what was answered: {ask}"
                );
                digests.insert(ask, digest);
            }
            Event::AskDecided { ask, .. } => drop(unused.insert(digests[ask])),
            Event::AskClosed { ask, how } => {
                let was_unused = unused.remove(digests[ask]);
                assert!(
                    *how == AskClosed::Answered || !was_unused,
                    "{task} lost an answer: {ask} {how:?}"
                );
            }
            _ => {}
        }
    }
}

fn states_follow(task: &str, log: &[Event]) {
    let mut state = TaskState::Queued;
    for event in log {
        if let Event::State { from, to, .. } = event {
            assert_eq!(*from, state, "{task}");
            state = *to;
        }
    }
}

/// Each prompt stands once in its thread, and was answered from its beginning once.
pub fn model(stage: &Stage, tasks: u64) {
    let requests: Vec<Value> =
        stage.model().requests().iter().map(|request| request.json()).collect();
    assert_eq!(stage.model().requests_dropped(), 0);
    for task in 0..tasks {
        let prompt = format!("harness {} now", name(task));
        let is_prompt = |item: &Value| item["role"] == "user" && item.to_string().contains(&prompt);
        let mut begun = 0;
        for request in &requests {
            let input = request["input"].as_array().unwrap();
            let times = input.iter().filter(|item| is_prompt(item)).count();
            assert!(times <= 1, "{prompt} stands {times} times in one thread");
            begun += usize::from(input.last().is_some_and(is_prompt));
        }
        assert_eq!(begun, 1, "{prompt} was begun {begun} times");
    }
}

/// No process, no socket.
pub fn nothing_left(daemon: &Daemon, stage: &Stage) {
    let ours = [daemon.home().display().to_string(), stage.codex_home().display().to_string()];
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = process.file_name().to_string_lossy().parse::<u32>() else { continue };
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment);
        let is_ours = ours.iter().any(|path| environment.contains(path));
        assert!(
            !is_ours,
            "process {pid} is left: {:?}",
            std::fs::read_to_string(process.path().join("cmdline"))
        );
    }
    let left: Vec<_> = daemon
        .keepers()
        .iter()
        .map(|found| found.folder.socket())
        .filter(|socket| socket.exists())
        .collect();
    assert!(left.is_empty(), "sockets are left: {left:?}");
    assert!(!daemon.home().join("run/daemon.sock").exists());
}
