//! Text of one item that comes in many pieces at once: they are heard as one.
//!
//! Pieces are nearly all that Codex says. One by one each would be a step of the machine, an update and a write; those that
//! are there at the same time belong together for everybody but whoever wants the lines as they came. Those who only look are
//! told each line as the piece grows.

use ostler_model::thread::{DeltaKind, Said, Signal, What};
use ostler_model::{ItemId, ThreadId, TurnId};

use super::actor::Actor;
use super::{Lines, WireLines};
use crate::peer::Heard;
use crate::protocol::Notification;
use crate::protocol::notification::views::Delta;

/// The text of an item that has come and is not heard yet.
#[derive(Debug)]
pub(super) struct Piece {
    thread: ThreadId,
    turn: Option<TurnId>,
    item: ItemId,
    kind: DeltaKind,
    text: String,
    /// For those who looked when it began.
    lines: Option<Lines>,
}

impl Piece {
    fn new(delta: &Delta<'_>, kind: DeltaKind, lines: Option<Lines>) -> Self {
        Self {
            thread: delta.thread_id.as_ref().into(),
            turn: delta.turn_id.as_deref().map(TurnId::from),
            item: delta.item_id.as_ref().into(),
            kind,
            text: delta.delta.as_ref().to_owned(),
            lines,
        }
    }

    fn tell(&self, line: &[u8]) {
        if let Some(lines) = &self.lines {
            lines.tell(line);
        }
    }

    fn continues_with(&self, delta: &Delta<'_>, kind: DeltaKind) -> bool {
        self.item.as_str() == delta.item_id
            && self.kind == kind
            && self.turn.as_ref().map(TurnId::as_str) == delta.turn_id.as_deref()
            && self.thread.as_str() == delta.thread_id
    }
}

impl Actor {
    /// The usual case is one more piece of the text that came right before.
    pub(super) fn hear_next(&mut self, heard: Heard) {
        match (heard, &mut self.piece) {
            (Heard::Again(again), Some(piece)) => {
                piece.tell(&again.line);
                piece.text.push_str(again.text());
            }
            (heard, _) => self.hear(heard.into()),
        }
    }

    /// False if this is no text that could wait for more of it.
    pub(super) fn add_piece(&mut self, notification: &Notification<'_>, line: &[u8]) -> bool {
        let (delta, kind) = match notification {
            Notification::AgentMessageDelta(delta) => (delta, DeltaKind::Message),
            Notification::CommandOutputDelta(delta) => (delta, DeltaKind::Output),
            _ => return false,
        };
        if let Some(piece) = &mut self.piece
            && piece.continues_with(delta, kind)
        {
            piece.tell(line);
            piece.text.push_str(&delta.delta);
            return true;
        }
        self.hear_piece();
        let lines = match self.lines_of(&delta.thread_id) {
            Some(WireLines::Untold) => None,
            Some(WireLines::Overheard(lines)) => lines.are_heard().then(|| lines.clone()),
            Some(WireLines::Told) | None => return false,
        };
        let piece = self.piece.insert(Piece::new(delta, kind, lines));
        piece.tell(line);
        true
    }

    /// Hears the text that has come.
    pub(super) fn hear_piece(&mut self) {
        let Some(Piece { thread, turn, item, kind, text, .. }) = self.piece.take() else { return };
        self.step(&thread, Signal::Codex(Said { turn, what: What::Delta { item, kind, text } }));
        self.tell_parents(&thread);
    }

    /// Who wants the lines of a thread that is driven.
    fn lines_of(&self, thread: &str) -> Option<&WireLines> {
        let (thread, _) = self.threads.get_key_value(thread)?;
        let root = self.root_of(thread)?;
        Some(&self.threads.get(&root)?.as_root()?.lines)
    }
}
