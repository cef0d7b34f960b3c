//! One app-server of the pool, and the places in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ostler_codex::driver::{Driver, DriverTask, KeeperConnector};
use ostler_codex::keeper::KeeperId;
use ostler_codex::protocol::CodexVersion;
use ostler_model::TaskId;
use tokio::sync::Notify;

use super::homes::Tenancy;
use super::kind::Purpose;

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) driver: Driver,
    /// Ends with the last clone of the driver.
    pub(super) _task: DriverTask,
    pub(super) connector: Arc<KeeperConnector>,
    pub(super) purpose: Purpose,
    pub(crate) version: CodexVersion,
    pub(crate) home: PathBuf,
    /// Given up when nothing of the app-server is left.
    pub(super) _tenancy: Tenancy,
    pub(super) is_retired: AtomicBool,
    /// Its login was refused; no thread that is at rest goes on here.
    pub(super) is_refused: AtomicBool,
    pub(super) use_: Mutex<Use>,
}

#[derive(Debug)]
pub(super) struct Use {
    seats: usize,
    idle_since: Option<Instant>,
    /// Tasks whose threads an earlier daemon left here at work, and how long they are waited for.
    expected: Option<(BTreeSet<TaskId>, Instant)>,
    /// The keeper that the store knows of.
    pub(super) noted: Option<KeeperId>,
    /// Whose threads are open here, and where their commands may write.
    tasks: Vec<(TaskId, Vec<PathBuf>)>,
}

impl Use {
    pub(super) fn none() -> Mutex<Self> {
        let idle_since = Some(Instant::now());
        Mutex::new(Self { seats: 0, idle_since, expected: None, noted: None, tasks: Vec::new() })
    }
}

impl Use {
    fn expected_until(&self) -> Option<Instant> {
        let (tasks, until) = self.expected.as_ref()?;
        (!tasks.is_empty() && *until > Instant::now()).then_some(*until)
    }
}

impl Server {
    /// The one that it is in now: a driver that lost its Codex starts another one.
    pub(crate) fn keeper(&self) -> Option<KeeperId> {
        self.connector.keeper()
    }

    pub(crate) fn seats(&self) -> usize {
        self.use_.lock().unwrap_or_else(PoisonError::into_inner).seats
    }

    pub(crate) fn isolated_for(&self) -> Option<&TaskId> {
        self.purpose.isolated_for.as_ref()
    }

    /// Takes no further thread, and is ended when those in it are closed.
    pub(crate) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Relaxed)
    }

    /// False if it was before.
    pub(super) fn retire(&self) -> bool {
        !self.is_retired.swap(true, Ordering::Relaxed)
    }

    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// None while a task that is at work here may still come back.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let used = self.use_.lock().unwrap_or_else(PoisonError::into_inner);
        used.idle_since.filter(|_| used.expected_until().is_none())
    }

    /// Tasks of an earlier daemon are at work here: it is not idle before they have come back, or before the time is over.
    pub(super) fn expect(&self, tasks: BTreeSet<TaskId>, until: Instant) {
        let mut used = self.use_.lock().unwrap_or_else(PoisonError::into_inner);
        used.expected = Some((tasks, until));
    }

    pub(super) fn expected_until(&self) -> Option<Instant> {
        self.use_.lock().unwrap_or_else(PoisonError::into_inner).expected_until()
    }

    pub(super) fn has_come_back(&self, task: &TaskId) {
        let mut used = self.use_.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((expected, _)) = &mut used.expected {
            expected.remove(task);
        }
    }

    pub(super) fn writable_by_others(&self, task: &TaskId) -> Vec<PathBuf> {
        let used = self.use_.lock().unwrap_or_else(PoisonError::into_inner);
        let others = used.tasks.iter().filter(|(other, _)| other != task);
        others.flat_map(|(_, writable)| writable.clone()).collect()
    }

    pub(super) fn is_in(&self, keeper: &str) -> bool {
        self.keeper().is_some_and(|ours| ours.as_str() == keeper)
    }
}

/// A place for one thread; given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    server: Arc<Server>,
    wants_look: Arc<Notify>,
    task: Option<TaskId>,
}

impl Seat {
    pub(super) fn take(server: Arc<Server>, wants_look: Arc<Notify>) -> Self {
        let mut used = server.use_.lock().unwrap_or_else(PoisonError::into_inner);
        used.seats += 1;
        used.idle_since = None;
        drop(used);
        Self { server, wants_look, task: None }
    }

    /// Its thread may write in these folders as long as the place is taken.
    pub(crate) fn belongs_to(&mut self, task: TaskId, writable: Vec<PathBuf>) {
        let mut used = self.server.use_.lock().unwrap_or_else(PoisonError::into_inner);
        used.tasks.push((task.clone(), writable));
        self.task = Some(task);
    }

    pub(crate) fn driver(&self) -> &Driver {
        &self.server.driver
    }

    pub(crate) fn keeper(&self) -> Option<String> {
        self.server.keeper().map(|keeper| keeper.as_str().to_owned())
    }

    pub(crate) fn home(&self) -> &Path {
        &self.server.home
    }

    /// The login is refused here: nobody gets another place, and it ends when those in it have left.
    pub(crate) fn retire_for_login(&self) {
        self.server.is_refused.store(true, Ordering::Relaxed);
        self.server.retire();
        self.wants_look.notify_one();
    }

    /// The login that the app-server was started with, as a digest.
    pub(crate) fn login(&self) -> Option<&str> {
        self.server.purpose.login.as_deref()
    }

    pub(crate) fn version(&self) -> String {
        self.server.version.to_string()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut used = self.server.use_.lock().unwrap_or_else(PoisonError::into_inner);
        used.seats = used.seats.saturating_sub(1);
        let own = used.tasks.iter().position(|(task, _)| self.task.as_ref() == Some(task));
        own.map(|own| used.tasks.swap_remove(own));
        if used.seats == 0 {
            used.idle_since = Some(Instant::now());
            self.wants_look.notify_one();
        }
    }
}
