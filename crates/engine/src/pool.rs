//! The app-servers that tasks share.
//!
//! One app-server serves many threads: a hundred in one process take a tenth of the memory of a hundred processes. They are
//! shared by those who want the same Codex on the same home with the same environment, up to a bound; then another one is
//! started. Nobody's app-server is ended here but our own, which are known by what their record says they are for.

mod binaries;
mod server;

pub use binaries::Binaries;
pub(crate) use server::{Seat, Server};

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ostler_codex::driver::{Driver, DriverSettings, KeeperConnector};
use ostler_codex::keeper::environment::EnvironmentRule;
use ostler_codex::keeper::{self, Condition, Found, StartKeeper, StopMode};
use ostler_codex::peer::PeerSettings;
use ostler_model::task::TaskSettings;
use ostler_model::{Failure, FailureClass, TaskId};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

/// The first word of what our keepers are for; the digest of their kind follows.
const PURPOSE: &str = "tasks";

/// How an ended keeper's last words are kept for whoever wants to know why.
const REMAINS: Duration = Duration::from_secs(60 * 60);

/// What the pool is given once.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// The folder that holds one folder per keeper.
    pub keepers: PathBuf,
    /// Our own binary.
    pub program: PathBuf,
    /// All of the daemon's, not yet filtered.
    pub environment: Vec<(OsString, OsString)>,
    /// Passed on beyond the rule.
    pub keep: Vec<String>,
    pub binaries: Binaries,
    pub threads_per_server: usize,
    /// How long an app-server without threads is kept.
    pub idle_server: Duration,
    pub ready_deadline: Duration,
}

#[derive(Debug)]
pub(crate) struct Pool {
    settings: PoolSettings,
    servers: Mutex<Vec<Arc<Server>>>,
    /// Held while a shared app-server is looked for or started: two tasks must not start one each.
    making: tokio::sync::Mutex<()>,
    /// Told when an app-server has lost its last thread.
    pub(crate) idle: Arc<Notify>,
}

/// What two tasks must have in common to share an app-server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    codex: PathBuf,
    pub(crate) version: String,
    pub(crate) home: Option<String>,
    /// Of all this, and of what Codex sees of the environment.
    pub(crate) digest: String,
}

impl Pool {
    pub(crate) fn new(settings: PoolSettings) -> Self {
        Self {
            settings,
            servers: Mutex::default(),
            making: tokio::sync::Mutex::default(),
            idle: Arc::default(),
        }
    }

    /// Which app-servers a task may be in.
    pub(crate) async fn kind(&self, settings: &TaskSettings) -> Result<Kind, Failure> {
        let wanted = settings.codex.version.as_deref();
        let (codex, version) = self.settings.binaries.find(wanted).await?;
        let home = settings.codex.home.clone();
        let mut hash = Sha256::new();
        for part in [&version, home.as_deref().unwrap_or_default()] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        for name in &self.settings.keep {
            hash.update(name.len().to_le_bytes());
            hash.update(name);
            let value = self.settings.environment.iter().find(|(known, _)| known == name.as_str());
            hash.update(value.map(|(_, value)| value.as_encoded_bytes()).unwrap_or_default());
        }
        let digest: String =
            hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(Kind { codex, version, home, digest })
    }

    /// A place for a thread: in the app-server that it was in if that lives, or else in any of its kind.
    pub(crate) async fn seat(
        &self,
        task: &TaskId,
        settings: &TaskSettings,
        before: Option<&str>,
    ) -> Result<Seat, Failure> {
        if let Some(seat) = before.and_then(|keeper| self.seat_in(keeper)) {
            return Ok(seat);
        }
        let kind = self.kind(settings).await?;
        if settings.isolate {
            let server = self.start(kind, Some(task.clone())).await?;
            return Ok(self.take(server));
        }
        let _making = self.making.lock().await;
        if let Some(seat) = self.free_seat(&kind) {
            return Ok(seat);
        }
        let server = self.start(kind, None).await?;
        Ok(self.take(server))
    }

    /// Keepers that an earlier daemon left: those that live are used again, the others are ended for good.
    pub(crate) async fn adopt(&self) {
        let found = match keeper::list(&self.settings.keepers) {
            Ok(found) => found,
            Err(error) => return tracing::error!(%error, "the keepers cannot be listed"),
        };
        for found in found {
            let Some(purpose) = found.record.as_ref().and_then(|record| record.purpose.clone())
            else {
                continue;
            };
            let Some(digest) = purpose.strip_prefix(PURPOSE).map(str::trim) else { continue };
            let lives = matches!(found.condition, Condition::Running | Condition::KeeperDead);
            let adopted = match lives {
                true => self.join(&found, digest).await,
                false => Err(Failure::new(FailureClass::ServerGone, "it does not run")),
            };
            if let Err(failure) = adopted {
                tracing::warn!(keeper = %found.id(), reason = %failure.message, "a keeper is not used again");
                end(&found).await;
            }
        }
        self.sweep_remains();
    }

    /// Ends the app-servers that nobody has used for long. Says when to look again.
    pub(crate) async fn end_idle(&self) -> Option<Instant> {
        let now = Instant::now();
        let patience = self.settings.idle_server;
        let over: Vec<Arc<Server>> = {
            let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
            let (over, kept) = servers.drain(..).partition(|server| {
                server.idle_since().is_some_and(|since| now >= since + patience)
            });
            *servers = kept;
            over
        };
        for server in over {
            if let Some(found) = self.find(&server) {
                end(&found).await;
            }
        }
        self.sweep_remains();
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.iter().filter_map(|server| server.idle_since()).min().map(|since| since + patience)
    }

    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn seat_in(&self, keeper: &str) -> Option<Seat> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let server = servers.iter().find(|server| server.keeper().as_deref() == Some(keeper))?;
        Some(Seat::take(server.clone(), self.idle.clone()))
    }

    fn free_seat(&self, kind: &Kind) -> Option<Seat> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |server: &&Arc<Server>| {
            server.digest == kind.digest
                && !server.is_isolated
                && server.seats() < self.settings.threads_per_server
        };
        // The fullest one that has room, so that the others can become idle.
        let server = servers.iter().filter(fits).max_by_key(|server| server.seats())?;
        Some(Seat::take(server.clone(), self.idle.clone()))
    }

    /// The seat is taken before anybody else sees the server, so that it is never idle in between.
    fn take(&self, server: Server) -> Seat {
        let server = Arc::new(server);
        let seat = Seat::take(server.clone(), self.idle.clone());
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).push(server);
        seat
    }

    async fn start(&self, kind: Kind, isolated_for: Option<TaskId>) -> Result<Server, Failure> {
        let connector = self.connector(&kind);
        let is_isolated = isolated_for.is_some();
        drive(connector, kind.digest, kind.version, is_isolated).await
    }

    async fn join(&self, found: &Found, digest: &str) -> Result<(), Failure> {
        let Some(record) = found.record.as_ref() else { return Ok(()) };
        let version = record.codex_version.clone().unwrap_or_default();
        let kind = Kind {
            codex: record.codex_path.clone(),
            version: version.clone(),
            home: record.codex_home.as_ref().map(|home| home.display().to_string()),
            digest: digest.to_owned(),
        };
        let connector = self.connector(&kind).at(found.id().clone());
        let server = drive(connector, digest.to_owned(), version, false).await?;
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(server));
        Ok(())
    }

    fn connector(&self, kind: &Kind) -> KeeperConnector {
        let start = StartKeeper {
            root: self.settings.keepers.clone(),
            program: self.settings.program.clone(),
            codex: kind.codex.clone(),
            codex_version: Some(kind.version.clone()),
            environment: self.settings.environment.clone(),
            environment_rule: EnvironmentRule {
                codex_home: kind.home.clone().map(PathBuf::from),
                keep: self.settings.keep.clone(),
                ..EnvironmentRule::default()
            },
            purpose: Some(format!("{PURPOSE} {}", kind.digest)),
            extra_arguments: Vec::new(),
            ready_deadline: self.settings.ready_deadline,
        };
        KeeperConnector::new(start, PeerSettings::default())
    }

    fn find(&self, server: &Server) -> Option<Found> {
        keeper::find(&self.settings.keepers, &server.keeper()?).ok()
    }

    fn sweep_remains(&self) {
        if let Err(error) = keeper::sweep(&self.settings.keepers, REMAINS, Timestamp::now()) {
            tracing::warn!(%error, "the remains of keepers are left");
        }
    }
}

async fn drive(
    connector: KeeperConnector,
    digest: String,
    version: String,
    is_isolated: bool,
) -> Result<Server, Failure> {
    let connector = Arc::new(connector);
    // Codex lives where we live.
    let settings = DriverSettings { time_zone: TimeZone::system(), ..DriverSettings::default() };
    let started = Driver::start(connector.clone(), settings).await;
    let (driver, task) = started.map_err(|error| Failure {
        evidence: error.evidence.clone(),
        ..Failure::new(FailureClass::ServerGone, error.message)
    })?;
    Ok(Server::new(driver, task, connector, digest, version, is_isolated))
}

/// Nothing of it may be left; if it does not end, that is said, and the next daemon tries again.
async fn end(found: &Found) {
    let stopped = keeper::stop(found, StopMode::Now).await;
    if let Err(error) = stopped.map(drop).and_then(|()| keeper::remove(found)) {
        tracing::error!(%error, keeper = %found.id(), "an app-server could not be ended");
    }
}
