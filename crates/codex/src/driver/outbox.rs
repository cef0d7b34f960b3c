//! Updates on their way to watchers. Nothing is dropped: what does not fit waits here, and Codex waits with it.

use std::collections::VecDeque;

use ostler_model::ThreadId;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::thread::ThreadUpdate;

/// The updates that did not fit into their watcher's queue, oldest first.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<(mpsc::Sender<ThreadUpdate>, ThreadUpdate)>,
}

impl Outbox {
    /// While something waits, no further events are read from Codex.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn post(&mut self, to: &mpsc::Sender<ThreadUpdate>, update: ThreadUpdate) {
        if !self.waiting.is_empty() {
            self.waiting.push_back((to.clone(), update));
            return;
        }
        match to.try_send(update) {
            // A watcher that has gone does not want to know.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(update)) => self.waiting.push_back((to.clone(), update)),
        }
    }

    /// Waits until the oldest one has found its place. Safe to drop at any point.
    pub(super) async fn deliver(&mut self) {
        let Some((to, _)) = self.waiting.front() else {
            return std::future::pending().await;
        };
        // The place is taken first, so that a drop in between loses nothing.
        let place = to.clone().reserve_owned().await;
        if let Some((_, update)) = self.waiting.pop_front()
            && let Ok(place) = place
        {
            place.send(update);
        }
    }

    /// Forgets what waits for a thread that is no longer driven.
    pub(super) fn forget(&mut self, thread: &ThreadId) {
        self.waiting.retain(|(_, update)| update.thread != *thread);
    }
}
