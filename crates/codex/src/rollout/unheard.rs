//! What the file has for the model, and no client is ever shown.
//!
//! Codex writes a prompt down twice: first as what goes to the model, then as what clients are told (0.130.0 to 0.166.0). An
//! app-server that is killed in between leaves a thread whose model knows a prompt that no list of turns has. Whoever
//! asked whether the prompt arrived would give it a second time.

use std::path::Path;

use ostler_model::TurnId;

use super::assemble::read;
use super::line::{Event, Line, Meta, Recorded, Response};
use super::tail::read_tail;
use super::{RolloutError, find, injected};
use crate::protocol::user_input::UserInput;

/// What was cut off stands at the end. Longer than any prompt that Codex takes, which is a megabyte.
const TAIL_BYTES: u64 = 4 * 1024 * 1024;

/// A prompt that only the model knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unheard {
    /// None where the file does not say.
    pub turn: Option<TurnId>,
    pub text: String,
}

/// Reads the end of a file. Blocks.
pub fn unheard(path: &Path) -> Result<Vec<Unheard>, RolloutError> {
    if find::is_compressed(path) {
        return Err(RolloutError::Compressed { path: path.to_owned() });
    }
    let mut reading = Reading::default();
    // A torn or foreign line tells nothing here.
    let read = read_tail(path, TAIL_BYTES, |line| reading.line(line));
    read.map_err(|error| RolloutError::io(path, error))?;
    Ok(reading.unheard)
}

#[derive(Default)]
struct Reading {
    turn: Option<TurnId>,
    /// What stands between two turns was put there beside the conversation, and is no prompt.
    is_between: bool,
    unheard: Vec<Unheard>,
}

impl Reading {
    fn line(&mut self, text: &str) {
        let Ok(line) = serde_json::from_str::<Line<'_>>(text) else { return };
        let Some(payload) = line.payload else { return };
        match line.kind.as_str() {
            "turn_context" => {
                self.turn = read::<Meta>(payload).turn_id.or(self.turn.take());
            }
            "session_meta" => self.is_between = true,
            "response_item" if !self.is_between => self.response(read(payload)),
            "event_msg" => self.event(read(payload)),
            _ => {}
        }
    }

    fn response(&mut self, item: Response) {
        if item.kind != "message" || item.role != "user" {
            return;
        }
        let text = item.content.join("\n");
        if !injected::is_injected(&text) {
            let named = item.internal_chat_message_metadata_passthrough.turn_id.or(item.turn_id);
            self.unheard.push(Unheard { turn: named.or_else(|| self.turn.clone()), text });
        }
    }

    fn event(&mut self, event: Event) {
        match event.kind.as_str() {
            "task_started" | "turn_started" => {
                self.turn = event.turn_id;
                self.is_between = false;
            }
            "task_complete" | "turn_complete" | "turn_aborted" => self.is_between = true,
            "user_message" => self.heard(&event.message),
            "item_completed" => {
                let item = event.item.as_ref().map(|item| read::<Recorded>(item.as_raw()));
                if let Some(item) = item.filter(|item| item.kind == "UserMessage") {
                    self.heard(&words(&item.content));
                }
            }
            _ => {}
        }
    }

    fn heard(&mut self, text: &str) {
        if let Some(at) = self.unheard.iter().position(|unheard| unheard.text == text) {
            self.unheard.remove(at);
        }
    }
}

fn words(parts: &[UserInput]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        UserInput::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Unheard, unheard};

    /// As 0.166.0 writes them.
    const LINES: [&str; 6] = [
        r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"t1"}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n</environment_context>"}]}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"feed"}],"internal_chat_message_metadata_passthrough":{"turn_id":"t1"}}}"#,
        r#"{"type":"event_msg","payload":{"type":"item_completed","turn_id":"t1","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"feed"}]}}}"#,
        r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"t2"}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"feed"}]}}"#,
    ];

    fn read(lines: &[&str], torn: &str) -> Vec<Unheard> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rollout.jsonl");
        std::fs::write(&path, format!("{}\n{torn}", lines.join("\n"))).unwrap();
        unheard(&path).unwrap()
    }

    #[test]
    fn a_prompt_that_no_client_was_told_is_found_with_its_turn() {
        assert_eq!(read(&LINES[..4], ""), []);
        let last = Unheard { turn: Some("t2".into()), text: "feed".to_owned() };
        assert_eq!(read(&LINES, r#"{"type":"event_m"#), std::slice::from_ref(&last));
        // What was put before the model between two turns is no prompt.
        let ended = r#"{"type":"event_msg","payload":{"type":"task_complete","turn_id":"t1"}}"#;
        let between = [&LINES[..4], &[ended, LINES[5]], &LINES[4..]].concat();
        assert_eq!(read(&between, ""), [last]);
        assert_eq!(read(&between[..6], ""), []);
    }
}
