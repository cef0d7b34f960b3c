//! The second phase: writes down what happened, and lets the third begin when it is written.

use std::time::Duration;

use ostler_store::{Batch, Committed, Seqs, StoreError, Write};
use tokio::time::Instant;

use super::Runner;
use crate::hub::News;

/// From one attempt to write to the next while the disk is full.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

impl Runner {
    /// Leaves nothing to be written, unless nothing can be.
    pub(super) async fn settle_all(&mut self) -> Result<(), StoreError> {
        loop {
            self.settle().await?;
            if self.log.is_empty() || self.blocked_until.is_some() {
                return Ok(());
            }
        }
    }

    /// Writes down what happened, then does what follows, until nothing follows any more. What was done last may be left to
    /// be written.
    pub(super) async fn settle(&mut self) -> Result<(), StoreError> {
        loop {
            self.tidy_asks();
            let is_written = self.write().await?;
            self.tell_held();
            self.tell_waiting().await?;
            if !is_written {
                return Ok(());
            }
            for todo in std::mem::take(&mut self.todo) {
                self.perform(todo).await;
            }
            if self.todo.is_empty() {
                return Ok(());
            }
        }
    }

    /// False if it must wait: then nothing that follows may be done yet.
    pub(super) async fn write(&mut self) -> Result<bool, StoreError> {
        if self.log.is_empty() {
            return Ok(true);
        }
        if self.blocked_until.is_some_and(|until| Instant::now() < until) {
            // Not for each thing that happens: what waits is written whole, and there is more of it each time.
            return Ok(false);
        }
        let only_streams = self.log.only_streams();
        let batch = self.log.take();
        if only_streams {
            // Nothing follows from text that grows, so nobody waits for the disk; the store keeps it if it is full.
            return match self.shared.store.append(batch).await {
                Ok(()) => Ok(true),
                Err(error) if error.is_passing() => Ok(true),
                Err(error) => Err(error),
            };
        }
        match self.shared.store.commit_kept(&batch).await {
            Ok(Committed::Written(seqs)) => {
                self.blocked_until = None;
                if std::mem::take(&mut self.has_mail) {
                    self.shared.mail.notify_one();
                }
                self.tell_logged(&seqs);
                Ok(true)
            }
            Ok(other) => {
                tracing::error!(?other, task = %self.id, "a batch was not written as it is");
                Ok(true)
            }
            Err(error) if error.is_passing() => {
                if self.blocked_until.is_none() {
                    tracing::error!(%error, task = %self.id, "nothing can be written; the turn goes on");
                }
                self.log.put_back(batch);
                self.blocked_until = Some(Instant::now() + WRITE_AGAIN);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Text that grows is handed over without waiting for the disk: what is asked for last is written last.
    async fn tell_waiting(&mut self) -> Result<(), StoreError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        match self.shared.store.commit(Batch::default()).await {
            Err(error) if !error.is_passing() => return Err(error),
            // While the disk is full nothing is written for a long time; whoever waits goes on with what is there.
            _ => {}
        }
        for done in self.waiting.drain(..) {
            // Who has left in the meantime needs no answer.
            done.send(()).ok();
        }
        Ok(())
    }

    pub(super) fn tell_logged(&self, seqs: &[Seqs]) {
        if let Some(seqs) = seqs.iter().find(|seqs| seqs.task == self.id) {
            self.shared.hub.tell(&self.id, || News::Logged { seq: seqs.last });
        }
    }

    /// The task's row anew; written with whatever else is written.
    pub(super) fn note_task(&mut self) {
        let task = Box::new(self.machine.task().clone());
        self.shared.writers.note(&task);
        self.log.push(Write::Task(task));
    }
}
