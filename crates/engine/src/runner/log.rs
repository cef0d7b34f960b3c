//! What is to be written next, gathered until it is worth a commit.

use std::collections::VecDeque;

use ostler_model::task::Partial;
use ostler_model::{Event, TaskId};
use ostler_store::{Batch, Write};

/// Text waits for company up to this size.
const CHUNK: usize = 64 * 1024;

/// What may wait in memory while nothing can be written. A turn of an hour's work has about as much.
const MOST_SPOOLED: usize = 32 * 1024 * 1024;

/// Writes of one task, in order.
#[derive(Debug)]
pub(crate) struct Log {
    task: TaskId,
    writes: Vec<Write>,
    grown: VecDeque<Partial>,
    /// About how much memory all this takes.
    size: usize,
    /// Events that had to be dropped because nothing could be written.
    lost: u64,
}

impl Log {
    pub(crate) fn new(task: TaskId) -> Self {
        Self { task, writes: Vec::new(), grown: VecDeque::new(), size: 0, lost: 0 }
    }

    pub(crate) fn push(&mut self, write: Write) {
        self.writes.push(write);
    }

    pub(crate) fn event(&mut self, at: i64, event: Event) {
        // A guess: most of an event is the text in it, which the items bound.
        self.size += 512;
        self.writes.push(Write::Event { task: self.task.clone(), at, event: Box::new(event) });
    }

    /// Text that has grown. Pieces of the same item become one.
    pub(crate) fn grown(&mut self, partial: &Partial) {
        if self.is_full() {
            self.lost += 1;
            return;
        }
        self.size += partial.text.len();
        match self.grown.back_mut().filter(|last| is_same(last, partial)) {
            Some(last) => last.text.push_str(&partial.text),
            None => self.grown.push_back(partial.clone()),
        }
    }

    /// What ended needs no pieces any more that are not yet written.
    pub(crate) fn ended(&mut self, partial_of: &ostler_model::ItemId) {
        self.grown.retain(|grown| grown.item != *partial_of);
    }

    /// Whether it is better to write now than to wait for more.
    pub(crate) fn is_worth_writing(&self) -> bool {
        !self.writes.is_empty() || self.size >= CHUNK
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.grown.is_empty()
    }

    /// Only text that grows: no event, nothing that something follows from.
    pub(crate) fn only_streams(&self) -> bool {
        self.writes.is_empty() && self.lost == 0
    }

    fn is_full(&self) -> bool {
        self.size >= MOST_SPOOLED
    }

    /// All of it, as one batch.
    pub(crate) fn take(&mut self, at: i64) -> Batch {
        let mut writes = std::mem::take(&mut self.writes);
        if self.lost > 0 {
            let events = std::mem::take(&mut self.lost);
            let why = "the store could not be written for long".to_owned();
            let event = Box::new(Event::Lost { events, why });
            writes.push(Write::Event { task: self.task.clone(), at, event });
        }
        for partial in std::mem::take(&mut self.grown) {
            writes.push(Write::Partial { task: self.task.clone(), partial });
        }
        self.size = 0;
        Batch::from(writes)
    }

    /// Puts back what could not be written, before what has come since.
    pub(crate) fn put_back(&mut self, batch: Batch) {
        let since = std::mem::take(&mut self.writes);
        self.size += batch.0.len() * 512;
        self.writes = batch.0;
        self.writes.extend(since);
    }
}

fn is_same(last: &Partial, next: &Partial) -> bool {
    last.item == next.item
        && last.kind == next.kind
        && last.turn == next.turn
        && last.agent == next.agent
}
