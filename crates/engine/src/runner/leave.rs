//! How the thread is lost, left, and ended.

use std::time::Duration;

use ostler_model::task::machine::Signal;
use tokio::time::timeout;

use super::{Runner, Stage, Work};

/// An app-server of an earlier daemon answers within half a minute or is ended; then the next one is started.
const REJOINED_WITHIN: Duration = Duration::from_secs(40);

impl Runner {
    /// The driver has ended, or we could not follow it.
    pub(super) fn lose_thread(&mut self) {
        tracing::warn!(task = %self.id, "the thread is no longer driven; it is opened again");
        self.stage = None;
        self.desk.disconnected();
        self.step(Signal::ThreadLost);
    }

    /// Turns away from the thread. A turn that runs goes on without us.
    pub(super) async fn leave(&mut self) {
        self.close_thread().await;
        self.machine.unloaded();
    }

    pub(super) async fn close_thread(&mut self) {
        if let Some(Stage { thread, updates, seat }) = self.stage.take() {
            drop(updates);
            thread.close().await;
            drop(seat);
        }
    }

    /// Ends what runs, and forgets the task.
    pub(super) async fn remove(&mut self) {
        // After a restart a turn may run that nobody listens to yet; it would run on unseen.
        if self.is_rejoining() && timeout(REJOINED_WITHIN, self.until_opened()).await.is_err() {
            tracing::warn!(task = %self.id, "its thread was not reached in time; what runs there ends with its app-server");
        }
        if let Some(stage) = &self.stage {
            stage.thread.interrupt("removal of the task").await;
        }
        self.leave().await;
        // What would follow from it is of no use to anybody.
        self.todo.clear();
        self.is_removed = true;
    }

    /// Whether a thread in which something may run is being opened.
    fn is_rejoining(&self) -> bool {
        self.stage.is_none() && self.is_opening && self.machine.task().thread.is_some()
    }

    async fn until_opened(&mut self) {
        while let Some(work) = self.works.join_next().await {
            if let Ok(Work::Opened(opened)) = work {
                return self.opened(*opened);
            }
        }
    }
}
