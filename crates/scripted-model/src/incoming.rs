//! What a request says about itself. Everything in it is foreign, so nothing is required.

use hyper::HeaderMap;
use serde_json::Value;

/// The parts of a request that decide which answer plays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Incoming {
    /// The Codex thread that asks; empty when the client does not say.
    pub(crate) thread: String,
    /// The texts of the user messages, oldest first.
    pub(crate) user_messages: Vec<String>,
    /// What the tools of the thread have given back and the model itself has said, oldest first.
    pub(crate) results: Vec<String>,
    /// How long the thread's history is by now.
    pub(crate) input_items: usize,
    pub(crate) model: String,
    /// Whether the client asked for server-sent events.
    pub(crate) streams: bool,
}

/// Headers that name the thread. Codex 0.142 and newer write `thread-id`, 0.130 `thread_id`; 0.125 sends
/// `session_id` alone, which is the thread there. With sub-agents a session holds several threads, so the
/// session's id and the cache key, which may be shared, come last.
const THREAD_HEADERS: [&str; 2] = ["thread-id", "thread_id"];
const SESSION_HEADERS: [&str; 3] = ["session-id", "session_id", "conversation_id"];

impl Incoming {
    pub(crate) fn read(headers: &HeaderMap, body: &Value) -> Self {
        let input = body.get("input").or_else(|| body.get("messages"));
        let items = input.and_then(Value::as_array);
        Self {
            thread: thread(headers, body).unwrap_or_default(),
            user_messages: match (input, items) {
                (_, Some(items)) => items.iter().filter_map(|it| text_of("user", it)).collect(),
                (Some(Value::String(text)), None) => vec![text.clone()],
                _ => Vec::new(),
            },
            results: items.into_iter().flatten().filter_map(result_or_answer).collect(),
            input_items: items.map_or(0, Vec::len),
            model: text_at(body, "/model").unwrap_or_default(),
            streams: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        }
    }
}

fn thread(headers: &HeaderMap, body: &Value) -> Option<String> {
    first_header(headers, &THREAD_HEADERS)
        .or_else(|| text_at(body, "/client_metadata/thread_id"))
        .or_else(|| first_header(headers, &SESSION_HEADERS))
        .or_else(|| text_at(body, "/prompt_cache_key"))
}

fn first_header(headers: &HeaderMap, names: &[&str]) -> Option<String> {
    let value = names.iter().find_map(|name| headers.get(*name))?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn text_at(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer)?.as_str().map(str::to_owned)
}

/// An item without a type is a message too; content is a text or a list of parts.
fn text_of(wanted: &str, item: &Value) -> Option<String> {
    let kind = item.get("type").and_then(Value::as_str);
    let role = item.get("role").and_then(Value::as_str);
    if kind.unwrap_or("message") != "message" || role != Some(wanted) {
        return None;
    }
    match item.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

fn result_or_answer(item: &Value) -> Option<String> {
    result_text(item).or_else(|| text_of("assistant", item))
}

/// The output of a tool is a text, or a list of parts that is taken as it is written. In Chat Completions it is the content
/// of a tool's message.
fn result_text(item: &Value) -> Option<String> {
    let is = |name: &str, wanted: fn(&str) -> bool| {
        item.get(name).and_then(Value::as_str).is_some_and(wanted)
    };
    let output = if is("type", |kind| kind.ends_with("_output")) {
        item.get("output")
    } else if is("role", |role| role == "tool") {
        item.get("content")
    } else {
        None
    };
    match output? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let name = hyper::header::HeaderName::from_static(name);
            (name, hyper::header::HeaderValue::from_static(value))
        });
        pairs.collect()
    }

    #[test]
    fn reads_what_codex_sends() {
        let body = json!({
            "model": "gpt-5.5", "stream": true, "prompt_cache_key": "session",
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "tidy"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "tidy?"}]},
                {"type": "function_call_output", "call_id": "c", "output": "tidy"},
                {"role": "user", "content": "go on"},
            ],
        });
        assert_eq!(
            Incoming::read(&headers(&[("session-id", "session"), ("thread-id", "thread")]), &body),
            Incoming {
                thread: "thread".to_owned(),
                user_messages: vec!["tidy".to_owned(), "go on".to_owned()],
                results: vec!["tidy?".to_owned(), "tidy".to_owned()],
                input_items: 5,
                model: "gpt-5.5".to_owned(),
                streams: true,
            }
        );
    }

    #[test]
    fn reads_chat_completions() {
        let body = json!({
            "model": "m", "stream": true,
            "messages": [
                {"role": "system", "content": "rules"},
                {"role": "user", "content": "tidy"},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]},
                {"role": "tool", "tool_call_id": "c", "content": "done"},
                {"role": "user", "content": [{"type": "text", "text": "go on"}, {"type": "image_url"}]},
            ],
        });
        assert_eq!(
            Incoming::read(&HeaderMap::new(), &body),
            Incoming {
                thread: String::new(),
                user_messages: vec!["tidy".to_owned(), "go on".to_owned()],
                results: vec!["done".to_owned()],
                input_items: 5,
                model: "m".to_owned(),
                streams: true,
            }
        );
    }

    #[test]
    fn names_the_thread_by_the_best_sign_there_is() {
        let full =
            json!({"prompt_cache_key": "cache", "client_metadata": {"thread_id": "metadata"}});
        let cache = json!({"prompt_cache_key": "cache"});
        let named = |pairs: &[_], body: &Value| Incoming::read(&headers(pairs), body).thread;
        assert_eq!(
            [
                named(&[("thread_id", "0.130"), ("session_id", "s")], &full),
                named(&[("session-id", "s")], &full),
                named(&[("session_id", "0.125")], &cache),
                named(&[], &cache),
                named(&[], &json!({})),
            ],
            ["0.130", "metadata", "0.125", "cache", ""]
        );
    }

    #[test]
    fn survives_any_json() {
        for body in [
            json!(null),
            json!([1]),
            json!({"input": 7}),
            json!({"input": [null, {"role": "user"}]}),
        ] {
            assert_eq!(
                Incoming::read(&HeaderMap::new(), &body).user_messages,
                Vec::<String>::new()
            );
        }
    }
}
