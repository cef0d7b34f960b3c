//! Updates on their way to watchers. Nothing is dropped while somebody reads now and then: what does not fit waits here, and
//! Codex waits with it. A watcher that takes nothing for longer than its patience allows is let go, so that it cannot
//! hold up the other threads for ever.

use std::collections::VecDeque;
use std::time::Duration;

use ostler_model::ThreadId;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, timeout_at};

use crate::thread::{Notice, ThreadUpdate, Told};

/// Whoever reads the updates of a thread.
#[derive(Debug)]
pub(super) struct Watcher {
    updates: Option<mpsc::Sender<ThreadUpdate>>,
    /// A place in the queue that is kept for the last word.
    last_word: Option<mpsc::OwnedPermit<ThreadUpdate>>,
    patience: Duration,
}

impl Watcher {
    pub(super) fn new(updates: mpsc::Sender<ThreadUpdate>, patience: Duration) -> Self {
        let last_word = updates.clone().try_reserve_owned().ok();
        Self { updates: Some(updates), last_word, patience }
    }

    /// It learns that there is more than it read.
    pub(super) fn let_go(&mut self, thread: &ThreadId) {
        self.updates = None;
        if let Some(place) = self.last_word.take() {
            let what = Told::Notice(Notice::LeftBehind);
            place.send(ThreadUpdate { thread: thread.clone(), agent: None, what, asked: None });
        }
    }
}

/// The updates that did not fit into their watcher's queue, oldest first.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Waiting>,
    /// When the oldest one began to be the oldest.
    since: Option<Instant>,
}

#[derive(Debug)]
struct Waiting {
    to: mpsc::Sender<ThreadUpdate>,
    update: ThreadUpdate,
    patience: Duration,
}

/// What became of the oldest update.
#[derive(Debug)]
pub(super) enum Delivery {
    Made,
    /// The watcher of this thread took nothing for too long.
    Overdue(ThreadId),
}

impl Outbox {
    /// While something waits, no further events are read from Codex.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn post(&mut self, to: &Watcher, update: ThreadUpdate) {
        let Some(updates) = &to.updates else { return };
        let patience = to.patience;
        let waits = |update| Waiting { to: updates.clone(), update, patience };
        if !self.waiting.is_empty() {
            return self.waiting.push_back(waits(update));
        }
        match updates.try_send(update) {
            // A watcher that has gone does not want to know.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(update)) => {
                self.since = Some(Instant::now());
                self.waiting.push_back(waits(update));
            }
        }
    }

    /// Waits until the oldest one has found its place, or is overdue. Safe to drop at any point.
    pub(super) async fn deliver(&mut self) -> Delivery {
        let Some(first) = self.waiting.front() else {
            return std::future::pending().await;
        };
        let until = *self.since.get_or_insert_with(Instant::now) + first.patience;
        // The place is taken first, so that a drop in between loses nothing.
        let Ok(place) = timeout_at(until, first.to.clone().reserve_owned()).await else {
            return Delivery::Overdue(first.update.thread.clone());
        };
        self.since = None;
        if let Some(Waiting { update, .. }) = self.waiting.pop_front()
            && let Ok(place) = place
        {
            place.send(update);
        }
        Delivery::Made
    }

    /// Forgets what waits for a thread that nobody watches any more.
    pub(super) fn forget(&mut self, thread: &ThreadId) {
        self.waiting.retain(|waiting| waiting.update.thread != *thread);
        self.since = None;
    }
}
