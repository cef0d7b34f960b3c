//! An answer as the events of the Responses API, in the shapes that Codex accepts.
//!
//! Of a text, Codex 0.125 to 0.166 take the deltas for display and `response.output_item.done` for the
//! record; the other events are there because the real API sends them and other clients read them.

mod shapes;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::chat;
use crate::fault::Fault;
use crate::flood::{Flood, FloodEvents, split_at_mark};
use crate::script::{Answer, Call, Payload, Phase};
use crate::sse;
use shapes::{CUSTOM, FUNCTION, fields, merged, message, response, text_part, usage, with_texts};

pub(crate) use shapes::{Ids, error, failed, rate_limits};

/// One thing to send. A generated text is never in memory as a whole, so it stands as a `Flood`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Comes before anything else; no fault strikes before it.
    Opening(Bytes),
    /// Any event but a delta of reasoning or text.
    Event(Vec<Segment>),
    /// One delta of reasoning or text.
    Delta(Bytes),
    /// Many deltas of text.
    Flood(FloodEvents),
    /// The event that ends the response.
    Terminal(Vec<Segment>),
}

/// A part of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    Bytes(Bytes),
    Generated(Flood),
}

/// What an answer does not say itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Makes every id of this response; see [`crate::conversation::Choice`].
    pub(crate) seed: String,
    pub(crate) model: String,
    pub(crate) created_at_s: u64,
    pub(crate) api: Api,
}

/// Which API the answer is played on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Responses,
    Chat,
}

/// Stands for a generated text until the event is cut into segments. Control characters are escaped in
/// JSON, so only a script that spells out this very text could be mistaken for it.
pub(crate) const TEXT_MARK: &str = "\u{1}generated text\u{1}";
pub(crate) const TEXT_MARK_IN_JSON: &[u8] = b"\\u0001generated text\\u0001";

/// Stands for a sequence number in the template of a flood's deltas.
pub(crate) const SEQUENCE_MARK: u64 = u64::MAX;

/// All events of one answer, the terminal one last.
pub(crate) fn compose(answer: &Answer, setting: &Setting) -> Vec<Step> {
    if !answer.events.is_empty() {
        let events = answer.events.iter();
        return events.map(|data| Step::Event(vec![Segment::Bytes(sse::verbatim(data))])).collect();
    }
    if setting.api == Api::Chat {
        return chat::compose(answer, setting);
    }
    let mut composer = Composer {
        ids: Ids::new(&setting.seed),
        setting,
        steps: Vec::new(),
        sequence: 0,
        output: Vec::new(),
    };
    composer.open();
    if let Some(reasoning) = &answer.reasoning {
        composer.reason(reasoning, answer.delta_bytes);
    }
    if answer.deltas > 0 {
        composer.flood(Flood::new(answer.deltas, answer.delta_bytes), answer.phase);
    } else if let Some(text) = &answer.text {
        composer.speak(text, answer.delta_bytes, answer.phase);
    }
    for (number, call) in answer.calls.iter().enumerate() {
        composer.call(call, number);
    }
    composer.end(answer);
    composer.steps
}

struct Composer<'setting> {
    ids: Ids,
    setting: &'setting Setting,
    steps: Vec<Step>,
    sequence: u64,
    /// The finished items, for the terminal event.
    output: Vec<Value>,
}

impl Composer<'_> {
    fn open(&mut self) {
        for kind in ["response.created", "response.in_progress"] {
            let response = response(self.setting, &self.ids, "in_progress");
            let event = self.next_event(kind, json!({"response": response}));
            self.steps.push(Step::Opening(event));
        }
    }

    fn reason(&mut self, text: &str, delta_bytes: usize) {
        let id = self.ids.item("rs", self.output.len());
        let at = json!({"item_id": id, "output_index": self.output.len(), "summary_index": 0});
        let item = |summary: &Value| json!({"type": "reasoning", "id": id, "summary": summary});
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        self.begin_item(&item(&json!([])));
        self.event_at("response.reasoning_summary_part.added", &at, json!({"part": part("")}));
        for piece in pieces(text, delta_bytes) {
            let kind = "response.reasoning_summary_text.delta";
            self.delta_at(kind, &at, json!({"delta": piece}));
        }
        self.event_at("response.reasoning_summary_text.done", &at, json!({"text": text}));
        self.event_at("response.reasoning_summary_part.done", &at, json!({"part": part(text)}));
        self.finish_item(item(&json!([part(text)])));
    }

    fn speak(&mut self, text: &str, delta_bytes: usize, phase: Option<Phase>) {
        let at = self.begin_message(phase);
        for piece in pieces(text, delta_bytes) {
            let delta = json!({"delta": piece, "logprobs": []});
            self.delta_at("response.output_text.delta", &at, delta);
        }
        self.finish_message(&at, text, phase);
    }

    fn flood(&mut self, flood: Flood, phase: Option<Phase>) {
        let at = self.begin_message(phase);
        let delta = json!({"delta": TEXT_MARK, "logprobs": []});
        let template =
            sse::event("response.output_text.delta", SEQUENCE_MARK, fields(merged(&at, delta)));
        let sequence_mark = SEQUENCE_MARK.to_string();
        let marks = [TEXT_MARK_IN_JSON, sequence_mark.as_bytes()];
        let events = FloodEvents::new(flood, self.sequence, &template, marks);
        self.steps.extend(events.map(Step::Flood));
        self.sequence += flood.deltas;
        let before = self.steps.len();
        self.finish_message(&at, TEXT_MARK, phase);
        for step in self.steps.iter_mut().skip(before) {
            if let Step::Event(segments) = step {
                *segments = with_generated(std::mem::take(segments), flood);
            }
        }
    }

    fn begin_message(&mut self, phase: Option<Phase>) -> Value {
        let id = self.ids.item("msg", self.output.len());
        let at = json!({"item_id": id, "output_index": self.output.len(), "content_index": 0});
        self.begin_item(&message(&id, "in_progress", &json!([]), phase));
        self.event_at("response.content_part.added", &at, json!({"part": text_part("")}));
        at
    }

    fn finish_message(&mut self, at: &Value, text: &str, phase: Option<Phase>) {
        let id = self.ids.item("msg", self.output.len());
        let done = json!({"text": text, "logprobs": []});
        self.event_at("response.output_text.done", at, done);
        self.event_at("response.content_part.done", at, json!({"part": text_part(text)}));
        self.finish_item(message(&id, "completed", &json!([text_part(text)]), phase));
    }

    fn call(&mut self, call: &Call, number: usize) {
        let call_id = call.id.clone().unwrap_or_else(|| self.ids.item("call", number));
        let (shape, payload) = match &call.payload {
            Payload::Arguments(arguments) => (&FUNCTION, arguments.to_string()),
            Payload::ArgumentsText(arguments) => (&FUNCTION, arguments.clone()),
            Payload::Input(input) => (&CUSTOM, input.clone()),
        };
        let id = self.ids.item(shape.id_prefix, self.output.len());
        let at = json!({"item_id": id, "output_index": self.output.len()});
        let namespace = call.namespace.as_ref().map(|name| ("namespace", name.as_str()));
        let item = |status: &str, payload: &str| {
            let item = json!({
                "type": shape.item, "id": id, "status": status, "call_id": call_id, "name": call.tool,
            });
            with_texts(&item, [(shape.payload, payload)].into_iter().chain(namespace))
        };
        self.begin_item(&item("in_progress", ""));
        for line in payload.split_inclusive('\n') {
            self.event_at(shape.delta, &at, json!({"delta": line}));
        }
        let done = with_texts(&at, [(shape.payload, payload.as_str())]);
        self.push_event(shape.done, done);
        self.finish_item(item("completed", &payload));
    }

    fn end(&mut self, answer: &Answer) {
        let output = std::mem::take(&mut self.output);
        let (kind, status, rest) = match &answer.fault {
            Some(Fault::Incomplete { reason }) => (
                "response.incomplete",
                "incomplete",
                json!({"output": output, "incomplete_details": {"reason": reason}}),
            ),
            Some(Fault::EmptyOutput) => ("response.completed", "completed", json!({"output": []})),
            _ => ("response.completed", "completed", json!({"output": output})),
        };
        let response = merged(&response(self.setting, &self.ids, status), rest);
        let response = merged(&response, json!({"usage": usage(&answer.usage)}));
        let event = Segment::Bytes(self.next_event(kind, json!({"response": response})));
        let flood = Flood::new(answer.deltas, answer.delta_bytes);
        let segments = with_generated(vec![event], flood);
        self.steps.push(Step::Terminal(segments));
    }

    fn begin_item(&mut self, item: &Value) {
        let body = json!({"output_index": self.output.len(), "item": item});
        self.push_event("response.output_item.added", body);
    }

    fn finish_item(&mut self, item: Value) {
        let body = json!({"output_index": self.output.len(), "item": &item});
        self.push_event("response.output_item.done", body);
        self.output.push(item);
    }

    fn event_at(&mut self, kind: &str, at: &Value, body: Value) {
        self.push_event(kind, merged(at, body));
    }

    fn delta_at(&mut self, kind: &str, at: &Value, body: Value) {
        let event = self.next_event(kind, merged(at, body));
        self.steps.push(Step::Delta(event));
    }

    fn push_event(&mut self, kind: &str, body: Value) {
        let event = self.next_event(kind, body);
        self.steps.push(Step::Event(vec![Segment::Bytes(event)]));
    }

    fn next_event(&mut self, kind: &str, body: Value) -> Bytes {
        let event = sse::event(kind, self.sequence, fields(body));
        self.sequence += 1;
        event
    }
}

/// Words with the space behind them, or pieces of `delta_bytes` that end between characters.
pub(crate) fn pieces(text: &str, delta_bytes: usize) -> Vec<&str> {
    if delta_bytes == 0 {
        return text.split_inclusive(char::is_whitespace).collect();
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let at = rest.floor_char_boundary(delta_bytes).max(first);
        let (piece, behind) = rest.split_at(at);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// Puts the flood where its mark stands.
fn with_generated(segments: Vec<Segment>, flood: Flood) -> Vec<Segment> {
    let mut result = Vec::new();
    for segment in segments {
        let Segment::Bytes(mut rest) = segment else {
            result.push(segment);
            continue;
        };
        while flood.deltas > 0
            && let Some((before, behind)) = split_at_mark(&rest, TEXT_MARK_IN_JSON)
        {
            result.extend([Segment::Bytes(before), Segment::Generated(flood)]);
            rest = behind;
        }
        result.push(Segment::Bytes(rest));
    }
    result
}

#[cfg(test)]
mod tests;
