//! The request: no I/O. What it may hold is fixed here, so nothing unknown can slip in.

use serde_json::{Map, Value, json};

use super::super::Question;
use super::super::client::OldReasoning;
use super::server::{Reasoning, Server};
use super::{history, ids};
use crate::tool::ToolDefinition;

/// The API refuses a request without instructions.
const DEFAULT_INSTRUCTIONS: &str = "You are a helpful assistant.";

/// No limit for the output is ever sent: ChatGPT's servers refuse one, and the model knows its own.
pub(super) fn body(question: &Question, issuer: &str, reasoning: OldReasoning) -> Value {
    let instructions = match question.instructions.trim().is_empty() {
        true => DEFAULT_INSTRUCTIONS,
        false => &question.instructions,
    };
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    set("model", json!(question.model));
    set("instructions", json!(instructions));
    set("input", Value::Array(history::input(&question.history, issuer, reasoning)));
    // Nothing is kept there: conversations are ours, and ChatGPT's servers refuse anything else.
    set("store", json!(false));
    set("stream", json!(true));
    // An empty list is refused by some servers, null by all.
    if !question.tools.is_empty() {
        set("tools", question.tools.iter().map(tool).collect());
        set("tool_choice", json!("auto"));
        set("parallel_tool_calls", json!(true));
    }
    let server = Server::of(issuer);
    let Reasoning { wish, comes_back } = server.reasoning(question);
    if let Some(wish) = wish {
        set("reasoning", wish);
    }
    if comes_back {
        set("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(key) = cache_key(question).filter(|_| server.has_cache_key()) {
        set("prompt_cache_key", json!(key));
    }
    Value::Object(body)
}

/// Not strict: the API would refuse schemas with optional fields.
fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": false,
    })
}

/// The same for all conversations that begin with the same words, so that they share what the provider has read already.
fn cache_key(question: &Question) -> Option<String> {
    if question.instructions.trim().is_empty() && question.tools.is_empty() {
        let session = &question.session;
        return (!session.is_empty()).then(|| ids::short(session, "pck_"));
    }
    let mut tools: Vec<String> =
        question.tools.iter().map(|known| tool(known).to_string()).collect();
    tools.sort_unstable();
    let mut texts = vec![question.instructions.as_str()];
    texts.extend(tools.iter().map(String::as_str));
    Some(format!("pck_{}", ids::hash(&texts, 24)))
}
