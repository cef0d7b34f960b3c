//! An app-server under a keeper, from its start to its end, with a driver on it.
//!
//! The start runs in a task of its own: a command that is interrupted in the middle of it waits for what becomes of it,
//! and leaves nothing behind.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use ostler_codex::driver::{ConnectError, Driver, DriverSettings, DriverTask, KeeperConnector};
use ostler_codex::keeper::{self, Condition, KeeperError, KeeperId, Record, StartKeeper, StopMode};
use ostler_codex::peer::PeerSettings;
use ostler_codex::secrets::Secrets;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::failure::{Exit, Failure};

/// Behind the deadline by which Codex must listen, for ending what did not come up. A start that was dropped in the middle could leave
/// a keeper that is not yet in its own record; after this long it surely is.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// The driver ends when its connection is closed, which takes milliseconds.
const DRIVER_PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Kept {
    start: StartKeeper,
    settings: PeerSettings,
    keeper: Option<KeeperId>,
    starting: Option<AbortOnDropHandle<Result<Record, KeeperError>>>,
    connector: Option<Arc<KeeperConnector>>,
    task: Option<DriverTask>,
    secrets: Secrets,
}

/// What becomes of the folder of a keeper that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remains {
    Removed,
    /// What Codex wrote last is kept to be looked at.
    Kept,
}

impl Kept {
    /// Nothing is started yet.
    pub(crate) fn new(start: StartKeeper, settings: PeerSettings, secrets: Secrets) -> Self {
        let (keeper, starting, connector, task) = (None, None, None, None);
        Self { start, settings, keeper, starting, connector, task, secrets }
    }

    /// Uses this keeper if its Codex lives.
    pub(crate) fn join(&mut self, keeper: &KeeperId) -> bool {
        let found = keeper::find(&self.start.root, keeper.as_str()).ok();
        let lives = found.is_some_and(|found| {
            matches!(found.condition, Condition::Running | Condition::KeeperDead)
        });
        if lives {
            self.keeper = Some(keeper.clone());
        }
        lives
    }

    /// The keeper in use: a driver that lost its Codex may have started another one.
    pub(crate) fn keeper(&self) -> Option<KeeperId> {
        let connected = self.connector.as_ref().and_then(|connector| connector.keeper());
        connected.or_else(|| self.keeper.clone())
    }

    /// Starts a keeper unless one was joined.
    pub(crate) async fn start(&mut self) -> Result<KeeperId, Failure> {
        if let Some(keeper) = &self.keeper {
            return Ok(keeper.clone());
        }
        let start = tokio::spawn(keeper::start(self.start.clone()));
        let starting = self.starting.insert(AbortOnDropHandle::new(start));
        let started = starting.await;
        self.starting = None;
        let record = started.map_err(|error| ended_early(&error))??;
        Ok(self.keeper.insert(record.id).clone())
    }

    /// The same, and drives its app-server.
    pub(crate) async fn driver(&mut self) -> Result<Driver, Failure> {
        let keeper = self.start().await?;
        let connector = KeeperConnector::new(self.start.clone(), self.settings.clone());
        let connector = Arc::new(connector.at(keeper).registering(self.secrets.clone()));
        self.connector = Some(connector.clone());
        // Codex lives where we live.
        let settings =
            DriverSettings { time_zone: TimeZone::system(), ..DriverSettings::default() };
        let (driver, task) = Driver::start(connector, settings).await?;
        self.task = Some(task);
        Ok(driver)
    }

    /// Waits for the driver, all of whose handles must be gone, and leaves the keeper to itself.
    pub(crate) async fn leave(&mut self) {
        if let Some(task) = self.task.take()
            && timeout(DRIVER_PATIENCE, task.ended()).await.is_err()
        {
            tracing::warn!("the driver did not end in time");
        }
    }

    /// Ends the keeper and all below it, also one that is only being started.
    pub(crate) async fn end(&mut self, remains: Remains) -> Result<(), Failure> {
        self.leave().await;
        if let Some(starting) = self.starting.take() {
            match timeout(self.start.ready_deadline + START_PATIENCE, starting).await {
                Ok(Ok(Ok(record))) => self.keeper = Some(record.id),
                Ok(_) => {}
                Err(_) => tracing::debug!("the keeper's start was given up"),
            }
        }
        let mut keepers: Vec<KeeperId> = self.keeper.iter().cloned().collect();
        keepers.extend(self.keeper().filter(|keeper| !keepers.contains(keeper)));
        for keeper in keepers {
            let found = match keeper::find(&self.start.root, keeper.as_str()) {
                Ok(found) => found,
                Err(KeeperError::NotFound { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            keeper::stop(&found, StopMode::Now).await?;
            if remains == Remains::Removed {
                keeper::remove(&found)?;
            }
        }
        Ok(())
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let failure = Self::new(Exit::Failed, format!("cannot talk to codex: {}", error.message));
        match error.evidence {
            Some(evidence) => failure.hint(format!("it wrote:\n{}", evidence.trim_end())),
            None => failure.hint("`ostler doctor` looks for the cause"),
        }
    }
}

fn ended_early(error: &tokio::task::JoinError) -> Failure {
    Failure::new(Exit::Failed, format!("the start of the keeper ended early: {error}"))
}
