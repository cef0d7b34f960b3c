//! The conversation of an ephemeral thread. Codex writes nothing of it down, so it would be lost with its process; a new
//! thread is given it as if it had been there.

use std::collections::VecDeque;

use ostler_model::Message;
use ostler_model::message::Role;
use serde_json::{Value, json};

/// What is kept, in bytes of text. About a quarter of today's context windows (258,400 tokens of some four bytes): more
/// would have been compacted.
const MOST_BYTES: usize = 256 * 1024;

/// Whole turns, oldest first, so that no call is kept without its result.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    turns: VecDeque<Vec<Message>>,
    bytes: usize,
}

impl Remembered {
    pub(super) fn add(&mut self, turn: Vec<Message>) {
        self.bytes += size(&turn);
        self.turns.push_back(turn);
        while self.bytes > MOST_BYTES
            && let Some(oldest) = self.turns.pop_front()
        {
            self.bytes -= size(&oldest);
        }
    }

    /// As the items of the Responses API that `thread/inject_items` takes.
    pub(super) fn items(&self) -> Vec<Value> {
        self.turns.iter().flatten().flat_map(items).collect()
    }
}

fn items(message: &Message) -> Vec<Value> {
    let text = message.content.as_deref().unwrap_or_default();
    let says = |role: &str, kind: &str| {
        let content = [json!({"type": kind, "text": text})];
        json!({"type": "message", "role": role, "content": content})
    };
    match message.role {
        Role::User => vec![says("user", "input_text")],
        Role::Tool => {
            let call = message.tool_call_id.as_deref().unwrap_or_default();
            vec![json!({"type": "function_call_output", "call_id": call, "output": text})]
        }
        Role::Assistant => {
            let said = (!text.is_empty()).then(|| says("assistant", "output_text"));
            let calls = message.tool_calls.iter().map(|call| {
                let (name, arguments) = (&call.function.name, &call.function.arguments);
                json!({"type": "function_call", "call_id": call.id, "name": name, "arguments": arguments})
            });
            said.into_iter().chain(calls).collect()
        }
    }
}

fn size(turn: &[Message]) -> usize {
    let of = |message: &Message| {
        let calls = message.tool_calls.iter();
        let calls = calls.map(|call| call.function.name.len() + call.function.arguments.len());
        message.content.as_ref().map_or(0, String::len) + calls.sum::<usize>()
    };
    turn.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use ostler_model::Message;
    use serde_json::json;

    use super::{MOST_BYTES, Remembered};

    #[test]
    fn a_turn_becomes_items_of_the_model() {
        let mut remembered = Remembered::default();
        remembered.add(vec![
            Message::user("go".into()),
            Message::call("c1".into(), "exec_command".into(), "{}".into()),
            Message::tool("c1".into(), "done".into()),
            Message::assistant("Gone.".into()),
        ]);

        assert_eq!(
            remembered.items(),
            [
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}),
                json!({"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"}),
                json!({"type": "function_call_output", "call_id": "c1", "output": "done"}),
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Gone."}]}),
            ]
        );
    }

    #[test]
    fn the_oldest_turns_go_first_and_whole() {
        let mut remembered = Remembered::default();
        let long = "x".repeat(MOST_BYTES / 2);
        for text in ["first", "second", "third"] {
            remembered.add(vec![Message::user(text.into()), Message::assistant(long.clone())]);
        }

        let kept = remembered.items();
        let users = kept.iter().filter(|item| item["role"] == "user");
        let users: Vec<_> = users.map(|item| item["content"][0]["text"].clone()).collect();

        assert_eq!(users, [json!("third")]);
    }
}
