//! The one thread that writes. All who wait at the same time share one sync of the disk.

mod gather;
pub(crate) mod group;
pub(crate) mod spool;

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use ostler_model::{Event, TaskId};
use rusqlite::Connection;

use self::gather::Gathered;
use self::group::Tenure;
use self::spool::Spool;
use crate::job::{Job, Ready, Writing, text};
use crate::open::StoreSettings;
use crate::store::Shared;
use crate::{StoreError, secrets, sweep};

pub(crate) struct WriterThread {
    connection: Connection,
    jobs: Receiver<Job>,
    tenure: Tenure,
    settings: StoreSettings,
    shared: Arc<Shared>,
    /// What nobody waited for and the disk did not take.
    spool: Spool,
    /// When the spool is tried again.
    retry_at: Option<Instant>,
    /// SQLite's log still has a secret that is not owed any more.
    owes_cut: bool,
    /// The log of a removed task is still to be cleared away.
    has_leftovers: bool,
}

impl WriterThread {
    pub(crate) fn new(
        connection: Connection,
        jobs: Receiver<Job>,
        tenure: Tenure,
        settings: StoreSettings,
        shared: Arc<Shared>,
    ) -> Result<Self, StoreError> {
        let has_leftovers = sweep::has_leftovers(&connection)?;
        let spool = Spool::new(settings.spool_bytes);
        Ok(Self {
            connection,
            jobs,
            tenure,
            settings,
            shared,
            spool,
            retry_at: None,
            // After a kill the log may hold anything.
            owes_cut: true,
            has_leftovers,
        })
    }

    /// Until the store is closed, or nobody has it any more. What was handed over before is written.
    pub(crate) fn run(mut self) {
        loop {
            let Gathered { writings, after } = self.gather();
            self.write(writings);
            match after {
                gather::After::Nothing => {}
                gather::After::Idle => self.clear_away(),
                gather::After::Sweep(step, reply) => {
                    let stepped = self.sweep(step);
                    // Whoever asked may have gone.
                    reply.send(stepped).ok();
                }
                gather::After::Close => break,
            }
            if self.owes_cut {
                let cut = secrets::cut_the_log(&self.connection, self.settings.lock_wait);
                self.owes_cut = !cut.unwrap_or(false);
            }
        }
        if !self.spool.is_empty() {
            self.retry_at = None;
            self.write(Vec::new());
        }
    }

    fn write(&mut self, writings: Vec<Writing>) {
        let somebody_waits = writings.iter().any(|writing| writing.waiter.is_some());
        if let Some(retry_at) = self.retry_at
            && !somebody_waits
            && Instant::now() < retry_at
        {
            self.keep(writings);
            return;
        }
        let mut all = self.spool.take();
        let spooled = all.len();
        all.extend(self.lost_marks());
        let older = all.len();
        all.extend(writings);
        if all.is_empty() {
            return;
        }
        match group::write(&self.connection, &self.tenure, &all) {
            Ok(outcome) => {
                self.spool.forget_lost();
                self.retry_at = None;
                self.owes_cut |= outcome.cleared_a_secret;
                self.has_leftovers |= outcome.removed_a_task;
                self.shared.recovered();
                self.shared.tell(&outcome.results);
                for (writing, result) in all.into_iter().zip(outcome.results) {
                    self.shared.answer(writing, result);
                }
            }
            Err(error) => {
                let writings = all.split_off(older);
                all.truncate(spooled);
                self.fail(all, writings, error);
            }
        }
    }

    /// Nothing of these was written.
    fn fail(&mut self, spooled: Vec<Writing>, writings: Vec<Writing>, error: StoreError) {
        let error = error.about(&self.settings.path);
        self.shared.failed(error.clone());
        let (waited_for, mut others): (Vec<_>, Vec<_>) =
            writings.into_iter().partition(|writing| writing.waiter.is_some());
        if error.is_passing() {
            self.retry_at = Some(Instant::now() + self.settings.retry_after);
            self.spool.put_back(spooled);
            self.keep(others);
        } else {
            others.extend(spooled);
            for writing in others {
                self.shared.answer(writing, Err(error.clone()));
            }
        }
        for writing in waited_for {
            self.shared.answer(writing, Err(error.clone()));
        }
    }

    fn keep(&mut self, writings: Vec<Writing>) {
        for writing in writings {
            self.spool.keep(writing);
        }
        self.shared.spooled(&self.spool);
    }

    /// For each task whose events could not be kept: how many, in its log.
    fn lost_marks(&self) -> Vec<Writing> {
        let mark = |task: &TaskId, at: i64, events: u64| {
            let why = "the disk could not be written, and there was no more memory to keep them"
                .to_owned();
            let event = Event::Lost { events, why };
            let body = text(&event, "event").ok()?;
            let writes = vec![Ready::Event { task: task.clone(), at, name: event.name(), body }];
            Some(Writing { writes, bytes: 0, waiter: None, room: None })
        };
        self.spool.lost().filter_map(|(task, lost)| mark(task, lost.at, lost.events)).collect()
    }

    fn sweep(&mut self, step: sweep::Step) -> Result<sweep::Stepped, StoreError> {
        let path = self.settings.path.clone();
        let stepped = sweep::step(&self.connection, &self.tenure, step)
            .map_err(|error| error.about(&path))?;
        self.owes_cut |= stepped.cleared_a_secret;
        Ok(stepped)
    }

    /// A piece of what removed tasks left behind, while nobody else wants anything.
    fn clear_away(&mut self) {
        if !self.has_leftovers {
            return;
        }
        match sweep::clear_leftovers(&self.connection, &self.tenure) {
            Ok(left) => self.has_leftovers = left,
            Err(error) => {
                // The next start, or the next removed task, takes it up again.
                tracing::warn!(%error, "the log of a removed task could not be cleared away");
                self.has_leftovers = false;
            }
        }
    }
}
