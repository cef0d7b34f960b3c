//! What nobody waits for, while the disk takes nothing: kept to a bound, then counted.

use std::collections::BTreeMap;

use ostler_model::TaskId;

use crate::Write;
use crate::job::{Ready, Writing};

pub(crate) struct Spool {
    writings: Vec<Writing>,
    bytes: usize,
    most_bytes: usize,
    lost: BTreeMap<TaskId, Lost>,
    /// Since the store was opened.
    lost_in_all: u64,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Lost {
    pub(crate) events: u64,
    /// When the last of them happened.
    pub(crate) at: i64,
}

impl Spool {
    pub(super) fn new(most_bytes: usize) -> Self {
        let (writings, lost) = (Vec::new(), BTreeMap::new());
        Self { writings, bytes: 0, most_bytes, lost, lost_in_all: 0 }
    }

    /// Nothing is kept, and nothing is to be told.
    pub(super) fn is_empty(&self) -> bool {
        self.writings.is_empty() && self.lost.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn lost_in_all(&self) -> u64 {
        self.lost_in_all
    }

    /// Once something was lost, nothing later is kept either: the mark of the loss stands at one place of the log.
    pub(super) fn keep(&mut self, mut writing: Writing) {
        let bytes = self.bytes.saturating_add(writing.bytes);
        if bytes > self.most_bytes || !self.lost.is_empty() {
            return self.lose(&writing);
        }
        self.bytes = bytes;
        // The queue is free for others: Codex must not stand still because our disk is full.
        writing.room = None;
        self.writings.push(writing);
    }

    pub(super) fn take(&mut self) -> Vec<Writing> {
        self.bytes = 0;
        std::mem::take(&mut self.writings)
    }

    /// The disk did not take them this time either.
    pub(super) fn put_back(&mut self, writings: Vec<Writing>) {
        self.bytes = writings.iter().map(|writing| writing.bytes).sum();
        self.writings = writings;
    }

    pub(super) fn lost(&self) -> impl Iterator<Item = (&TaskId, &Lost)> {
        self.lost.iter()
    }

    /// The logs say it now.
    pub(super) fn forget_lost(&mut self) {
        self.lost.clear();
    }

    fn lose(&mut self, writing: &Writing) {
        for write in &writing.writes {
            let (task, at, events) = match write {
                Ready::Event { task, at, .. } | Ready::Plain(Write::Event { task, at, .. }) => {
                    (task, *at, 1)
                }
                Ready::Item { .. } | Ready::Plain(_) => continue,
            };
            let lost = self.lost.entry(task.clone()).or_default();
            lost.events += events;
            lost.at = lost.at.max(at);
            self.lost_in_all += events;
        }
    }
}
