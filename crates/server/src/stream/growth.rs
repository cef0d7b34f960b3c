//! Text that grows, for those who come in the middle.
//!
//! It is told the moment it comes and written down a little later, so what the store has and what is told overlap. Whoever begins
//! to follow listens first, waits until what was told before is written, and reads the store; each piece that it has heard meanwhile
//! says where it begins, so only what the store did not have yet is added.

use std::collections::VecDeque;

use ostler_model::task::Partial;
use ostler_model::thread::Update;
use ostler_model::{Event, ItemId};

/// Items that have ended and of which late pieces may still be under way; as many as a viewer can be behind.
const ENDED: usize = 256;

/// The text of each item that has not ended.
#[derive(Debug, Default)]
pub(super) struct Growing(Vec<Partial>);

impl Growing {
    /// The text as the store has it.
    pub(super) fn of(stored: Vec<Partial>) -> Self {
        Self(stored)
    }

    /// Adds what of this piece is not there yet.
    pub(super) fn grow(&mut self, begins: u64, piece: &Partial) {
        let Some(partial) = self.0.iter_mut().find(|partial| is_same(partial, piece)) else {
            return self.0.push(piece.clone());
        };
        let known = (partial.text.len() as u64).saturating_sub(begins);
        let new = usize::try_from(known).ok().and_then(|known| piece.text.get(known..));
        partial.text.push_str(new.unwrap_or_default());
    }

    /// What an event says has ended grows no more.
    pub(super) fn end(&mut self, event: &Event) {
        let Event::Thread { update, .. } = event else { return };
        match &**update {
            Update::ItemEnded { item, .. } => self.0.retain(|partial| partial.item != item.id),
            Update::TurnEnded { result } => self.0.retain(|partial| partial.turn != result.turn),
            _ => {}
        }
    }

    /// In bytes of text.
    pub(super) fn size(&self) -> usize {
        self.0.iter().map(|partial| partial.text.len()).sum()
    }

    pub(super) fn all(&self) -> Vec<Partial> {
        self.0.clone()
    }
}

fn is_same(one: &Partial, other: &Partial) -> bool {
    (&one.turn, &one.item, one.kind) == (&other.turn, &other.item, other.kind)
}

/// What has ended: its text is whole, and pieces of it that come late are none.
#[derive(Debug, Default)]
pub(super) struct Ended(VecDeque<ItemId>);

/// The item whose end this event is.
pub(super) fn ended_item(event: &Event) -> Option<&ItemId> {
    let Event::Thread { update, .. } = event else { return None };
    match &**update {
        Update::ItemEnded { item, .. } => Some(&item.id),
        _ => None,
    }
}

impl Ended {
    pub(super) fn note(&mut self, item: ItemId) {
        self.0.push_back(item);
        if self.0.len() > ENDED {
            self.0.pop_front();
        }
    }

    pub(super) fn has(&self, item: &ItemId) -> bool {
        self.0.contains(item)
    }
}

#[cfg(test)]
mod tests {
    use ostler_model::thread::DeltaKind;

    use super::*;

    fn piece(item: &str, text: &str) -> Partial {
        let kind = DeltaKind::Message;
        Partial { agent: None, turn: "t".into(), item: item.into(), kind, text: text.to_owned() }
    }

    #[test]
    fn nothing_is_missing_and_nothing_is_there_twice_however_much_was_written() {
        // It repeats itself, so only the places tell what is known.
        let told = ["ha ", "ha ", "", "ha ", "ha ha ", "ha"];
        let begins = |count: usize| told[..count].concat().len() as u64;
        // What was told before somebody listened, and how much of what it heard the store has by then.
        for began in 0..told.len() {
            for written in began..=told.len() {
                let stored = vec![piece("a", &told[..written].concat())];
                let mut growing = Growing::of(if written == 0 { Vec::new() } else { stored });
                for (number, text) in told.iter().enumerate().skip(began) {
                    growing.grow(begins(number), &piece("a", text));
                }
                assert_eq!(growing.all(), [piece("a", &told.concat())], "{began} {written}");
            }
        }
    }

    #[test]
    fn items_are_kept_apart() {
        let mut growing = Growing::of(vec![piece("c", "w"), piece("a", "vx")]);
        for (begins, heard) in [(1, piece("a", "x")), (0, piece("b", "y")), (2, piece("a", "z"))] {
            growing.grow(begins, &heard);
        }
        growing.grow(1, &piece("b", "!"));
        assert_eq!(growing.all(), [piece("c", "w"), piece("a", "vxz"), piece("b", "y!")]);
    }
}
