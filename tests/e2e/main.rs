//! The rooms together, on real Codex under a real keeper, on a scripted model. Each file is one behaviour; each
//! behaviour runs on every version in `testkit::VERSIONS`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod approvals;
mod asks;
mod demo;
mod faults;
mod file_changes;
mod interrupt;
mod killed_client;
mod many_threads;
mod plain_turn;
mod rejoin;
mod resume;
mod rollout;
mod run;
mod run_asks;
mod run_leaving;
mod steer;
mod thread;
mod thread_opening;
mod thread_settings;
mod traps;

mod two_clients;
mod unknown_request;
mod wire_lines;
mod wire_log;

use ostler_scripted_model::{Answer, Call, Conversation, Script};
use ostler_testkit::Stage;
use serde_json::json;

/// The prompt that every script here waits for.
const PROMPT: &str = "harness the horse";

/// A world in which the model gives these answers, one to each of Codex's requests.
fn stage(version: &str, answers: Vec<Answer>) -> Stage {
    let conversations = vec![Conversation { prompt: PROMPT.to_owned(), answers }];
    let script = Script { conversations, ..Script::default() };
    Stage::set(env!("CARGO_BIN_EXE_ostler"), env!("CARGO_TARGET_TMPDIR"), version, script).unwrap()
}

fn text(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), ..Answer::default() }
}

/// The model wants this shell command run.
fn command(command: &str) -> Answer {
    // As long as Codex waits at most: on a busy machine a command outlasts what it waits by itself.
    let arguments = json!({ "cmd": command, "yield_time_ms": 30_000 });
    let call = Call::function("exec_command", arguments);
    Answer { calls: vec![call], ..Answer::default() }
}

fn patch(patch: &str) -> Answer {
    Answer { calls: vec![Call::apply_patch(patch)], ..Answer::default() }
}

/// A command that leaves a line behind each time it runs, and that no version takes for harmless.
const LEAVES_A_LINE: &str = "sh -c 'echo ran >> ran.log'";
