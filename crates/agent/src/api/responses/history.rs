//! A conversation as the API's items.

use std::collections::HashSet;

use ostler_model::Message;
use ostler_model::message::{MessageToolCall, Role};
use serde_json::{Value, json};

use super::super::client::OldReasoning;
use super::super::reading::{text_at, word_at};
use super::super::{Entry, Replay};
use super::ids::{self, MAX_ID};
use super::server::Server;

pub(super) fn input(history: &[Entry], issuer: &str, reasoning: OldReasoning) -> Vec<Value> {
    let server = Server::of(issuer);
    let mut items = Vec::new();
    for entry in history {
        let message = &entry.message;
        match message.role {
            Role::User => items.push(user(message, &entry.images)),
            Role::Tool => items.push(tool_output(message)),
            Role::Assistant => {
                // What another provider has encrypted, this one refuses.
                let replay = entry.replay.as_ref().filter(|replay| {
                    replay.issuer == issuer && reasoning == OldReasoning::SentBack
                });
                items.extend(assistant(message, replay, server));
            }
        }
    }
    items
}

/// As an assistant's message goes back.
pub(super) fn text_item(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

pub(super) fn call_item(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
}

fn user(message: &Message, images: &[String]) -> Value {
    let text = message.content.as_deref().filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"type": "input_text", "text": text}));
    let images = images.iter().map(|url| json!({"type": "input_image", "image_url": url}));
    let content: Vec<Value> = text.into_iter().chain(images).collect();
    json!({"type": "message", "role": "user", "content": content})
}

fn tool_output(message: &Message) -> Value {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    let output = message.content.as_deref().unwrap_or_default();
    json!({"type": "function_call_output", "call_id": ids::call_id(id), "output": output})
}

fn assistant(message: &Message, replay: Option<&Replay>, server: Server) -> Vec<Value> {
    let items = replay.map_or_else(Vec::new, |replay| {
        let items = replay.items.iter().filter_map(|item| clean(item, server));
        items.collect()
    });
    if tells_the_same(&items, message) {
        return with_followers(items);
    }
    // Somebody has changed the message since: what it says now counts, and only the reasoning is taken from before.
    let reasoning = items.into_iter().filter(is_reasoning);
    let text = message.content.as_deref().filter(|text| !text.is_empty()).map(text_item);
    let calls = message.tool_calls.iter().map(called);
    with_followers(reasoning.chain(text).chain(calls).collect())
}

fn called(call: &MessageToolCall) -> Value {
    call_item(&ids::call_id(&call.id), &call.function.name, &call.function.arguments)
}

/// An item of an earlier answer with the fields that the API takes back, or None if it takes none of it.
fn clean(item: &Value, server: Server) -> Option<Value> {
    match text_at(item, "/type")? {
        "reasoning" => {
            let content = word_at(item, "/encrypted_content")?;
            // A transient id marks reasoning that was never finished.
            if text_at(item, "/id").is_some_and(|id| id.starts_with("rs_tmp_")) {
                return None;
            }
            let summary = item.get("summary").filter(|summary| summary.is_array());
            let summary = summary.cloned().unwrap_or_else(|| json!([]));
            // Never with its id: the API would look for it among what it keeps, which is nothing.
            Some(json!({"type": "reasoning", "encrypted_content": content, "summary": summary}))
        }
        "message" => {
            let mut clean = text_item(&text_of(item));
            let id =
                word_at(item, "/id").filter(|id| id.len() <= MAX_ID && server.takes_message_ids());
            for (name, value) in [("id", id), ("phase", word_at(item, "/phase"))] {
                if let (Some(value), Some(fields)) = (value, clean.as_object_mut()) {
                    fields.insert(name.to_owned(), json!(value));
                }
            }
            Some(clean)
        }
        "function_call" => {
            let (id, name) = (word_at(item, "/call_id")?, word_at(item, "/name")?);
            Some(call_item(&ids::call_id(id), name, text_at(item, "/arguments")?))
        }
        _ => None,
    }
}

fn text_of(item: &Value) -> String {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| text_at(part, "/text")).collect()
}

fn tells_the_same(items: &[Value], message: &Message) -> bool {
    let is = |item: &Value, kind: &str| text_at(item, "/type") == Some(kind);
    let said = items.iter().filter(|item| {
        is(item, "message")
            && !matches!(text_at(item, "/phase"), Some("commentary") | Some("analysis"))
    });
    let texts: Vec<String> = said.map(text_of).filter(|text| !text.is_empty()).collect();
    let calls: HashSet<String> =
        items.iter().filter(|item| is(item, "function_call")).map(ToString::to_string).collect();
    let wanted: HashSet<String> =
        message.tool_calls.iter().map(|call| called(call).to_string()).collect();
    !items.is_empty()
        && texts.join("\n\n") == message.content.as_deref().unwrap_or_default()
        && calls == wanted
}

fn is_reasoning(item: &Value) -> bool {
    text_at(item, "/type") == Some("reasoning")
}

/// The API refuses reasoning that nothing follows.
fn with_followers(mut items: Vec<Value>) -> Vec<Value> {
    if items.last().is_some_and(is_reasoning) {
        items.push(text_item(""));
    }
    items
}
