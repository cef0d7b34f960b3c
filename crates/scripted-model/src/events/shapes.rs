//! The JSON objects of the Responses API that the events are made of.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::Setting;
use crate::script::{Phase, Usage};
use crate::sse;

/// `response.failed`, which ends a stream.
pub(crate) fn failed(setting: &Setting, sequence: u64, code: &str, message: &str) -> Bytes {
    let response = response(setting, &Ids::new(&setting.seed), "failed");
    let error = json!({"error": {"code": code, "message": message}});
    let response = merged(&response, error);
    sse::event("response.failed", sequence, fields(json!({"response": response})))
}

/// An `error` event, which ends a stream too.
pub(crate) fn error(sequence: u64, code: &str, message: &str) -> Bytes {
    let body = json!({"code": code, "message": message, "param": null});
    sse::event("error", sequence, fields(body))
}

/// The frame that ChatGPT's servers send ahead of a response.
pub(crate) fn rate_limits() -> Bytes {
    let body = json!({
        "plan_type": "pro",
        "rate_limits": {
            "allowed": true,
            "limit_reached": false,
            "primary": {"used_percent": 7, "window_minutes": 300, "reset_after_seconds": 13168},
            "secondary": {"used_percent": 29, "window_minutes": 10080, "reset_after_seconds": 434962},
        },
        "code_review_rate_limits": null,
    });
    sse::event("codex.rate_limits", 0, fields(body))
}

/// The words that differ between the two kinds of tool call.
pub(super) struct CallShape {
    pub(super) item: &'static str,
    pub(super) payload: &'static str,
    pub(super) id_prefix: &'static str,
    pub(super) delta: &'static str,
    pub(super) done: &'static str,
}

pub(super) const FUNCTION: CallShape = CallShape {
    item: "function_call",
    payload: "arguments",
    id_prefix: "fc",
    delta: "response.function_call_arguments.delta",
    done: "response.function_call_arguments.done",
};

pub(super) const CUSTOM: CallShape = CallShape {
    item: "custom_tool_call",
    payload: "input",
    id_prefix: "ctc",
    delta: "response.custom_tool_call_input.delta",
    done: "response.custom_tool_call_input.done",
};

/// Ids that look like the API's own and are the same whenever the seed is.
pub(crate) struct Ids {
    hash: u64,
}

impl Ids {
    /// FNV-1a: the standard library's hasher may change between releases, and recorded ids must not.
    pub(crate) fn new(seed: &str) -> Self {
        let hash = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { hash }
    }

    pub(crate) fn response(&self) -> String {
        format!("resp_{:016x}", self.hash)
    }

    pub(crate) fn item(&self, prefix: &str, number: usize) -> String {
        format!("{prefix}_{:016x}_{number}", self.hash)
    }
}

pub(super) fn response(setting: &Setting, ids: &Ids, status: &str) -> Value {
    json!({
        "id": ids.response(),
        "object": "response",
        "created_at": setting.created_at_s,
        "status": status,
        "model": setting.model,
        "output": [],
        "usage": null,
        "error": null,
        "incomplete_details": null,
    })
}

pub(super) fn message(id: &str, status: &str, content: &Value, phase: Option<Phase>) -> Value {
    let message = json!({
        "type": "message", "id": id, "status": status, "role": "assistant", "content": content,
    });
    let phase = phase.map(|phase| match phase {
        Phase::Commentary => ("phase", "commentary"),
        Phase::FinalAnswer => ("phase", "final_answer"),
    });
    with_texts(&message, phase)
}

pub(super) fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

pub(super) fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input.saturating_add(usage.output),
    })
}

pub(super) fn merged(at: &Value, body: Value) -> Value {
    let mut all = fields(at.clone());
    all.extend(fields(body));
    Value::Object(all)
}

pub(super) fn with_texts<'text>(
    object: &Value,
    texts: impl IntoIterator<Item = (&'text str, &'text str)>,
) -> Value {
    let mut all = fields(object.clone());
    all.extend(texts.into_iter().map(|(name, text)| (name.to_owned(), Value::from(text))));
    Value::Object(all)
}

pub(super) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
