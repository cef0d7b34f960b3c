//! One app-server of the pool, and the places in it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ostler_codex::driver::{Driver, DriverTask, KeeperConnector};
use tokio::sync::Notify;

#[derive(Debug)]
pub(crate) struct Server {
    driver: Driver,
    /// Ends with the last clone of the driver.
    _task: DriverTask,
    connector: Arc<KeeperConnector>,
    pub(crate) digest: String,
    pub(crate) version: String,
    pub(crate) is_isolated: bool,
    use_: Mutex<Use>,
}

#[derive(Debug)]
struct Use {
    seats: usize,
    idle_since: Option<Instant>,
}

impl Server {
    pub(super) fn new(
        driver: Driver,
        task: DriverTask,
        connector: Arc<KeeperConnector>,
        digest: String,
        version: String,
        is_isolated: bool,
    ) -> Self {
        let use_ = Mutex::new(Use { seats: 0, idle_since: Some(Instant::now()) });
        Self { driver, _task: task, connector, digest, version, is_isolated, use_ }
    }

    /// The one that it is in now: a driver that lost its Codex starts another one.
    pub(crate) fn keeper(&self) -> Option<String> {
        self.connector.keeper().map(|keeper| keeper.as_str().to_owned())
    }

    pub(crate) fn seats(&self) -> usize {
        self.use_.lock().unwrap_or_else(PoisonError::into_inner).seats
    }

    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.use_.lock().unwrap_or_else(PoisonError::into_inner).idle_since
    }
}

/// A place for one thread; given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    server: Arc<Server>,
    idle: Arc<Notify>,
}

impl Seat {
    pub(super) fn take(server: Arc<Server>, idle: Arc<Notify>) -> Self {
        let mut used = server.use_.lock().unwrap_or_else(PoisonError::into_inner);
        used.seats += 1;
        used.idle_since = None;
        drop(used);
        Self { server, idle }
    }

    pub(crate) fn driver(&self) -> &Driver {
        &self.server.driver
    }

    pub(crate) fn keeper(&self) -> Option<String> {
        self.server.keeper()
    }

    pub(crate) fn version(&self) -> &str {
        &self.server.version
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut used = self.server.use_.lock().unwrap_or_else(PoisonError::into_inner);
        used.seats = used.seats.saturating_sub(1);
        if used.seats == 0 {
            used.idle_since = Some(Instant::now());
            self.idle.notify_one();
        }
    }
}
