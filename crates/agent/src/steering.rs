//! What the user says while a turn runs, and how a turn is stopped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// By which a surface reaches the turn that runs. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Controls {
    /// Cancelled: the turn ends as soon as it can, with what it has.
    pub stop: CancellationToken,
    pub steering: Steering,
}

/// Words for the turn that runs, in their order. What no turn has taken is given to the next one, never lost: what is still here
/// when a turn has ended is for its surface to say.
#[derive(Debug, Clone, Default)]
pub struct Steering {
    waiting: Arc<Mutex<VecDeque<String>>>,
    came: Arc<Notify>,
}

impl Steering {
    pub fn say(&self, text: impl Into<String>) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(text.into());
        self.came.notify_one();
    }

    /// All that waits.
    pub fn take(&self) -> Vec<String> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns when something waits.
    pub async fn waits(&self) {
        while self.is_empty() {
            self.came.notified().await;
        }
    }
}
