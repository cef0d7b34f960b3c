//! The API over TCP, with a real daemon and real Codex on the scripted model.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod caller;
mod examples;
mod files;
mod proxy;
mod routes;
mod secrets;
mod streams;
mod viewers;
mod wire;
#[path = "../../crates/cli/tests/task_commands/world.rs"]
#[expect(dead_code, reason = "the commands' tests use the rest of it")]
mod world;

use ostler_scripted_model::{Answer, Call};
use serde_json::json;

/// The prompt that every script here waits for.
const PROMPT: &str = "harness the horse";

/// A command that leaves a line behind each time it runs, and that no version takes for harmless.
const LEAVES_A_LINE: &str = "sh -c 'echo ran >> ran.log; echo did it'";

/// What lets Codex ask before such a command.
const ASKS: [&str; 4] = ["--approval", "untrusted", "--sandbox", "workspace-write"];

fn text(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), ..Answer::default() }
}

fn command(command: &str) -> Answer {
    // As long as Codex waits at most: on a busy machine a command outlasts what it waits by itself.
    let arguments = json!({ "cmd": command, "yield_time_ms": 30_000 });
    let call = Call::function("exec_command", arguments);
    Answer { calls: vec![call], ..Answer::default() }
}
