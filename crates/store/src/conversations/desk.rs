//! A thread with a connection of its own, which does one thing after the other.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::ConversationError;
use crate::StoreError;
use crate::schema::CONVERSATIONS;

/// Wishes that may wait; then whoever has another waits. One chat has a handful at a time.
const QUEUE: usize = 64;
/// Between two tries to write while others do. Each of their transactions takes some milliseconds.
pub(super) const PAUSE: Duration = Duration::from_millis(5);

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

pub(super) struct Desk {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Desk {
    pub(super) fn start(name: &str, mut connection: Connection) -> Result<Self, ConversationError> {
        let (jobs, mut received) = mpsc::channel::<Job>(QUEUE);
        let work = move || {
            while let Some(job) = received.blocking_recv() {
                job(&mut connection);
            }
        };
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)
            .map_err(|error| StoreError::Other(format!("no thread for conversations: {error}")))?;
        Ok(Self { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)) })
    }

    /// Done to its end even if the caller does not wait for it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, ConversationError> + Send + 'static,
    ) -> Result<T, ConversationError> {
        let (reply, done) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // Whoever asked may have gone.
            drop(reply.send(work(connection)));
        });
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let jobs = jobs.ok_or_else(ConversationError::closed)?;
        jobs.send(job).await.map_err(|_| ConversationError::closed())?;
        drop(jobs);
        done.await.map_err(|_| ConversationError::closed())?
    }

    pub(super) async fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A thread that has panicked has ended, too.
            tokio::task::spawn_blocking(move || thread.join().ok()).await.ok();
        }
    }
}

/// Whole or not at all. While others write it is tried again, for as long as `lock_wait`.
pub(super) fn transact<T>(
    connection: &mut Connection,
    lock_wait: Duration,
    mut work: impl FnMut(&Connection) -> Result<T, ConversationError>,
) -> Result<T, ConversationError> {
    let deadline = Instant::now() + lock_wait;
    loop {
        match once(connection, &mut work) {
            Err(error) if error.is_locked() && Instant::now() < deadline => thread::sleep(PAUSE),
            done => return done,
        }
    }
}

fn once<T>(
    connection: &mut Connection,
    work: &mut impl FnMut(&Connection) -> Result<T, ConversationError>,
) -> Result<T, ConversationError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if let Some(newer) = CONVERSATIONS.is_newer(&transaction)? {
        return Err(newer.into());
    }
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

/// All statements of one look see the same state.
pub(super) fn look<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Connection) -> Result<T, ConversationError>,
) -> Result<T, ConversationError> {
    let moment = connection.transaction()?;
    let found = work(&moment);
    moment.commit()?;
    found
}
