//! How the items of a turn begin, grow and end.

use std::mem::discriminant;

use super::effect::{Effect, StrayReason, Update};
use super::machine::Machine;
use super::signal::{DeltaKind, What};
use super::turns::Turn;
use crate::ask::FileDiff;
use crate::failure::Failure;
use crate::id::{ItemId, TurnId};
use crate::item::{AgentMessage, Item, ItemBody, ItemEnd, MessagePhase, Outcome, ToolPlace};
use crate::moment::Moment;

/// An item that has begun, with the text that came in pieces.
#[derive(Debug, Clone)]
pub(super) struct OpenItem {
    pub(super) item: Item,
    text: String,
}

impl OpenItem {
    /// One of which only the end is known.
    pub(super) fn told(item: Item) -> Self {
        Self { item, text: String::new() }
    }
}

/// Old versions ended a turn by a message that begins so.
const ABORTED: &str = "<turn_aborted";

impl Machine {
    pub(super) fn item_started(
        &mut self,
        now: Moment,
        id: Option<TurnId>,
        item: Item,
        out: &mut Vec<Effect>,
    ) {
        if let Err(why) = self.file(now, id.as_ref(), out) {
            return out.push(stray_item(why, id, item));
        }
        let Some(turn) = self.turn.as_mut() else { return };
        // An item without an id cannot be told twice.
        let is_named = !item.id.as_str().is_empty();
        let is_open = turn.open.iter().any(|open| open.item.id == item.id);
        if is_named && (is_open || turn.has_ended(&item)) {
            return out.push(stray_item(StrayReason::Duplicate, id, item));
        }
        if matches!(item.body, ItemBody::AgentMessage(_)) {
            // Messages come one after the other: one that is still open was cut off by a steer or a retry.
            turn.supersede(|body| matches!(body, ItemBody::AgentMessage(_)), out);
        }
        turn.retrying = None;
        turn.note_answer(&item.body);
        let update = Update::ItemBegan { turn: turn.id.clone(), item: item.clone() };
        out.push(Effect::Tell(update));
        turn.open.push(OpenItem { item, text: String::new() });
    }

    pub(super) fn item_completed(
        &mut self,
        now: Moment,
        id: Option<TurnId>,
        mut item: Item,
        out: &mut Vec<Effect>,
    ) {
        if let Err(why) = self.file(now, id.as_ref(), out) {
            self.echoed_late(id.as_ref(), &item, out);
            return out.push(stray_item(why, id, item));
        }
        self.name_sender(&mut item);
        let Some(turn) = self.turn.as_mut() else { return };
        if !item.id.as_str().is_empty() && turn.has_ended(&item) {
            return out.push(stray_item(StrayReason::Duplicate, id, item));
        }
        turn.retrying = None;
        if matches!(item.body, ItemBody::AgentMessage(_)) {
            turn.note_answer(&item.body);
        }
        turn.note_words(now, &item.body);
        let at = turn.open.iter().position(|open| open.item.id == item.id);
        let text = at.map(|at| turn.open.remove(at).text).unwrap_or_default();
        let echo = match &item.body {
            ItemBody::UserMessage(message) => Some(message.clone()),
            _ => None,
        };
        let turn_id = turn.id.clone();
        turn.close(OpenItem { item, text }, ItemEnd::Reported, out);
        if let Some(message) = echo {
            self.echoed(&turn_id, &message, out);
        }
        self.finish_if_settled(now, out);
    }

    /// A step that ended while nobody listened, unless Codex has told it by itself since.
    pub(super) fn missed(&mut self, now: Moment, turn: TurnId, item: Item, out: &mut Vec<Effect>) {
        if self.is_ahead(&item) {
            return;
        }
        if let Some(current) = self.turn.as_mut().filter(|current| current.is(&turn)) {
            current.note_unseen(&item);
        }
        self.item_completed(now, Some(turn), item, out);
    }

    /// Whether the end of this item is among what was said before the answer to the opening. Up to 0.142.5 what Codex
    /// lists has other ids than what it says.
    pub(super) fn is_ahead(&self, item: &Item) -> bool {
        self.ahead.iter().any(|said| match &said.what {
            What::ItemCompleted(said) => said.id == item.id || said.body == item.body,
            _ => false,
        })
    }

    pub(super) fn delta(
        &mut self,
        now: Moment,
        id: Option<TurnId>,
        item: ItemId,
        kind: DeltaKind,
        text: String,
        out: &mut Vec<Effect>,
    ) {
        let Some(turn) = self.current(now, id.as_ref(), out) else { return };
        if turn.ended.contains_key(&item) {
            return out.push(super::turns::stray(StrayReason::Duplicate, id));
        }
        turn.retrying = None;
        turn.unanswered.clear();
        if kind == DeltaKind::Message {
            match turn.open.iter_mut().find(|open| open.item.id == item) {
                Some(open) => open.text.push_str(&text),
                // We joined in the middle of it.
                None => turn.open.push(OpenItem {
                    item: Item {
                        id: item.clone(),
                        body: ItemBody::AgentMessage(AgentMessage::default()),
                    },
                    text: text.clone(),
                }),
            }
        }
        out.push(Effect::Tell(Update::Delta { turn: turn.id.clone(), item, kind, text }));
    }

    /// The diff of a change that waits for an approval.
    pub(super) fn files(&mut self, id: Option<&TurnId>, item: &ItemId, files: Vec<FileDiff>) {
        let Some(turn) = self.turn.as_mut() else { return };
        let ours = id.is_none_or(|id| turn.is(id));
        let open = turn.open.iter_mut().find(|open| ours && open.item.id == *item);
        if let Some(OpenItem { item: Item { body: ItemBody::FileChange(change), .. }, .. }) = open {
            change.files = files;
        }
    }

    pub(super) fn known_files(&self, item: &ItemId) -> Option<&[FileDiff]> {
        let open = self.turn.as_ref()?.open.iter().find(|open| open.item.id == *item)?;
        match &open.item.body {
            ItemBody::FileChange(change) => Some(&change.files),
            _ => None,
        }
    }

    /// The call of this MCP server that is under way, if it is the only one: the question whether a tool may be called
    /// does not name the call (0.130.0 to 0.166.0).
    pub(super) fn open_call_of(&self, server: &str) -> Option<&ItemId> {
        let open = self.turn.iter().flat_map(|turn| &turn.open);
        let mut calls = open.filter(|open| match &open.item.body {
            ItemBody::ToolCall(call) => {
                matches!(&call.place, ToolPlace::Mcp { server: place } if place == server)
            }
            _ => false,
        });
        let only = calls.next()?;
        calls.next().is_none().then_some(&only.item.id)
    }

    pub(super) fn diff(
        &mut self,
        now: Moment,
        id: Option<&TurnId>,
        diff: String,
        out: &mut Vec<Effect>,
    ) {
        let Some(turn) = self.current(now, id, out) else { return };
        // It is of the whole turn, whoever listened before.
        turn.unseen_changes = false;
        // Codex repeats the whole diff several times per patch.
        if turn.diff.as_ref() != Some(&diff) {
            turn.diff = Some(diff.clone());
            out.push(Effect::Tell(Update::Diff { turn: turn.id.clone(), diff }));
        }
    }

    pub(super) fn compacted(&mut self, now: Moment, id: Option<&TurnId>, out: &mut Vec<Effect>) {
        let Some(turn) = self.current(now, id, out) else { return };
        turn.note_compaction(out);
    }

    pub(super) fn failing(
        &mut self,
        now: Moment,
        id: Option<&TurnId>,
        failure: Failure,
        will_retry: bool,
        out: &mut Vec<Effect>,
    ) {
        if !will_retry && self.turn.is_none() {
            return self.refuse_unbegun(id, failure, out);
        }
        let Some(turn) = self.current(now, id, out) else { return };
        if !will_retry {
            turn.given_up = Some(failure);
            return;
        }
        turn.retries += 1;
        // The answer that broke off is asked for again from its start; what came of it never completes.
        let is_cut = |body: &ItemBody| {
            matches!(
                body,
                ItemBody::AgentMessage(_) | ItemBody::Reasoning(_) | ItemBody::Plan { .. }
            )
        };
        turn.supersede(is_cut, out);
        let since = turn.retrying.as_ref().map_or(now, |(since, _)| *since);
        turn.retrying = Some((since, failure.clone()));
        out.push(Effect::Tell(Update::Retrying {
            turn: turn.id.clone(),
            failure,
            attempt: turn.retries,
            for_ms: u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX),
        }));
    }
}

impl Turn {
    /// Up to 0.142.5 the beginning and the end of a review have one id, and are two items all the same.
    fn has_ended(&self, item: &Item) -> bool {
        self.ended.get(&item.id) == Some(&discriminant(&item.body))
    }

    /// A step that ended while nobody listened.
    pub(super) fn note_unseen(&mut self, item: &Item) {
        if let ItemBody::FileChange(change) = &item.body {
            self.unseen_changes |= change.outcome == Outcome::Succeeded;
        }
    }

    /// The model has gone on behind the inputs so far.
    pub(super) fn note_answer(&mut self, body: &ItemBody) {
        if !matches!(body, ItemBody::UserMessage(_)) {
            self.unanswered.clear();
        }
    }

    /// Old versions end a turn by words.
    pub(super) fn note_words(&mut self, now: Moment, body: &ItemBody) {
        match body {
            ItemBody::AgentMessage(message) if message.text.trim_start().starts_with(ABORTED) => {
                self.marked_aborted = Some(now);
            }
            _ => {}
        }
    }

    /// A piece of the text of an item that has begun.
    pub(super) fn grow(&mut self, item: &ItemId, piece: &str) {
        if let Some(open) = self.open.iter_mut().find(|open| open.item.id == *item) {
            open.text.push_str(piece);
        }
    }

    /// Ends an item and takes from it what the result of the turn needs.
    pub(super) fn close(&mut self, open: OpenItem, how: ItemEnd, out: &mut Vec<Effect>) {
        let OpenItem { mut item, text } = open;
        if let ItemBody::AgentMessage(message) = &mut item.body
            && message.text.is_empty()
        {
            message.text = text;
        }
        if how == ItemEnd::Interrupted
            && let Some(outcome) = item.outcome_mut()
        {
            *outcome = Outcome::Interrupted;
        }
        self.ended.insert(item.id.clone(), discriminant(&item.body));
        self.count(&item, how, out);
        out.push(Effect::Tell(Update::ItemEnded { turn: self.id.clone(), item, how }));
    }

    fn count(&mut self, item: &Item, how: ItemEnd, out: &mut Vec<Effect>) {
        if how == ItemEnd::Superseded {
            return;
        }
        self.tool_iterations += u32::from(item.is_tool());
        match &item.body {
            ItemBody::AgentMessage(message) if !message.text.is_empty() => match message.phase {
                MessagePhase::FinalAnswer => self.answer = Some(message.text.clone()),
                MessagePhase::Unmarked => self.unmarked_answer = Some(message.text.clone()),
                MessagePhase::Commentary | MessagePhase::PartialAnswer => {}
            },
            // One that was cut off has changed nothing.
            ItemBody::Compaction if how == ItemEnd::Reported => self.note_compaction(out),
            _ => {}
        }
    }

    /// Codex tells a compaction as an item, as a notification, or as both.
    fn note_compaction(&mut self, out: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.compacted, true) {
            out.push(Effect::Tell(Update::Compacted { turn: self.id.clone() }));
        }
    }

    fn supersede(&mut self, which: impl Fn(&ItemBody) -> bool, out: &mut Vec<Effect>) {
        let open = std::mem::take(&mut self.open).into_iter();
        let (cut, kept): (Vec<_>, _) = open.partition(|open| which(&open.item.body));
        self.open = kept;
        for open in cut {
            self.close(open, ItemEnd::Superseded, out);
        }
    }
}

fn stray_item(why: StrayReason, turn: Option<TurnId>, item: Item) -> Effect {
    Effect::Tell(Update::Stray { why, turn, item: Some(item) })
}
