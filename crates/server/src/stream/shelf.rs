//! What of a task's stream is large is there once, and not once for each who looks.
//!
//! An answer may have megabytes, and hundreds may come to see it at the same moment. So one of them reads at a time, and what is
//! large stays here for a while: the next finds it instead of reading it too.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use ostler_model::ItemId;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::frame::Frame;

/// What is larger is not written out for each viewer, nor kept for all who are behind.
const LARGE_BYTES: usize = 32 * 1024;

/// Of the large events the last are kept, and the newest in any case; whoever is further behind reads the store.
const KEPT_BYTES: usize = 8 << 20;

/// An event as viewers are told it.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) seq: u64,
    pub(super) frame: Frame,
    /// The item whose end it is.
    pub(super) ended: Option<ItemId>,
}

/// One per task, for as long as anybody looks.
#[derive(Debug)]
pub(super) struct Shelf {
    readers: Semaphore,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Written>,
    /// How the task stands.
    now: Option<Frame>,
}

impl Default for Shelf {
    fn default() -> Self {
        Self { readers: Semaphore::new(1), kept: Mutex::default() }
    }
}

impl Shelf {
    /// Whose turn it is to read. It is never closed, and whoever had no turn would only read what another reads too.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.readers.acquire().await.ok()
    }

    pub(super) fn event(&self, seq: u64) -> Option<Written> {
        self.with(|kept| kept.events.iter().find(|written| written.seq == seq).cloned())
    }

    /// Keeps an event if it is large. False if it is not.
    pub(super) fn keep(&self, written: &Written) -> bool {
        let is_large = is_large(&written.frame);
        if is_large {
            self.with(|kept| kept.keep(written.clone()));
        }
        is_large
    }

    /// The same words, there once.
    pub(super) fn now(&self, frame: Frame) -> Frame {
        if !is_large(&frame) {
            return frame;
        }
        self.with(|kept| match &kept.now {
            Some(known) if *known == frame => known.clone(),
            _ => kept.now.insert(frame).clone(),
        })
    }

    fn with<T>(&self, deed: impl FnOnce(&mut Kept) -> T) -> T {
        deed(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn keep(&mut self, written: Written) {
        if self.events.iter().any(|known| known.seq == written.seq) {
            return;
        }
        self.events.push_back(written);
        let mut bytes: usize = self.events.iter().map(|known| known.frame.size()).sum();
        while bytes > KEPT_BYTES && self.events.len() > 1 {
            bytes -= self.events.pop_front().map_or(0, |known| known.frame.size());
        }
    }
}

pub(super) fn is_large(frame: &Frame) -> bool {
    is_much(frame.size())
}

pub(super) fn is_much(bytes: usize) -> bool {
    bytes > LARGE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(seq: u64, bytes: usize) -> Written {
        Written { seq, frame: Frame::new("event", &"x".repeat(bytes)), ended: None }
    }

    #[test]
    fn the_last_of_the_large_ones_are_kept_and_the_newest_in_any_case() {
        let shelf = Shelf::default();
        assert!(!shelf.keep(&written(1, 10)));
        assert!(shelf.event(1).is_none());
        for seq in 2..=4 {
            assert!(shelf.keep(&written(seq, KEPT_BYTES / 3)));
        }
        assert!(shelf.event(2).is_none() && shelf.event(3).is_some());
        assert!(shelf.keep(&written(5, KEPT_BYTES * 2)));
        assert!(shelf.event(4).is_none() && shelf.event(5).is_some());
    }

    #[test]
    fn the_same_words_are_there_once() {
        let shelf = Shelf::default();
        let frame = |text: &str| Frame::new("now", &text.repeat(LARGE_BYTES));
        let first = shelf.now(frame("a"));
        assert!(shelf.now(frame("a")).is_shared_with(&first));
        let other = shelf.now(frame("b"));
        assert_eq!(other, frame("b"));
        assert!(shelf.now(frame("b")).is_shared_with(&other));
    }
}
