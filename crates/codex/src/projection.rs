//! Projection: the items of a turn as chat messages, for hosts that keep a conversation in that shape.
//!
//! | item | messages | call id |
//! |---|---|---|
//! | user message | `user`, unless the host has it already | |
//! | agent message | `assistant` | |
//! | reasoning | none; it becomes `reasoning` of the next assistant message | |
//! | command | `assistant` calling `exec_command` + `tool` with the output | `codex_exec_<item>` |
//! | file change | `apply_patch` + what changed, file by file | `codex_apply_patch_<item>` |
//! | MCP tool call | `mcp.<server>.<tool>` + its result | `codex_mcp__<server>__<tool>_<item>` |
//! | tool of ours | `<tool>` + its result | `codex_dyn_<tool>_<item>` |
//! | any other | `assistant` saying in a sentence what happened | |
//!
//! What always holds: two neighbours never have the same role; a tool message stands right behind the assistant message
//! that carries its call; arguments are JSON with sorted keys; the same items give the same bytes, all at once or one by
//! one. Texts that follow one another are joined by a blank line, and a call joins the text before it, so a message is
//! handed out only when nothing can join it any more.
//!
//! Every call id ends in a mark of its turn, because Codex reuses item ids: models count their calls anew in each turn
//! (`call_1`), and a thread that is read again by an old version numbers its items from `item-1`.

mod call_id;
mod cut;
mod json;
mod parts;
mod preview;
mod seam;
mod sentence;
mod tool;

use std::collections::BTreeSet;

use ostler_model::item::{ItemEnd, UserMessage};
use ostler_model::{InputId, Item, ItemBody, Message, TurnId};
use sha2::{Digest, Sha256};

use call_id::CallIds;
use parts::Part;
use seam::Seam;

pub use preview::{Preview, preview};

/// Inputs that the host has in its history already, so that Codex's echo of them is left out.
///
/// One that is not here is kept: it was steered in, or typed by someone else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownInputs {
    pub ids: BTreeSet<InputId>,
    /// The text that the turn was started with. It counts only for an echo without an id (Codex before 0.142.5, or a
    /// client that gave none), and only for the first user message of the turn.
    pub prompt: Option<String>,
}

/// Turns the items of a turn, as they end, into messages.
#[derive(Debug)]
pub struct Projector {
    known: KnownInputs,
    call_ids: CallIds,
    seam: Seam,
    /// What was pushed in this turn, so that an item told twice is projected once.
    seen: BTreeSet<[u8; 32]>,
    user_messages: usize,
    /// Codex repeats the findings of a review as an agent message.
    review: Option<String>,
}

/// The messages of a whole turn at once.
pub fn project_turn<'a>(
    turn: &TurnId,
    known: KnownInputs,
    items: impl IntoIterator<Item = &'a (Item, ItemEnd)>,
) -> Vec<Message> {
    let mut projector = Projector::new(turn, known);
    let mut messages = Vec::new();
    for (item, end) in items {
        messages.extend(projector.push(item, *end));
    }
    messages.extend(projector.finish());
    messages
}

/// The messages of a whole thread at once; roles alternate across its turns too.
pub fn project_thread<'a>(
    turns: impl IntoIterator<Item = (&'a TurnId, &'a [(Item, ItemEnd)])>,
) -> Vec<Message> {
    let mut turns = turns.into_iter();
    let Some((first, items)) = turns.next() else { return Vec::new() };
    let mut projector = Projector::new(first, KnownInputs::default());
    let mut messages = Vec::new();
    let mut push = |projector: &mut Projector, items: &[(Item, ItemEnd)]| {
        for (item, end) in items {
            messages.extend(projector.push(item, *end));
        }
    };
    push(&mut projector, items);
    for (turn, items) in turns {
        projector.next_turn(turn);
        push(&mut projector, items);
    }
    messages.extend(projector.finish());
    messages
}

impl Projector {
    pub fn new(turn: &TurnId, known: KnownInputs) -> Self {
        Self {
            known,
            call_ids: CallIds::of_turn(turn),
            seam: Seam::default(),
            seen: BTreeSet::new(),
            user_messages: 0,
            review: None,
        }
    }

    /// Takes an item that is over. Returns the messages that can no longer change, in order.
    pub fn push(&mut self, item: &Item, end: ItemEnd) -> Vec<Message> {
        if end != ItemEnd::Superseded && self.is_new(item) && !self.is_repetition(item, end) {
            match parts::part(item, end) {
                Part::Nothing => {}
                Part::User(text) => self.seam.user(text),
                Part::Said(text) => self.seam.said(text),
                Part::Note(text) => self.seam.note(text),
                Part::Thought(text) => self.seam.thought(text),
                Part::Call(call) => {
                    let id = self.call_ids.next(&call.stem, &item.id);
                    self.seam.call(id, call);
                }
            }
        }
        self.seam.ready()
    }

    /// Goes on with the next turn of the same thread, of which the host has nothing yet. What both turns said in a row
    /// is joined. A host that puts its own messages between turns takes a new projector for each instead.
    pub fn next_turn(&mut self, turn: &TurnId) {
        self.seam.end_turn();
        self.call_ids = CallIds::of_turn(turn);
        self.seen.clear();
        self.user_messages = 0;
        self.review = None;
        self.known.prompt = None;
    }

    /// The messages that were still open.
    pub fn finish(mut self) -> Vec<Message> {
        self.seam.end_turn();
        self.seam.finish()
    }

    /// An item without an id cannot be told twice. One id on two different items makes two items: a review begins and
    /// ends under one id on Codex before 0.166, and a model may give two calls one id.
    fn is_new(&mut self, item: &Item) -> bool {
        if item.id.as_str().is_empty() {
            return true;
        }
        // Reading our own types as JSON cannot fail; if it did, the item must not be lost.
        serde_json::to_vec(item).map_or(true, |json| self.seen.insert(Sha256::digest(json).into()))
    }

    fn is_repetition(&mut self, item: &Item, end: ItemEnd) -> bool {
        match &item.body {
            ItemBody::UserMessage(message) => self.is_known(message),
            ItemBody::ReviewEnded { review } => {
                self.review = Some(review.clone());
                false
            }
            ItemBody::AgentMessage(message) => {
                let empty = end == ItemEnd::Interrupted && message.text.is_empty();
                empty || self.review.take_if(|review| *review == message.text).is_some()
            }
            _ => false,
        }
    }

    fn is_known(&mut self, message: &UserMessage) -> bool {
        self.user_messages += 1;
        match &message.input {
            Some(input) => self.known.ids.contains(input),
            None => self.user_messages == 1 && self.known.prompt.as_deref() == Some(&message.text),
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
