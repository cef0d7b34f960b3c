//! Tasks on real Codex: they run, ask, wait, and outlive whatever is killed. The engine is in the test's own process; what
//! the `ostler` binary does with it is tested in `crates/cli/tests` and `tests/e2e`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod approver;
mod asks;
mod budgets;
mod crashes;
mod disk_changes;
mod follow_ups;
mod fork;
mod goals;
mod host_asks;
mod hosts;
mod idle;
mod interrupts;
mod limits;
mod missing;
mod models;
mod notifications;
mod own_tools;
mod parked_asks;
mod plain;
mod pool;
mod reload;
mod restarts;
mod review;
mod rules;
mod running;
mod starts;
mod transient;
mod unseen;
mod worktree;

use ostler_model::item::{ItemBody, Sender};
use ostler_model::task::{
    Approval, AskRecord, AskState, DecidedBy, DecisionRecord, Intent, IntentState, Receipt, Wish,
};
use ostler_model::thread::Update;
use ostler_model::{Decision, Event, Item, Task, TaskId, TaskSettings};
use ostler_scripted_model::{Answer, Call, Conversation, Fault, Script};
use ostler_store::{Batch, Store, StoreSettings, Write};
use ostler_testkit::{Stage, Workshop};
use serde_json::json;

/// The prompt that every script here waits for.
const PROMPT: &str = "harness the horse";

/// Words of the inputs that Ostler gives by itself.
const AFTER_LIMIT: &str = "cut off by a limit of the account";
const AFTER_CRASH: &str = "cut off because its process died";
const AFTER_PAUSE: &str = "The last turn was paused";

/// A world in which the model gives these answers, one to each of Codex's requests.
fn stage(version: &str, answers: Vec<Answer>) -> Stage {
    stage_of(version, vec![(PROMPT, answers)])
}

/// The same with several prompts.
fn stage_of(version: &str, conversations: Vec<(&str, Vec<Answer>)>) -> Stage {
    let conversations = conversations
        .into_iter()
        .map(|(prompt, answers)| Conversation { prompt: prompt.to_owned(), answers })
        .collect();
    let script = Script { conversations, ..Script::default() };
    Stage::set(env!("CARGO_BIN_EXE_ostler"), env!("CARGO_TARGET_TMPDIR"), version, script).unwrap()
}

fn text(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), ..Answer::default() }
}

/// The model takes the request and says nothing.
fn hangs() -> Answer {
    Answer { fault: Some(Fault::HangBeforeHeaders { for_ms: None }), ..Answer::default() }
}

/// The model wants this shell command run.
fn command(command: &str) -> Answer {
    // As long as Codex waits at most: on a busy machine a command outlasts what it waits by itself.
    let arguments = json!({ "cmd": command, "yield_time_ms": 30_000 });
    let call = Call::function("exec_command", arguments);
    Answer { calls: vec![call], ..Answer::default() }
}

/// A command that leaves a line behind each time it runs, and that no version takes for harmless.
const LEAVES_A_LINE: &str = "sh -c 'echo ran >> ran.log'";

/// Another one.
const LEAVES_ANOTHER: &str = "sh -c 'echo other >> ran.log'";

/// Codex asks before it runs anything.
fn untrusted(settings: &mut TaskSettings) {
    settings.approval = Approval::Untrusted;
}

/// As if our process had been killed in the moment after it wrote this down.
async fn decide_on_disk(stage: &Stage, ask: &AskRecord, decision: Decision) {
    let store = Store::open(StoreSettings::at(stage.state().join("ostler.db"))).unwrap();
    let by = DecidedBy::Person { name: "test".to_owned(), surface: "test".to_owned() };
    let record = DecisionRecord { decision: decision.clone(), by, reason: None, at: 0 };
    let intent = Intent {
        id: format!("answer-{}", ask.id).as_str().into(),
        task: ask.task.clone(),
        wish: Wish::Answer { ask: ask.id.clone(), decision, reason: None },
        by: "test".to_owned(),
        at: 0,
        state: IntentState::Sent { after: None },
    };
    let mut batch = Batch::new();
    let (decision, then) = (Box::new(record), AskState::Decided);
    batch.push(Write::Decide { ask: ask.id.clone(), decision, then });
    batch.push(Write::Intent(Box::new(intent)));
    store.commit(batch).await.unwrap();
    store.close().await;
}

/// The messages of users in the log, and who sent them.
async fn prompts(shop: &Workshop, task: &TaskId) -> Vec<(Sender, String)> {
    let messages = shop.log(task).await.unwrap().into_iter().filter_map(|event| match event {
        Event::Thread { agent: None, update } => match *update {
            Update::ItemEnded { item: Item { body: ItemBody::UserMessage(said), .. }, .. } => {
                Some((said.sender, said.text))
            }
            _ => None,
        },
        _ => None,
    });
    messages.collect()
}

fn answer_of(task: &Task) -> Option<&str> {
    task.last_result.as_ref().and_then(|result| result.final_answer.as_deref())
}

fn is_taken(state: &IntentState) -> bool {
    matches!(state, IntentState::Done { receipt: Receipt::Taken { .. } })
}
