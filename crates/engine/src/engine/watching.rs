//! What whoever looks at tasks hears, and until when it must wait to read all of it.

use std::time::Duration;

use ostler_codex::driver::Listener;
use ostler_model::TaskId;
use tokio::sync::{broadcast, oneshot};

use super::Engine;
use crate::dispatcher::FromDoor;
use crate::hub::{Changed, News};

/// A disk that takes this long to sync has more to tell than a piece of text.
const SETTLED_AFTER: Duration = Duration::from_secs(5);

impl Engine {
    /// Returns when all text that was told of the task before is in the store, or cannot be written for now.
    pub async fn settled(&self, task: &TaskId) {
        let (done, settled) = oneshot::channel();
        self.tell(FromDoor::Settle { task: task.clone(), done }).await;
        // A runner with a full queue drops the question, and so does a daemon that ends.
        if let Ok(Err(_)) | Err(_) = tokio::time::timeout(SETTLED_AFTER, settled).await {
            tracing::debug!(%task, "whether all text is written could not be found out");
        }
    }

    /// News of one task from now on. Whoever lags behind reads the store again.
    pub fn watch(&self, task: &TaskId) -> broadcast::Receiver<News> {
        self.shared.hub.watch(task)
    }

    /// Codex's own lines about a task, from now on: live only, none of them is kept.
    pub fn overhear(&self, task: &TaskId) -> Listener {
        self.shared.hub.lines(task).listen()
    }

    /// Which tasks have changed their state, from now on.
    pub fn watch_all(&self) -> broadcast::Receiver<Changed> {
        self.shared.hub.watch_all()
    }
}
