//! The items of an answer that is on its way. Events may come twice, out of order, and without their ids.

use serde_json::Value;

use super::super::reading::{number_at, text_at, word_at};
use super::ids;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    /// A function, or a custom tool, which takes free text.
    Call,
    /// A tool that the provider runs by itself, and what else there may be.
    Other,
}

/// What a message is for, where the model says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Answer,
    Commentary,
    /// Reasoning in the clothes of a message.
    Analysis,
}

#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) kind: Kind,
    id: Option<String>,
    place: Option<u64>,
    phase: Option<Phase>,
    /// What the deltas have said: text, reasoning, or a call's arguments.
    pub(super) streamed: String,
    /// The item as `response.output_item.done` has it.
    pub(super) done: Option<Value>,
    /// Whether a surface has been told any of it.
    pub(super) told: bool,
}

#[derive(Debug, Default)]
pub(super) struct Items {
    slots: Vec<Slot>,
}

impl Kind {
    pub(super) fn of(item: &Value) -> Self {
        match text_at(item, "/type").unwrap_or_default() {
            "message" => Self::Message,
            "reasoning" => Self::Reasoning,
            "function_call" | "custom_tool_call" => Self::Call,
            _ => Self::Other,
        }
    }
}

impl Slot {
    pub(super) fn phase(&self) -> Phase {
        self.phase.unwrap_or(Phase::Answer)
    }

    pub(super) fn note(&mut self, item: &Value) {
        self.phase = match text_at(item, "/phase") {
            Some("commentary") => Some(Phase::Commentary),
            Some("analysis") => Some(Phase::Analysis),
            Some(_) => Some(Phase::Answer),
            None => self.phase,
        };
        self.id = word_at(item, "/id").map(str::to_owned).or(self.id.take());
    }

    /// The text of a message or of reasoning: as the item has it, else as the deltas have said it.
    pub(super) fn text(&self) -> String {
        let done = self.done.as_ref().and_then(|item| match self.kind {
            Kind::Reasoning => {
                joined(item, "summary", "\n\n").or_else(|| joined(item, "content", "\n\n"))
            }
            _ => joined(item, "content", ""),
        });
        done.unwrap_or_else(|| self.streamed.clone())
    }

    /// The call's name, arguments and id, if it is whole. One whose end never came is not, whatever its deltas say.
    pub(super) fn call(&self, place: usize) -> Option<(String, String, String)> {
        let item = self.done.as_ref()?;
        if !self.is_finished() {
            return None;
        }
        let name = word_at(item, "/name")?.to_owned();
        let written = ["arguments", "input"].into_iter().find_map(|field| item.get(field));
        let arguments = match written {
            Some(Value::String(text)) if !text.is_empty() => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => self.streamed.clone(),
        };
        let id = match word_at(item, "/call_id") {
            Some(id) => ids::call_id(id),
            None => {
                let id = self.id.as_deref().unwrap_or_default();
                ids::derived_call_id(id, &name, &arguments, place)
            }
        };
        Some((id, name, arguments))
    }

    /// Done, and not cut. An item without a status is as good as its end.
    pub(super) fn is_finished(&self) -> bool {
        let status = self.done.as_ref().map(|item| text_at(item, "/status"));
        matches!(status, Some(None | Some("completed")))
    }

    fn is(&self, id: Option<&str>) -> bool {
        id.is_some() && self.id.as_deref() == id
    }
}

impl Items {
    /// The slot that an event is about; a new one if none is. `at` is the event, `id` the item's id as it names it.
    pub(super) fn slot(&mut self, kind: Kind, at: &Value, id: Option<&str>) -> Option<&mut Slot> {
        let place = number_at(at, "/output_index");
        let open = |slot: &Slot| slot.done.is_none() && slot.kind == kind;
        let slots = &self.slots;
        let known = slots
            .iter()
            .position(|slot| slot.is(id))
            // Some servers give an item a new id in each event; its place stays.
            .or_else(|| {
                let same = |slot: &Slot| place.is_some() && slot.place == place;
                slots.iter().position(|slot| same(slot) && (open(slot) || id.is_none()))
            })
            .or_else(|| {
                let nameless = id.is_none() && place.is_none();
                slots.iter().rposition(|slot| nameless && open(slot))
            });
        let known = known.unwrap_or_else(|| {
            self.slots.push(Slot {
                kind,
                id: id.map(str::to_owned),
                place,
                phase: None,
                streamed: String::new(),
                done: None,
                told: false,
            });
            self.slots.len() - 1
        });
        self.slots.get_mut(known)
    }

    /// In the order of the answer, not of arrival.
    pub(super) fn in_order(&self) -> Vec<&Slot> {
        let mut slots: Vec<&Slot> = self.slots.iter().collect();
        slots.sort_by_key(|slot| slot.place.unwrap_or(u64::MAX));
        slots
    }
}

/// The texts of an item's parts; a refusal is a text, too. None if the item has no such parts.
fn joined(item: &Value, field: &str, between: &str) -> Option<String> {
    let parts = item.get(field)?.as_array()?;
    let text = |part| text_at(part, "/text").or_else(|| text_at(part, "/refusal"));
    let texts: Vec<&str> = parts.iter().filter_map(text).collect();
    (!texts.is_empty()).then(|| texts.join(between))
}
