//! The events of the Responses API. What the last event lists as output is never believed: servers leave it empty. A document
//! without a stream has nothing else, so its output counts.

use ostler_model::usage::Tokens;
use serde_json::{Value, json};

use super::super::patience::Doing;
use super::super::reading::{Event, Flow, Reading, number_at, text_at, word_at};
use super::super::{Answer, Finish, Piece};
use super::items::{Items, Kind, Phase, Slot};
use super::outcome::{self, Ending};

#[derive(Debug)]
pub(crate) struct ResponsesReading {
    issuer: String,
    items: Items,
    ending: Ending,
    response_id: Option<String>,
    tokens: Option<Tokens>,
    doing: Doing,
    /// A call has begun: text that comes now is no answer to anybody.
    calling: bool,
    told_text: bool,
    damaged: bool,
}

impl ResponsesReading {
    pub(super) fn new(issuer: String) -> Self {
        Self {
            issuer,
            items: Items::default(),
            ending: Ending::Missing,
            response_id: None,
            tokens: None,
            doing: Doing::Thinking,
            calling: false,
            told_text: false,
            damaged: false,
        }
    }

    fn take_json(&mut self, event: &Value, pieces: &mut Vec<Piece>) -> Flow {
        let kind = text_at(event, "/type").unwrap_or_default();
        self.doing = Doing::Thinking;
        match kind {
            "error" => return Flow::Failed(event.clone()),
            "response.failed" => {
                self.note_response(event);
                return Flow::Failed(event.clone());
            }
            "response.created" | "response.in_progress" => self.note_response(event),
            "response.completed" | "response.done" => {
                self.note_response(event);
                self.ending = Ending::Completed;
                return Flow::Over;
            }
            "response.incomplete" => {
                self.note_response(event);
                let reason = text_at(event, "/response/incomplete_details/reason");
                self.ending = Ending::Incomplete(reason.unwrap_or("incomplete").to_owned());
                return Flow::Over;
            }
            "response.output_item.added" => self.begin_item(event),
            "response.output_item.done" => self.end_item(event, pieces),
            "response.output_text.delta" | "response.refusal.delta" => self.speak(event, pieces),
            "response.reasoning_summary_part.added" => self.part_reasoning(event, pieces),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.calling = true;
                self.doing = Doing::Writing;
                self.stream_into(Kind::Call, event, "/delta", String::push_str);
            }
            "response.function_call_arguments.done" => self.replace_streamed(event, "/arguments"),
            "response.custom_tool_call_input.done" => self.replace_streamed(event, "/input"),
            "response.output_text.done" => {
                self.stream_into(Kind::Message, event, "/text", |streamed, text| {
                    text.clone_into(streamed);
                });
            }
            _ if kind.starts_with("response.reasoning") && kind.ends_with(".delta") => {
                self.reason(event, pieces);
            }
            // Signs of life, rate limits, and what this API will think of next.
            _ => {}
        }
        Flow::GoOn
    }

    fn note_response(&mut self, event: &Value) {
        let id = word_at(event, "/response/id").map(str::to_owned);
        self.response_id = id.or(self.response_id.take());
        if let Some(usage) = event.pointer("/response/usage").filter(|usage| usage.is_object()) {
            let count = |at: &str| number_at(usage, at).unwrap_or(0);
            self.tokens = Some(Tokens {
                input: count("/input_tokens"),
                cached_input: count("/input_tokens_details/cached_tokens"),
                output: count("/output_tokens"),
                reasoning_output: count("/output_tokens_details/reasoning_tokens"),
            });
        }
    }

    fn begin_item(&mut self, event: &Value) {
        let Some(item) = event.get("item") else { return };
        let kind = Kind::of(item);
        self.calling |= kind == Kind::Call;
        if let Some(slot) = self.items.slot(kind, event, word_at(item, "/id"))
            && slot.done.is_none()
        {
            slot.note(item);
        }
    }

    fn end_item(&mut self, event: &Value, pieces: &mut Vec<Piece>) {
        let Some(item) = event.get("item") else { return };
        let kind = Kind::of(item);
        self.calling |= kind == Kind::Call;
        let Some(slot) = self.items.slot(kind, event, word_at(item, "/id")) else { return };
        if slot.done.is_some() {
            // It came before.
            return;
        }
        slot.note(item);
        slot.done = Some(item.clone());
        let (text, told) = (slot.text(), slot.told);
        if text.is_empty() {
            return;
        }
        match (kind, slot.phase()) {
            (Kind::Message, Phase::Commentary) => pieces.push(Piece::Commentary(text)),
            // Nothing of it was streamed.
            (Kind::Message, Phase::Answer) if !told && !self.calling => {
                slot.told = true;
                tell_text(&mut self.told_text, Begins::Anew, text, pieces);
            }
            (Kind::Reasoning, _) | (Kind::Message, Phase::Analysis) if !told => {
                pieces.push(Piece::Reasoning(text));
            }
            _ => {}
        }
    }

    fn speak(&mut self, event: &Value, pieces: &mut Vec<Piece>) {
        self.doing = Doing::Writing;
        let (calling, delta) = (self.calling, text_at(event, "/delta").unwrap_or_default());
        let Some(slot) = self.stream_into(Kind::Message, event, "/delta", String::push_str) else {
            return;
        };
        let phase = slot.phase();
        let begins = match std::mem::replace(&mut slot.told, phase != Phase::Commentary) {
            true => Begins::Before,
            false => Begins::Anew,
        };
        match phase {
            Phase::Commentary => {}
            Phase::Analysis => pieces.push(Piece::Reasoning(delta.to_owned())),
            Phase::Answer if calling => {}
            Phase::Answer => tell_text(&mut self.told_text, begins, delta.to_owned(), pieces),
        }
    }

    fn reason(&mut self, event: &Value, pieces: &mut Vec<Piece>) {
        let slot = self.stream_into(Kind::Reasoning, event, "/delta", String::push_str);
        if let (Some(slot), Some(delta)) = (slot, text_at(event, "/delta")) {
            slot.told = true;
            pieces.push(Piece::Reasoning(delta.to_owned()));
        }
    }

    /// The parts of a summary are paragraphs.
    fn part_reasoning(&mut self, event: &Value, pieces: &mut Vec<Piece>) {
        let id = word_at(event, "/item_id");
        if let Some(slot) = self.items.slot(Kind::Reasoning, event, id)
            && !slot.streamed.is_empty()
        {
            slot.streamed.push_str("\n\n");
            pieces.push(Piece::Reasoning("\n\n".to_owned()));
        }
    }

    fn replace_streamed(&mut self, event: &Value, at: &str) {
        self.calling = true;
        self.stream_into(Kind::Call, event, at, |streamed, text| text.clone_into(streamed));
    }

    fn stream_into(
        &mut self,
        kind: Kind,
        event: &Value,
        at: &str,
        put: fn(&mut String, &str),
    ) -> Option<&mut Slot> {
        let text = text_at(event, at)?;
        let slot = self.items.slot(kind, event, word_at(event, "/item_id"))?;
        if slot.done.is_none() {
            put(&mut slot.streamed, text);
        }
        Some(slot)
    }

    fn assemble(&self) -> outcome::Assembled {
        let damaged = self.damaged;
        let mut assembled =
            outcome::assemble(&self.items.in_order(), &self.ending, damaged, &self.issuer);
        assembled.answer.tokens = self.tokens;
        assembled.answer.response_id.clone_from(&self.response_id);
        assembled
    }
}

impl Reading for ResponsesReading {
    fn events_of(document: &Value) -> Option<Vec<Event>> {
        let output = document.get("output").and_then(Value::as_array);
        let is_response = match document.get("object") {
            Some(object) => object == "response",
            None => output.is_some(),
        };
        if !is_response {
            return None;
        }
        let items = output.into_iter().flatten().enumerate();
        let items = items.map(|(place, item)| {
            json!({"type": "response.output_item.done", "output_index": place, "item": item})
        });
        let (kind, response) = match word_at(document, "/status") {
            // Like an item, a response without a status is as good as its end.
            None | Some("completed") => ("response.completed", document.clone()),
            Some("failed") => ("response.failed", document.clone()),
            Some("incomplete") => ("response.incomplete", document.clone()),
            // Cancelled, or not over yet.
            Some(status) => {
                let mut response = document.clone();
                if let Some(fields) = response.as_object_mut() {
                    fields.insert("incomplete_details".to_owned(), json!({"reason": status}));
                }
                ("response.incomplete", response)
            }
        };
        let last = json!({"type": kind, "response": response});
        Some(items.chain([last]).map(Event::Json).collect())
    }

    fn take(&mut self, event: Event, pieces: &mut Vec<Piece>) -> Flow {
        match event {
            Event::Json(event) => self.take_json(&event, pieces),
            // Not a part of this API; some servers end with it all the same.
            Event::Done => Flow::GoOn,
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
        let finish = Finish::Incomplete { reason: outcome::CUT.to_owned() };
        Answer { calls: Vec::new(), replay: None, finish, ..self.assemble().answer }
    }

    fn is_whole(&self) -> bool {
        self.ending != Ending::Missing
    }

    fn finish(self, pieces: &mut Vec<Piece>) -> Option<Answer> {
        let assembled = self.assemble();
        if self.ending == Ending::Missing && assembled.answer.is_empty() && !assembled.leaked {
            return None;
        }
        if assembled.leaked {
            pieces.push(Piece::Again { reason: outcome::LEAKED.to_owned() });
        }
        if assembled.was_hidden {
            pieces.push(Piece::Text(assembled.answer.text.clone()));
        }
        Some(assembled.answer)
    }
}

/// Whether a piece goes on with a message that has been told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begins {
    Anew,
    Before,
}

fn tell_text(told: &mut bool, begins: Begins, text: String, pieces: &mut Vec<Piece>) {
    if std::mem::replace(told, true) && begins == Begins::Anew {
        pieces.push(Piece::Text(outcome::BETWEEN_MESSAGES.to_owned()));
    }
    pieces.push(Piece::Text(text));
}
