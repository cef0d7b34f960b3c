//! How much may wait to be read: so many events, so many bytes, counted as one.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bound of the queue of events. Only one gives room away, so what it has seen to be free stays free.
#[derive(Debug)]
pub(super) struct Room {
    free: Arc<Semaphore>,
    bytes: usize,
    /// An event counts as so many bytes at least; as many of these fit as events may wait.
    least: usize,
}

impl Room {
    pub(super) fn new(events: usize, bytes: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(bytes)), bytes, least: bytes.div_ceil(events) }
    }

    /// What an event of this size takes. One over the whole bound takes all of it, so that it passes alone.
    pub(super) fn share_of(&self, size: usize) -> usize {
        size.max(self.least).min(self.bytes)
    }

    pub(super) fn has(&self, share: usize) -> bool {
        self.free.available_permits() >= share
    }

    /// Absent if there is no room for it.
    pub(super) fn take(&self, share: usize) -> Option<OwnedSemaphorePermit> {
        self.free.clone().try_acquire_many_owned(u32::try_from(share).ok()?).ok()
    }

    /// Waits for room.
    pub(super) async fn wait(&self, share: usize) -> Option<OwnedSemaphorePermit> {
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        // It is never closed; without a share the event is delivered all the same.
        self.free.clone().acquire_many_owned(share).await.ok()
    }
}
