//! Which turns a task has had, and the order of the steps of the running one.

use std::collections::HashMap;

use ostler_model::{ItemId, Task, TurnId};
use ostler_store::{Store, StoreError};

/// Items that are read at a time: only their ids are kept, and a long turn has thousands.
const PAGE: usize = 64;

#[derive(Debug, Default)]
pub(super) struct TurnNotes {
    turns: u32,
    last: Option<TurnId>,
    began_at: i64,
    /// The steps of the last turn in the order they began.
    items: HashMap<ItemId, u32>,
}

impl TurnNotes {
    pub(super) async fn load(store: &Store, task: &Task) -> Result<Self, StoreError> {
        let turns = store.turns(&task.id).await?;
        let Some(last) = turns.last() else { return Ok(Self::default()) };
        let mut notes = Self {
            turns: last.number,
            last: Some(last.turn.clone()),
            began_at: last.began_at,
            items: HashMap::new(),
        };
        let mut after = 0;
        loop {
            let items = store.items_of_turn(&task.id, &last.turn, after, PAGE).await?;
            let Some(newest) = items.last() else { return Ok(notes) };
            after = newest.place;
            for stored in items {
                notes.items.insert(stored.item.id, stored.number);
            }
        }
    }

    /// The newest turn that we know.
    pub(super) fn last_turn(&self) -> Option<&TurnId> {
        self.last.as_ref()
    }

    /// The number of a turn that begins, or that goes on after a break.
    pub(super) fn began(&mut self, turn: &TurnId, at: i64) -> u32 {
        if self.last.as_ref() != Some(turn) {
            self.turns += 1;
            self.last = Some(turn.clone());
            self.began_at = at;
            self.items.clear();
        }
        self.turns
    }

    pub(super) fn began_at(&self) -> i64 {
        self.began_at
    }

    /// The place of a step among those of its turn.
    pub(super) fn place(&mut self, item: &ItemId) -> u32 {
        let next = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        *self.items.entry(item.clone()).or_insert(next)
    }
}
