//! MCP both ways, with real programs: the official Python client drives `ostler mcp` and `/mcp`; real Codex on the scripted model uses
//! `ostler mcp` and `ostler tools-mcp`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod attacks;
mod codex;
mod python;
mod stories;
mod tools;
#[path = "../../crates/cli/tests/task_commands/world.rs"]
#[expect(dead_code, reason = "the commands' tests use the rest of it")]
mod world;

use ostler_scripted_model::{Answer, Call, Conversation};
use serde_json::{Value, json};

/// The prompt that scripts here wait for.
const PROMPT: &str = "harness the horse";

/// A command that leaves a line behind each time it runs, and that no version takes for harmless.
const LEAVES_A_LINE: &str = "sh -c 'echo ran >> ran.log; echo did it'";

/// What lets Codex ask before such a command.
const ASKS: [&str; 4] = ["--approval", "untrusted", "--sandbox", "workspace-write"];

const NEWEST: &str = "0.166.0";

fn text(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), ..Answer::default() }
}

fn command(command: &str) -> Answer {
    // As long as Codex waits at most: on a busy machine a command outlasts what it waits by itself.
    let arguments = json!({ "cmd": command, "yield_time_ms": 30_000 });
    let call = Call::function("exec_command", arguments);
    Answer { calls: vec![call], ..Answer::default() }
}

/// The model calls a tool of an MCP server. Up to 0.130.0 the namespace ends with the separator.
fn tool(version: &str, server: &str, name: &str, arguments: Value) -> Answer {
    let end = if version == "0.130.0" { "__" } else { "" };
    let namespace = Some(format!("mcp__{server}{end}"));
    let call = Call { namespace, ..Call::function(name, arguments) };
    Answer { calls: vec![call], ..Answer::default() }
}

fn conversation(prompt: &str, answers: Vec<Answer>) -> Conversation {
    Conversation { prompt: prompt.to_owned(), answers }
}
