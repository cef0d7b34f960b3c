//! The request: no I/O. Only what all providers of this API know.

use ostler_model::message::Role;
use serde_json::{Map, Value, json};

use super::super::{Entry, Question};

pub(super) fn body(question: &Question) -> Value {
    let instructions = question.instructions.trim();
    let system = (!instructions.is_empty())
        .then(|| json!({"role": "system", "content": question.instructions}));
    let messages: Vec<Value> =
        system.into_iter().chain(question.history.iter().filter_map(message)).collect();
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    set("model", json!(question.model));
    set("messages", Value::Array(messages));
    set("stream", json!(true));
    // Without it no tokens are told.
    set("stream_options", json!({"include_usage": true}));
    if !question.tools.is_empty() {
        let tools = question.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            })
        });
        set("tools", tools.collect());
        set("tool_choice", json!("auto"));
    }
    let effort = question.effort.as_deref().filter(|effort| !matches!(*effort, "" | "none"));
    if let Some(effort) = effort {
        set("reasoning_effort", json!(effort));
    }
    Value::Object(body)
}

/// An assistant's message that says nothing and calls nothing is refused by most providers, and missed by none.
fn message(entry: &Entry) -> Option<Value> {
    let message = &entry.message;
    let text = message.content.as_deref().filter(|text| !text.is_empty());
    Some(match message.role {
        Role::User if entry.images.is_empty() => {
            json!({"role": "user", "content": text.unwrap_or_default()})
        }
        Role::User => {
            let text = text.map(|text| json!({"type": "text", "text": text}));
            let images = entry.images.iter();
            let images = images.map(|url| json!({"type": "image_url", "image_url": {"url": url}}));
            let content: Vec<Value> = text.into_iter().chain(images).collect();
            json!({"role": "user", "content": content})
        }
        Role::Tool => json!({
            "role": "tool",
            "tool_call_id": message.tool_call_id,
            "content": text.unwrap_or_default(),
        }),
        Role::Assistant if message.tool_calls.is_empty() => {
            json!({"role": "assistant", "content": text?})
        }
        Role::Assistant => {
            json!({"role": "assistant", "content": text, "tool_calls": message.tool_calls})
        }
    })
}
