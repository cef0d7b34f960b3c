//! What the items of a stream come to.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::super::reading::{text_at, word_at};
use super::super::{Answer, Call, Finish, Replay};
use super::history::{call_item, text_item};
use super::items::{Kind, Phase, Slot};
use super::server::Server;

/// How the stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// It did not say.
    Missing,
    Completed,
    Incomplete(String),
}

pub(super) struct Assembled {
    pub(super) answer: Answer,
    /// A tool call stood in the text, so the text is no answer.
    pub(super) leaked: bool,
    /// The text stood inside of reasoning, so nobody was told it as text.
    pub(super) was_hidden: bool,
}

pub(super) const CUT: &str = "the stream broke off before its end";
pub(super) const LEAKED: &str = "the model wrote a tool call as text";
pub(super) const BETWEEN_MESSAGES: &str = "\n\n";

pub(super) fn assemble(slots: &[&Slot], ending: &Ending, damaged: bool, issuer: &str) -> Assembled {
    let (calls, cut_call) = calls(slots);
    let texts = |wanted: Phase| {
        let messages =
            slots.iter().filter(move |slot| slot.kind == Kind::Message && slot.phase() == wanted);
        messages.map(|slot| slot.text()).filter(|text| !text.is_empty()).collect::<Vec<_>>()
    };
    let mut text = texts(Phase::Answer).join(BETWEEN_MESSAGES);
    let leaked = calls.is_empty() && is_leak(&text);
    if leaked {
        text.clear();
    }
    let reasoning = slots.iter().filter(|slot| {
        slot.kind == Kind::Reasoning
            || (slot.kind == Kind::Message && slot.phase() == Phase::Analysis)
    });
    let reasoning: Vec<String> =
        reasoning.map(|slot| slot.text()).filter(|text| !text.is_empty()).collect();
    let mut reasoning = reasoning.join("\n\n");
    let hidden = Some(&reasoning).filter(|_| text.is_empty() && calls.is_empty() && !leaked);
    let hidden = hidden.and_then(|reasoning| Server::of(issuer).answer_in_reasoning(reasoning));
    let was_hidden = hidden.is_some();
    if let Some(found) = hidden {
        (text, reasoning) = found;
    }
    let replay = match leaked {
        true => replay(slots, &[], issuer, Texts::LeftOut),
        false => replay(slots, &calls, issuer, Texts::Kept),
    };
    let finish = match ending {
        Ending::Missing => incomplete(CUT),
        Ending::Incomplete(reason) if reason == "content_filter" => Finish::ContentFilter,
        Ending::Incomplete(reason) => incomplete(reason),
        Ending::Completed if leaked => incomplete(LEAKED),
        Ending::Completed if cut_call => incomplete("a tool call was not finished"),
        Ending::Completed if was_hidden => Finish::Stop,
        Ending::Completed => completed(slots, damaged, &calls),
    };
    let answer = Answer {
        text,
        commentary: texts(Phase::Commentary),
        reasoning: (!reasoning.is_empty()).then_some(reasoning),
        calls,
        finish,
        tokens: None,
        replay,
        response_id: None,
    };
    Assembled { answer, leaked, was_hidden }
}

/// The calls that are whole, each once, and whether there is one that is not.
fn calls(slots: &[&Slot]) -> (Vec<Call>, bool) {
    let mut calls = Vec::new();
    let mut ids = HashSet::new();
    let mut cut = false;
    for (place, slot) in slots.iter().filter(|slot| slot.kind == Kind::Call).enumerate() {
        match slot.call(place) {
            Some((id, tool, arguments)) => {
                if ids.insert(id.clone()) {
                    calls.push(Call { id, tool, arguments });
                }
            }
            None => cut = true,
        }
    }
    (calls, cut)
}

/// The provider says that it has said all. Whether that is so.
fn completed(slots: &[&Slot], damaged: bool, calls: &[Call]) -> Finish {
    let messages = || slots.iter().filter(|slot| slot.kind == Kind::Message);
    if messages().any(|slot| slot.done.is_some() && !slot.is_finished()) {
        return incomplete("a message was not finished");
    }
    if damaged && messages().any(|slot| slot.done.is_none()) {
        return incomplete("a part of the answer could not be read");
    }
    if !calls.is_empty() {
        return Finish::ToolCalls;
    }
    if messages().any(|slot| slot.phase() == Phase::Answer) {
        return Finish::Stop;
    }
    incomplete(match messages().any(|slot| slot.phase() == Phase::Commentary) {
        true => "only commentary came",
        false if slots.iter().any(|slot| slot.kind == Kind::Reasoning) => "only reasoning came",
        false => "the answer is empty",
    })
}

fn incomplete(reason: &str) -> Finish {
    Finish::Incomplete { reason: reason.to_owned() }
}

/// Models that were trained with another format fall back into it now and then: ` to=functions.terminal {…}`.
fn is_leak(text: &str) -> bool {
    text.split("to=functions.").skip(1).any(|behind| {
        behind.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

#[derive(Clone, Copy)]
enum Texts {
    Kept,
    LeftOut,
}

/// What goes back with the next question. Without reasoning and phases the message says all there is.
fn replay(slots: &[&Slot], calls: &[Call], issuer: &str, texts: Texts) -> Option<Replay> {
    let mut places = 0;
    let mut worth = false;
    let mut items = Vec::new();
    for slot in slots {
        match slot.kind {
            Kind::Reasoning => {
                let kept = slot.done.as_ref().and_then(reasoning_item);
                worth |= kept.is_some();
                items.extend(kept);
            }
            Kind::Message if matches!(texts, Texts::LeftOut) => {}
            Kind::Message => {
                let kept = message_item(slot);
                worth |= kept.as_ref().is_some_and(|item| item.get("phase").is_some());
                items.extend(kept);
            }
            Kind::Call => {
                let call = slot.call(places);
                places += 1;
                let known = call.filter(|(id, ..)| calls.iter().any(|call| call.id == *id));
                let item = known.map(|(id, name, arguments)| call_item(&id, &name, &arguments));
                items.extend(item.filter(|item| !items.contains(item)));
            }
            Kind::Other => {}
        }
    }
    worth.then(|| Replay { issuer: issuer.to_owned(), items })
}

fn reasoning_item(item: &Value) -> Option<Value> {
    let content = word_at(item, "/encrypted_content")?;
    if text_at(item, "/id").is_some_and(|id| id.starts_with("rs_tmp_")) {
        return None;
    }
    let summary = item.get("summary").filter(|summary| summary.is_array());
    let summary = summary.cloned().unwrap_or_else(|| json!([]));
    Some(json!({"type": "reasoning", "encrypted_content": content, "summary": summary}))
}

fn message_item(slot: &Slot) -> Option<Value> {
    let text = slot.text();
    if text.is_empty() {
        return None;
    }
    let mut item = text_item(&text);
    let done = slot.done.as_ref();
    for (name, at) in [("id", "/id"), ("phase", "/phase")] {
        let value = done.and_then(|done| word_at(done, at));
        if let (Some(value), Some(fields)) = (value, item.as_object_mut()) {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    Some(item)
}
