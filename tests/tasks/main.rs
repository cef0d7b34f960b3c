//! Tasks on real Codex: they run, ask, wait, and outlive whatever is killed. The engine is in the test's own process; what
//! the `ostler` binary does with it is tested in `crates/cli/tests` and `tests/e2e`.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod fork;
mod plain;
mod pool;
mod review;
mod worktree;

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

/// A world with several prompts, each with its answers.
fn stage_of(version: &str, conversations: &[(&str, Vec<Answer>)]) -> Stage {
    let conversation = |(prompt, answers): &(&str, Vec<Answer>)| Conversation {
        prompt: (*prompt).to_owned(),
        answers: answers.clone(),
    };
    let conversations = conversations.iter().map(conversation).collect();
    let script = Script { conversations, ..Script::default() };
    Stage::set(env!("CARGO_BIN_EXE_ostler"), env!("CARGO_TARGET_TMPDIR"), version, script).unwrap()
}

fn text(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), ..Answer::default() }
}

/// The model wants this shell command run.
fn command(command: &str) -> Answer {
    let call = Call::function("exec_command", json!({ "cmd": command }));
    Answer { calls: vec![call], ..Answer::default() }
}

/// A command that leaves a line behind each time it runs, and that no version takes for harmless.
const LEAVES_A_LINE: &str = "sh -c 'echo ran >> ran.log'";
