//! The handle by which the store is used. It is cheap to clone; the last one to go ends the threads.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::sync::{Semaphore, broadcast, oneshot};

use crate::job::{Job, Ready, Writing, prepare};
use crate::open::{Opened, StoreSettings, open_writer};
use crate::readers::Readers;
use crate::sweep::{Retention, Step, SweepReport};
use crate::writer::WriterThread;
use crate::writer::group::Tenure;
use crate::writer::spool::Spool;
use crate::{Batch, Committed, Seqs, StoreError};

/// Transactions that a slow listener may be behind; after that it is told so and looks for itself.
const NEWS: usize = 256;

#[derive(Clone)]
pub struct Store {
    epoch: u64,
    jobs: Sender<Job>,
    room: Arc<Semaphore>,
    most_room: u32,
    shared: Arc<Shared>,
    pub(crate) readers: Arc<Readers>,
    writer: Arc<Mutex<Option<JoinHandle<()>>>>,
}

/// How the writing goes.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// Why the last attempt to write failed. None as soon as one succeeds.
    pub failing: Option<StoreError>,
    /// What waits in memory for the disk, in bytes.
    pub spooled_bytes: usize,
    /// Events that could not be kept, since the store was opened. Each log says how many of its own.
    pub lost_events: u64,
    /// Batches that nobody waited for and that were wrong by themselves, and the last reason.
    pub refused_appends: u64,
    pub last_refusal: Option<StoreError>,
}

/// What writer and handles both see.
pub(crate) struct Shared {
    health: Mutex<Health>,
    news: broadcast::Sender<Arc<[Seqs]>>,
}

impl Store {
    /// Opens or makes the database, brings its layout up to date and takes it over: whoever had it before is fenced off.
    ///
    /// On a full disk a database of the newest layout is opened all the same: it can be read, and is taken over by the first
    /// write for which there is room. [`Store::health`] says so.
    pub fn open(settings: StoreSettings) -> Result<Self, StoreError> {
        let Opened { connection, epoch, is_owed } = open_writer(&settings)?;
        let readers = Readers::start(&settings)?;
        let (jobs, received) = mpsc::channel();
        let most_room = u32::try_from(settings.queue_bytes).unwrap_or(u32::MAX);
        let shared =
            Arc::new(Shared { health: Mutex::default(), news: broadcast::channel(NEWS).0 });
        if is_owed {
            shared.failed(StoreError::Full);
        }
        let tenure = Tenure::new(epoch, is_owed);
        let writer =
            WriterThread::new(connection, received, tenure, settings, Arc::clone(&shared))?;
        let writer = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| StoreError::Other(format!("no thread for the writer: {error}")))?;
        Ok(Self {
            epoch,
            jobs,
            room: Arc::new(Semaphore::new(most_room as usize)),
            most_room,
            shared,
            readers: Arc::new(readers),
            writer: Arc::new(Mutex::new(Some(writer))),
        })
    }

    /// By which later owners of the database are told from earlier ones.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Writes the batch. When this returns well, it is on disk.
    ///
    /// Whoever stops waiting does not take it back.
    pub async fn commit(&self, batch: Batch) -> Result<Committed, StoreError> {
        self.commit_kept(&batch).await
    }

    /// The same for whoever keeps the batch, to try it again if it cannot be written now.
    pub async fn commit_kept(&self, batch: &Batch) -> Result<Committed, StoreError> {
        let (waiter, written) = oneshot::channel();
        self.hand_over(prepare(batch)?, Some(waiter)).await?;
        written.await.map_err(|_| StoreError::Closed)?
    }

    /// Hands the batch to the writer, in order with `commit`, and does not wait for the disk. Waits while the queue is full.
    ///
    /// For what streams: while the disk cannot be written it is kept in memory to a bound, then only counted, and the log says
    /// how much is missing. What must not be lost belongs into a `commit`.
    pub async fn append(&self, batch: Batch) -> Result<(), StoreError> {
        if let Some(StoreError::Fenced) = self.shared.health().failing {
            return Err(StoreError::Fenced);
        }
        self.hand_over(prepare(&batch)?, None).await
    }

    pub fn health(&self) -> Health {
        self.shared.health()
    }

    /// After each transaction: the tasks whose logs have grown, and to where. Who is too slow has to look at the logs.
    pub fn news(&self) -> broadcast::Receiver<Arc<[Seqs]>> {
        self.shared.news.subscribe()
    }

    /// Removes what retention does not keep, in small pieces between which others write.
    pub async fn sweep(&self, now: i64, retention: &Retention) -> Result<SweepReport, StoreError> {
        let mut report = SweepReport::default();
        let mut step = Step::new(now, retention.clone());
        loop {
            let (reply, stepped) = oneshot::channel();
            self.jobs.send(Job::Sweep(step, reply)).map_err(|_| StoreError::Closed)?;
            let stepped = stepped.await.map_err(|_| StoreError::Closed)??;
            report.add(&stepped);
            match stepped.next {
                Some(next) => step = next,
                None => return Ok(report),
            }
        }
    }

    /// Writes what was handed over and ends the threads. Other handles find the store closed.
    pub async fn close(self) {
        // Gone already: then it is closed.
        self.jobs.send(Job::Close).ok();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.readers.close();
        let readers = self.readers.threads();
        let ended = tokio::task::spawn_blocking(move || {
            for thread in writer.into_iter().chain(readers) {
                if thread.join().is_err() {
                    tracing::error!("a thread of the store panicked");
                }
            }
        });
        if ended.await.is_err() {
            tracing::error!("the end of the store could not be waited for");
        }
    }

    async fn hand_over(
        &self,
        (writes, bytes): (Vec<Ready>, usize),
        waiter: Option<oneshot::Sender<Result<Committed, StoreError>>>,
    ) -> Result<(), StoreError> {
        // A batch larger than the queue waits until it has the queue for itself.
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.most_room);
        let room = Arc::clone(&self.room).acquire_many_owned(wanted).await;
        let room = Some(room.map_err(|_| StoreError::Closed)?);
        let writing = Writing { writes, bytes, waiter, room };
        self.jobs.send(Job::Write(writing)).map_err(|_| StoreError::Closed)
    }
}

impl Shared {
    fn health(&self) -> Health {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Health)) {
        change(&mut self.health.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn recovered(&self) {
        self.change(|health| {
            if let Some(was) = health.failing.take() {
                tracing::info!(%was, "the store can write again");
            }
            health.spooled_bytes = 0;
        });
    }

    pub(crate) fn failed(&self, error: StoreError) {
        self.change(|health| {
            if health.failing.is_none() {
                tracing::error!(%error, "the store cannot write");
            }
            health.failing = Some(error);
        });
    }

    pub(crate) fn spooled(&self, spool: &Spool) {
        self.change(|health| {
            health.spooled_bytes = spool.bytes();
            health.lost_events = spool.lost_in_all();
        });
    }

    /// To whoever waits; what nobody waits for must not go wrong in silence.
    pub(crate) fn answer(&self, writing: Writing, result: Result<Committed, StoreError>) {
        match (writing.waiter, result) {
            // Whoever waited may have gone.
            (Some(waiter), result) => drop(waiter.send(result)),
            (None, Ok(_)) => {}
            (None, Err(error)) => self.change(|health| {
                tracing::warn!(%error, "a batch that nobody waited for was refused");
                health.refused_appends += 1;
                health.last_refusal = Some(error);
            }),
        }
    }

    /// Tells all who listen which logs have grown.
    pub(crate) fn tell(&self, results: &[Result<Committed, StoreError>]) {
        if self.news.receiver_count() == 0 {
            return;
        }
        let grown = results.iter().filter_map(|result| match result {
            Ok(Committed::Written(seqs)) => Some(seqs.iter().cloned()),
            _ => None,
        });
        let grown: Arc<[Seqs]> = grown.flatten().collect();
        if !grown.is_empty() {
            // The last listener may just have gone.
            self.news.send(grown).ok();
        }
    }
}
