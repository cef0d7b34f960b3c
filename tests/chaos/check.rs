//! What must hold when all is over.

use std::collections::{BTreeMap, BTreeSet};

use ostler_model::task::{AskClosed, Awaited, Cause, IntentState, Receipt, Wish};
use ostler_model::thread::Update;
use ostler_model::{AskId, Event, FailureClass, GoalStatus, IntentId, ItemBody, TaskState};
use ostler_scripted_model::RequestRecord;
use ostler_server::api::{Line, Receipts, TaskDetail};
use ostler_testkit::Stage;
use serde_json::Value;

use crate::daemon::Daemon;
use crate::fault::Fault;
use crate::name;
use crate::people::People;
use crate::role::{Role, prompt};

/// What tasks have felt of the faults.
#[derive(Debug, Default)]
pub(crate) struct Felt {
    /// How often something was waited for, by what it was.
    waits: BTreeMap<&'static str, usize>,
    /// The versions of Codex that tasks were on.
    versions: BTreeSet<String>,
}

pub(crate) async fn tasks(daemon: &Daemon, stage: &Stage, people: &People<'_>) -> Felt {
    let mut felt = Felt::default();
    let mut requests = stage.model().requests();
    assert_eq!(stage.model().requests_dropped(), 0);
    // Those that were refused have come to nothing, and those for the list of models are no turn's.
    requests.retain(|request| request.played.is_some());
    // Codex tells its model so when whoever was to answer has turned away. Nobody was asked then.
    let unasked = requests.iter().filter(|request| {
        let input = request.json()["input"].to_string();
        input.contains("approval request failed")
    });
    assert_eq!(unasked.count(), 0, "an approval was given up without a person");
    for (number, task) in &people.started {
        let mut client = daemon.client().await.unwrap();
        let detail: TaskDetail = client.get(&format!("/v1/tasks/{task}")).await.unwrap();
        let found = detail.task;
        let log = Log(log(daemon, task.as_str()).await);
        let log = &log.0;
        let role = Role::of(*number);
        let is_stopped = role == Role::Interrupted;
        let expected = if is_stopped { TaskState::Cancelled } else { TaskState::Completed };
        assert_eq!(found.state, expected, "{task}: {:?}", found.cause);
        assert_eq!((found.turn, detail.asks.len(), detail.intents.len()), (None, 0, 0), "{task}");
        let answer = found.last_result.and_then(|result| result.final_answer);
        let ready = format!("{} is ready.", name(*number));
        assert_eq!(answer == Some(ready), !is_stopped, "{task}: {role:?}");
        let receipts: Receipts = client.get(&format!("/v1/tasks/{task}/receipts")).await.unwrap();
        assert!(receipts.intents.iter().all(|intent| !intent.state.is_open()), "{receipts:?}");
        let known: BTreeSet<&IntentId> = receipts.intents.iter().map(|intent| &intent.id).collect();
        let wanted = people.intended.get(number);
        assert!(wanted.is_none_or(|intent| known.contains(intent)), "{task} lost {wanted:?}");

        let crashes = log.iter().filter(|event| is_crash(event)).count();
        for step in 1..=2 {
            if !role.is_allowed() {
                let lines = stage.lines(&format!("{}.{step}.log", name(*number))).len();
                assert_eq!(lines, 0, "{task} ran what nobody allowed ({role:?})");
                continue;
            }
            // A command that was killed with its app-server after it had done its work may be done again.
            let lines = stage.lines(&format!("{}.{step}.log", name(*number))).len();
            let unheard = log.iter().filter(|event| is_unheard(event, *number, step)).count();
            assert!(
                (1..=1 + crashes + unheard).contains(&lines),
                "{task}: {lines} lines after {crashes} crashes and {unheard} lost outputs"
            );
        }
        no_answer_was_asked_for_twice(task.as_str(), log);
        states_follow(task.as_str(), log);
        ends_are_true(task.as_str(), role, expected, log);
        if role == Role::Goal {
            let goal = found.goal.map(|goal| goal.status);
            assert_eq!(goal, Some(GoalStatus::Complete), "{task}");
        }
        felt.add(log);
        ran_once(&requests, *number, log);
        receipts_are_true(&requests, *number, &receipts);
    }
    felt
}

impl Felt {
    fn add(&mut self, log: &[Event]) {
        for event in log {
            match event {
                Event::State { cause: Cause::Waiting { on, .. }, .. } => {
                    *self.waits.entry(on.describe()).or_default() += 1;
                }
                Event::Placed { codex_version, .. } => {
                    self.versions.insert(codex_version.clone());
                }
                _ => {}
            }
        }
    }
}

/// A fault that no task has felt proves nothing.
pub(crate) fn faults_were_felt(faults: &[Fault], versions: &[String], felt: &Felt) {
    println!("felt: {felt:?}");
    let has_waited = |on: Awaited| felt.waits.contains_key(on.describe());
    for fault in faults {
        let is_felt = match fault {
            Fault::UpgradeCodex => versions.len().min(2) <= felt.versions.len(),
            Fault::ChangeLogin => has_waited(Awaited::Login),
            Fault::ModelOutage => has_waited(Awaited::Model),
            _ => true,
        };
        assert!(is_felt, "no task has felt {fault}: {versions:?}");
    }
}

/// What the receipts say is what the model has seen: an input that was taken stands in its thread, once, and what was stopped
/// was stopped by somebody.
fn receipts_are_true(requests: &[RequestRecord], number: u64, receipts: &Receipts) {
    let role = Role::of(number);
    for intent in &receipts.intents {
        let Wish::Send { input, .. } = &intent.wish else { continue };
        // What Ostler says by itself after a crash it says after each, and a task that is stopped may not come to it.
        if intent.by == "ostler" {
            continue;
        }
        let is_taken =
            matches!(&intent.state, IntentState::Done { receipt: Receipt::Taken { .. } });
        let seen = most_in_one(requests, &input.summary(200));
        match role {
            Role::Interrupted => assert!(seen <= 1, "{seen} times: {intent:?}"),
            _ => assert_eq!((is_taken, seen), (true, 1), "{role:?}: {intent:?}"),
        }
    }
    let mut interrupts =
        receipts.intents.iter().filter(|intent| intent.wish == Wish::Interrupt).peekable();
    let is_stopped = interrupts.peek().is_some();
    assert_eq!(is_stopped, role == Role::Interrupted, "{receipts:?}");
    let has_worked = interrupts.any(|intent| matches!(intent.state, IntentState::Done { .. }));
    assert_eq!(has_worked, is_stopped, "{receipts:?}");
}

/// How often a user's message has these words in one request, where that is most.
fn most_in_one(requests: &[RequestRecord], text: &str) -> usize {
    let times = requests.iter().map(|request| {
        let body = request.json();
        let input = body["input"].as_array().cloned().unwrap_or_default();
        input
            .iter()
            .filter(|item| item["role"] == "user" && item.to_string().contains(text))
            .count()
    });
    times.max().unwrap_or(0)
}

/// A command that Codex says it has run well, without what it printed: 0.142.5 was seen to lose that on a busy machine. The model,
/// which goes by what it reads, wants the step once more.
fn is_unheard(event: &Event, number: u64, step: u32) -> bool {
    let Event::Thread { update, .. } = event else { return false };
    let Update::ItemEnded { item, .. } = &**update else { return false };
    let ItemBody::Command(command) = &item.body else { return false };
    let is_step = command.command.contains(&format!("{}.{step}.log", name(number)));
    is_step && command.exit_code == Some(0) && command.output.is_empty()
}

/// Shown if the test fails.
struct Log(Vec<Event>);

impl Drop for Log {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for (at, event) in self.0.iter().enumerate() {
                println!("{:4} {event:?}", at + 1);
            }
        }
    }
}

/// The log, without a gap.
pub(crate) async fn log(daemon: &Daemon, task: &str) -> Vec<Event> {
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

/// A question is new only if no answer to the same one waits to be used. An answer is used when Codex has it, or may have
/// it: then its app-server died before it could say so.
fn no_answer_was_asked_for_twice(task: &str, log: &[Event]) {
    let mut digests: BTreeMap<&AskId, &str> = BTreeMap::new();
    let mut answers: BTreeMap<&IntentId, &AskId> = BTreeMap::new();
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
            Event::Intended { intent } => {
                if let Wish::Answer { ask, .. } = &intent.wish {
                    answers.insert(&intent.id, ask);
                }
            }
            Event::AskDecided { ask, .. } => drop(unused.insert(digests[ask])),
            Event::IntentMoved { intent, to } if answers.contains_key(intent) => {
                let is_used = matches!(to, IntentState::Done { .. } | IntentState::Unknown { .. });
                if is_used {
                    unused.remove(digests[answers[intent]]);
                }
            }
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

/// A task is told over once, and once more for what was sent to it after that, and nothing of it runs then.
fn ends_are_true(task: &str, role: Role, expected: TaskState, log: &[Event]) {
    let (mut ends, mut is_over, mut answer) = (0, false, None);
    for event in log {
        match event {
            Event::State { from, to, cause } => {
                let is_new = matches!(cause, Cause::Submitted { .. });
                assert!(!from.is_over() || is_new, "{task} went on after its end: {cause:?}");
                is_over = to.is_over();
                if !is_over {
                    continue;
                }
                ends += 1;
                assert_eq!(*to, expected, "{task}: {cause:?}");
                let is_done = answer.as_deref().is_some_and(|it: &str| it.ends_with(" is ready."));
                assert!(is_done || role == Role::Interrupted, "{task} was over with {answer:?}");
            }
            Event::Thread { agent: None, update } => match &**update {
                Update::TurnBegan { .. } => assert!(!is_over, "{task} works after its end"),
                Update::TurnEnded { result } => answer = result.final_answer.clone(),
                _ => {}
            },
            _ => {}
        }
    }
    let most = if role.more(0).is_some() { 2 } else { 1 };
    assert!((1..=most).contains(&ends), "{task} was over {ends} times");
}

/// The prompt stands once in its thread, and is worked on in one thread alone.
fn ran_once(requests: &[RequestRecord], number: u64, log: &[Event]) {
    let prompt = prompt(number);
    let is_prompt = |item: &Value| item["role"] == "user" && item.to_string().contains(&prompt);
    let (mut begun, mut worked_in) = (0, BTreeSet::new());
    for request in requests {
        let body = request.json();
        let input = body["input"].as_array().unwrap();
        let times = input.iter().filter(|item| is_prompt(item)).count();
        assert!(times <= 1, "{prompt} stands {times} times in one thread");
        let has_work = input.iter().any(|item| item["type"] == "function_call_output");
        if times == 1 && has_work {
            worked_in.insert(request.thread.clone());
        }
        begun += usize::from(input.last().is_some_and(is_prompt));
    }
    // One that is stopped may have come to nothing by then.
    let least = usize::from(Role::of(number) != Role::Interrupted);
    assert!((least..=1).contains(&worked_in.len()), "{prompt} was worked on in {worked_in:?}");
    // Codex asks the model before it writes down that it does. If it dies in between, there is no trace of its asking.
    let losses = log.iter().filter(|event| is_loss(event)).count();
    assert!(begun <= 1 + losses, "{prompt} was begun {begun} times with {losses} losses");
}

/// The connection to an app-server was lost.
fn is_loss(event: &Event) -> bool {
    let Event::Thread { update, .. } = event else { return false };
    matches!(**update, Update::Disconnected { .. })
}

/// No process, no socket.
pub(crate) fn nothing_left(daemon: &Daemon, stage: &Stage) {
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
