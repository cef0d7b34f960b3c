//! The chunks of Chat Completions. Nothing is said twice here: what is lost of a stream is missing from the answer.

use ostler_model::usage::Tokens;
use serde_json::{Value, json};

use super::super::patience::Doing;
use super::super::reading::{Event, Flow, Reading, number_at, word_at};
use super::super::{Answer, Call, Finish, Piece};

#[derive(Debug)]
pub(crate) struct ChatReading {
    text: String,
    reasoning: String,
    calls: Vec<PartialCall>,
    finish: Option<String>,
    tokens: Option<Tokens>,
    id: Option<String>,
    doing: Doing,
    begun: bool,
    damaged: bool,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

const CUT: &str = "the stream broke off before its end";

impl Default for ChatReading {
    fn default() -> Self {
        Self {
            text: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            finish: None,
            tokens: None,
            id: None,
            doing: Doing::Thinking,
            begun: false,
            damaged: false,
        }
    }
}

impl ChatReading {
    fn take_json(&mut self, chunk: &Value, pieces: &mut Vec<Piece>) -> Flow {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Flow::Failed(chunk.clone());
        }
        self.doing = Doing::Thinking;
        self.id = self.id.take().or_else(|| word_at(chunk, "/id").map(str::to_owned));
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            let count = |at: &str| number_at(usage, at).unwrap_or(0);
            self.tokens = Some(Tokens {
                input: count("/prompt_tokens"),
                cached_input: count("/prompt_tokens_details/cached_tokens"),
                output: count("/completion_tokens"),
                reasoning_output: count("/completion_tokens_details/reasoning_tokens"),
            });
        }
        // Only one answer is asked for.
        let Some(choice) = chunk.pointer("/choices/0") else { return Flow::GoOn };
        if choice.get("error").is_some_and(|error| !error.is_null()) {
            return Flow::Failed(choice.clone());
        }
        for delta in
            choice.pointer("/delta/tool_calls").and_then(Value::as_array).into_iter().flatten()
        {
            self.take_call(delta);
        }
        self.take_text(choice, pieces);
        if let Some(reason) = word_at(choice, "/finish_reason") {
            self.finish = Some(reason.to_owned());
        }
        Flow::GoOn
    }

    fn take_text(&mut self, choice: &Value, pieces: &mut Vec<Piece>) {
        // Two names for the same thing; some providers send both.
        let reasoning = word_at(choice, "/delta/reasoning_content")
            .or_else(|| word_at(choice, "/delta/reasoning"));
        if let Some(delta) = reasoning {
            self.begun = true;
            self.reasoning.push_str(delta);
            pieces.push(Piece::Reasoning(delta.to_owned()));
        }
        for at in ["/delta/content", "/delta/refusal"] {
            let Some(delta) = word_at(choice, at) else { continue };
            self.begun = true;
            self.doing = Doing::Writing;
            self.text.push_str(delta);
            if self.calls.is_empty() {
                pieces.push(Piece::Text(delta.to_owned()));
            }
        }
    }

    fn take_call(&mut self, delta: &Value) {
        self.begun = true;
        self.doing = Doing::Writing;
        let index = number_at(delta, "/index");
        let id = word_at(delta, "/id");
        let known = match (index, id) {
            // Some providers number every call 0, or none; then the id tells them apart.
            (Some(_), _) => self.calls.iter().rposition(|call| {
                call.index == index && id.is_none_or(|id| call.id.is_empty() || call.id == id)
            }),
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id == id),
            (None, None) => self.calls.len().checked_sub(1),
        };
        let known = known.unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(known) else { return };
        if let Some(id) = id {
            id.clone_into(&mut call.id);
        }
        // The name comes whole; some providers repeat it.
        if let Some(name) = word_at(delta, "/function/name") {
            name.clone_into(&mut call.name);
        }
        match delta.pointer("/function/arguments") {
            Some(Value::String(arguments)) => call.arguments.push_str(arguments),
            Some(object @ Value::Object(_)) => call.arguments = object.to_string(),
            _ => {}
        }
    }

    /// A call is whole only if the whole answer is: nothing else says where its arguments end.
    fn whole_calls(&self) -> Option<Vec<Call>> {
        let mut calls: Vec<&PartialCall> = self.calls.iter().collect();
        calls.sort_by_key(|call| call.index.unwrap_or(u64::MAX));
        let calls = calls.into_iter().enumerate().map(|(place, call)| {
            let id = match call.id.is_empty() {
                true => format!("call_{}_{place}", self.id.as_deref().unwrap_or("nameless")),
                false => call.id.clone(),
            };
            let (tool, arguments) = (call.name.clone(), call.arguments.clone());
            (!tool.is_empty()).then_some(Call { id, tool, arguments })
        });
        calls.collect()
    }

    fn ended(&self) -> (Finish, Vec<Call>) {
        let incomplete =
            |reason: &str| (Finish::Incomplete { reason: reason.to_owned() }, Vec::new());
        let Some(reason) = self.finish.as_deref() else { return incomplete(CUT) };
        if self.damaged {
            return incomplete("a part of the answer could not be read");
        }
        match reason {
            "content_filter" => (Finish::ContentFilter, Vec::new()),
            "stop" | "tool_calls" | "function_call" | "end_turn" | "eos" => {
                let Some(calls) = self.whole_calls() else {
                    return incomplete("a tool call was not finished");
                };
                match (calls.is_empty(), reason) {
                    (false, _) => (Finish::ToolCalls, calls),
                    (true, "tool_calls" | "function_call") => {
                        incomplete("a tool call was announced and did not come")
                    }
                    (true, _) => (Finish::Stop, calls),
                }
            }
            reason => incomplete(reason),
        }
    }

    fn answer(&self, finish: Finish, calls: Vec<Call>) -> Answer {
        Answer {
            text: self.text.clone(),
            commentary: Vec::new(),
            reasoning: (!self.reasoning.is_empty()).then(|| self.reasoning.clone()),
            calls,
            finish,
            tokens: self.tokens,
            replay: None,
            response_id: self.id.clone(),
        }
    }
}

impl Reading for ChatReading {
    /// The text comes first: in a stream, too, it is told before the calls.
    fn events_of(document: &Value) -> Option<Vec<Event>> {
        let choice = document.pointer("/choices/0")?;
        let mut said = choice.get("message")?.clone();
        let fields = said.as_object_mut()?;
        let calls = fields.remove("tool_calls").unwrap_or_default();
        let calls: Vec<Value> = calls
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(place, call)| {
                json!({"index": place, "id": call.get("id"), "function": call.get("function")})
            })
            .collect();
        let chunk = |choice: Value, usage: Option<&Value>| {
            Event::Json(json!({"id": document.get("id"), "choices": [choice], "usage": usage}))
        };
        let errors = [document.get("error"), choice.get("error")];
        let error = errors.into_iter().flatten().find(|error| !error.is_null());
        let last = json!({"delta": {"tool_calls": calls}, "finish_reason": choice.get("finish_reason"), "error": error});
        Some(vec![
            chunk(json!({"delta": said}), None),
            chunk(last, document.get("usage")),
            Event::Done,
        ])
    }

    fn take(&mut self, event: Event, pieces: &mut Vec<Piece>) -> Flow {
        match event {
            Event::Json(chunk) => self.take_json(&chunk, pieces),
            Event::Done => Flow::Over,
            Event::Damaged => {
                self.damaged = true;
                Flow::GoOn
            }
        }
    }

    fn doing(&self) -> Doing {
        self.doing
    }

    fn partial(&self) -> Answer {
        self.answer(Finish::Incomplete { reason: CUT.to_owned() }, Vec::new())
    }

    /// Only the count of tokens and the end of the stream can still come.
    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn finish(self, _: &mut Vec<Piece>) -> Option<Answer> {
        if !self.begun && self.finish.is_none() {
            return None;
        }
        let (finish, calls) = self.ended();
        Some(self.answer(finish, calls))
    }
}
