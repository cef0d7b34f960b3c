//! Which writes go into one transaction.

use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::Instant;

use tokio::sync::oneshot;

use super::WriterThread;
use crate::StoreError;
use crate::job::{Job, Writing};
use crate::sweep::{Step, Stepped};

/// A transaction this large takes some milliseconds, which is what the first one in it waits longer for.
const MOST_WRITINGS: usize = 1024;

pub(super) struct Gathered {
    pub(super) writings: Vec<Writing>,
    pub(super) after: After,
}

/// What comes after the writes.
pub(super) enum After {
    Nothing,
    /// Nobody wanted anything.
    Idle,
    Sweep(Step, oneshot::Sender<Result<Stepped, StoreError>>),
    Close,
}

enum Next {
    Job(Job),
    Idle,
    Closed,
}

impl WriterThread {
    /// Waits for something to do. Writes that somebody waits for go as soon as the queue is empty; others linger for more.
    pub(super) fn gather(&self) -> Gathered {
        let mut gathered = Gathered { writings: Vec::new(), after: After::Nothing };
        let mut next = self.first();
        let until = Instant::now() + self.settings.linger;
        let mut somebody_waits = false;
        let mut bytes = 0_usize;
        loop {
            match next {
                Next::Job(Job::Write(writing)) => {
                    somebody_waits |= writing.waiter.is_some();
                    bytes = bytes.saturating_add(writing.bytes);
                    gathered.writings.push(writing);
                }
                Next::Job(Job::Sweep(step, reply)) => gathered.after = After::Sweep(step, reply),
                Next::Job(Job::Close) | Next::Closed => gathered.after = After::Close,
                Next::Idle if gathered.writings.is_empty() => gathered.after = After::Idle,
                Next::Idle => return gathered,
            }
            let is_full =
                bytes >= self.settings.queue_bytes || gathered.writings.len() >= MOST_WRITINGS;
            if is_full || !matches!(gathered.after, After::Nothing) {
                return gathered;
            }
            next = self.another(somebody_waits, until);
        }
    }

    /// An idle store waits here without ever waking up.
    fn first(&self) -> Next {
        if self.has_leftovers {
            return match self.jobs.try_recv() {
                Ok(job) => Next::Job(job),
                Err(TryRecvError::Empty) => Next::Idle,
                Err(TryRecvError::Disconnected) => Next::Closed,
            };
        }
        if self.owes_cut || !self.spool.is_empty() {
            return match self.jobs.recv_timeout(self.settings.retry_after) {
                Ok(job) => Next::Job(job),
                Err(RecvTimeoutError::Timeout) => Next::Idle,
                Err(RecvTimeoutError::Disconnected) => Next::Closed,
            };
        }
        self.jobs.recv().map_or(Next::Closed, Next::Job)
    }

    fn another(&self, somebody_waits: bool, until: Instant) -> Next {
        match self.jobs.try_recv() {
            Ok(job) => return Next::Job(job),
            Err(TryRecvError::Disconnected) => return Next::Idle,
            Err(TryRecvError::Empty) if somebody_waits => return Next::Idle,
            Err(TryRecvError::Empty) => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        self.jobs.recv_timeout(left).map_or(Next::Idle, Next::Job)
    }
}
