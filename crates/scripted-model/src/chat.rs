//! An answer as the chunks of Chat Completions.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::events::{
    Ids, SEQUENCE_MARK, Segment, Setting, Step, TEXT_MARK, TEXT_MARK_IN_JSON, pieces,
};
use crate::fault::Fault;
use crate::flood::{Flood, FloodEvents};
use crate::script::{Answer, Call, Payload, Usage};
use crate::sse;

/// All chunks of one answer; the last step is the finish, the tokens and `[DONE]`.
pub(crate) fn compose(answer: &Answer, setting: &Setting) -> Vec<Step> {
    let writer = Writer { ids: Ids::new(&setting.seed), setting };
    let mut steps = vec![Step::Opening(writer.delta(&json!({"role": "assistant", "content": ""})))];
    if let Some(reasoning) = &answer.reasoning {
        let deltas = pieces(reasoning, answer.delta_bytes).into_iter();
        let deltas = deltas.map(|piece| writer.delta(&json!({"reasoning_content": piece})));
        steps.extend(deltas.map(Step::Delta));
    }
    if answer.deltas > 0 {
        let flood = Flood::new(answer.deltas, answer.delta_bytes);
        steps.extend(writer.flood(flood).map(Step::Flood));
    } else if let Some(text) = &answer.text {
        let deltas = pieces(text, answer.delta_bytes).into_iter();
        let deltas = deltas.map(|piece| writer.delta(&json!({"content": piece})));
        steps.extend(deltas.map(Step::Delta));
    }
    for (number, call) in answer.calls.iter().enumerate() {
        let events = writer.call(call, number).into_iter();
        steps.extend(events.map(|event| Step::Event(vec![Segment::Bytes(event)])));
    }
    steps.push(Step::Terminal(vec![Segment::Bytes(writer.end(answer))]));
    steps
}

/// An error in the middle of a stream, which ends it.
pub(crate) fn error(code: &str, message: &str) -> Bytes {
    let error = json!({"message": message, "type": null, "param": null, "code": code});
    sse::data(&json!({"error": error}).to_string())
}

/// What some servers send first: a chunk about the prompt, with no part of the answer in it.
pub(crate) fn without_choices() -> Bytes {
    let chunk = json!({"id": "", "object": "", "created": 0, "model": "", "choices": []});
    sse::data(&chunk.to_string())
}

struct Writer<'setting> {
    ids: Ids,
    setting: &'setting Setting,
}

impl Writer<'_> {
    fn delta(&self, delta: &Value) -> Bytes {
        self.choice(delta, &Value::Null)
    }

    fn choice(&self, delta: &Value, finish: &Value) -> Bytes {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        sse::data(&self.chunk(&json!([choice]), &Value::Null).to_string())
    }

    fn chunk(&self, choices: &Value, usage: &Value) -> Value {
        json!({
            "id": self.ids.item("chatcmpl", 0),
            "object": "chat.completion.chunk",
            "created": self.setting.created_at_s,
            "model": self.setting.model,
            "choices": choices,
            "usage": usage,
        })
    }

    /// Chunks have no number of their own; in generated ones a field that clients do not know holds it.
    fn flood(&self, flood: Flood) -> Option<FloodEvents> {
        let choice =
            json!({"index": 0, "delta": {"content": TEXT_MARK}, "sequence_number": SEQUENCE_MARK});
        let template = sse::data(&self.chunk(&json!([choice]), &Value::Null).to_string());
        let sequence_mark = SEQUENCE_MARK.to_string();
        FloodEvents::new(flood, 0, &template, [TEXT_MARK_IN_JSON, sequence_mark.as_bytes()])
    }

    /// The first chunk names the call, the others hold its arguments; a custom tool's text is sent as arguments, too.
    fn call(&self, call: &Call, number: usize) -> Vec<Bytes> {
        let id = call.id.clone().unwrap_or_else(|| self.ids.item("call", number));
        let name = match &call.namespace {
            Some(namespace) => format!("{namespace}__{}", call.tool),
            None => call.tool.clone(),
        };
        let arguments = match &call.payload {
            Payload::Arguments(arguments) => arguments.to_string(),
            Payload::ArgumentsText(text) | Payload::Input(text) => text.clone(),
        };
        let function = json!({"name": name, "arguments": ""});
        let first = json!({"index": number, "id": id, "type": "function", "function": function});
        let rest = pieces(&arguments, 0).into_iter();
        let rest = rest.map(|piece| json!({"index": number, "function": {"arguments": piece}}));
        let deltas = std::iter::once(first).chain(rest);
        deltas.map(|delta| self.delta(&json!({"tool_calls": [delta]}))).collect()
    }

    fn end(&self, answer: &Answer) -> Bytes {
        let reason = match &answer.fault {
            Some(Fault::Incomplete { reason }) if reason == "content_filter" => "content_filter",
            Some(Fault::Incomplete { .. }) => "length",
            _ if answer.calls.is_empty() => "stop",
            _ => "tool_calls",
        };
        let finish = self.choice(&json!({}), &json!(reason));
        let tokens = self.chunk(&json!([]), &usage(&answer.usage)).to_string();
        let parts = [finish, sse::data(&tokens), sse::data("[DONE]")];
        Bytes::from(parts.concat())
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens": usage.output,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input.saturating_add(usage.output),
    })
}
