//! The host agent as people use it: the real `ostler chat`, the real daemon, real Codex, and a scripted model for each of them, so
//! that a test can tell who asked which.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod browsing;
mod codex_runtime;
mod delegating;
mod dynamic_tools;
mod forgetting;
mod kills;
mod learning;
mod live_switch;
mod migrated;
mod own_runtime;
mod remembering;
mod switching;
mod terminal;
mod ways;
mod world;

use ostler_scripted_model::{Answer, Call, Conversation};
use serde_json::{Value, json};

pub(crate) fn text(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), ..Answer::default() }
}

pub(crate) fn call(tool: &str, arguments: Value) -> Answer {
    Answer { calls: vec![Call::function(tool, arguments)], ..Answer::default() }
}

/// The tool by which Codex runs commands. It waits as long as it ever does, for on a busy machine a command outlasts what it waits by
/// itself.
pub(crate) fn exec(command: &str) -> Answer {
    call("exec_command", json!({ "cmd": command, "yield_time_ms": 30_000 }))
}

pub(crate) fn conversation(prompt: &str, answers: Vec<Answer>) -> Conversation {
    Conversation { prompt: prompt.to_owned(), answers }
}

/// The messages of an outcome as role and content.
pub(crate) fn said(outcome: &Value) -> Vec<(String, String)> {
    let messages = outcome["messages"].as_array().unwrap().iter();
    let part = |message: &Value, key: &str| message[key].as_str().unwrap_or_default().to_owned();
    messages.map(|message| (part(message, "role"), part(message, "content"))).collect()
}

pub(crate) fn users(outcome: &Value) -> usize {
    said(outcome).iter().filter(|(role, _)| role == "user").count()
}
