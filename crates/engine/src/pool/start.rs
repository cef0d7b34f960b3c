//! Bringing up an app-server on a home that is free for its version.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::tz::TimeZone;
use ostler_codex::driver::{ConnectError, Driver, DriverSettings, DriverTask, KeeperConnector};
use ostler_codex::keeper::environment::EnvironmentRule;
use ostler_codex::keeper::{self, Condition, StartKeeper};
use ostler_codex::peer::PeerSettings;
use ostler_codex::protocol::CodexVersion;
use ostler_codex::start_fault::StartFault;
use ostler_model::{Failure, FailureClass, TaskId};
use ostler_store::{StoreError, Write};
use tokio::time::{Instant, timeout};

use super::homes::Tenancy;
use super::kind::{Purpose, canonical, named_home};
use super::server::{Seat, Server, Use};
use super::{Kind, Pool, too_old};

/// From one look at the keepers of others to the next; they do not tell when they end.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

impl Pool {
    /// Waits for the home if need be. The seat is taken before anybody else sees the server, so it is never idle in between.
    pub(super) async fn start(
        self: &Arc<Self>,
        kind: &Kind,
        isolated_for: Option<TaskId>,
        deadline: Instant,
    ) -> Result<Seat, Failure> {
        let tenancy = self.move_in(kind, deadline).await?;
        let login = Some(kind.login.content.clone());
        let purpose = Purpose { digest: kind.digest.clone(), login, isolated_for };
        let connector = Arc::new(self.connector(kind, &purpose));
        let started = Driver::start(connector.clone(), driver_settings()).await;
        let (driver, task) = match started {
            Ok(started) => started,
            Err(error) => {
                // It may run and not answer.
                self.end_keeper(connector.keeper()).await;
                return Err(unreached(error));
            }
        };
        let welcomed = self.welcome(driver, task, connector.clone(), purpose, tenancy).await;
        let welcomed = match welcomed {
            Ok(server) => self.refuse_older(kind, server).await,
            Err(failure) => Err(failure),
        };
        let server = match welcomed {
            Ok(server) => server,
            Err(failure) => {
                // Nobody knows of it yet, so nobody else would end it.
                self.end_keeper(connector.keeper()).await;
                return Err(failure);
            }
        };
        let seat = Seat::take(server.clone(), self.wants_look.clone());
        self.state().servers.push(server);
        self.wants_look.notify_one();
        Ok(seat)
    }

    /// A server that answers: its home belongs to its version from now on.
    pub(super) async fn welcome(
        &self,
        driver: Driver,
        task: DriverTask,
        connector: Arc<KeeperConnector>,
        purpose: Purpose,
        tenancy: Tenancy,
    ) -> Result<Arc<Server>, Failure> {
        let answered = driver.server().await;
        let answered = answered.map_err(unreached)?;
        let version = answered.version().clone();
        // What it says itself counts, whatever we thought of its environment.
        let home = answered.greeting().codex_home.as_deref().map(|home| canonical(Path::new(home)));
        let home = home.unwrap_or_else(|| tenancy.home().to_owned());
        let tenancy = match home == tenancy.home() && version == *tenancy.version() {
            true => tenancy,
            false => self.homes.occupy(&home, &version),
        };
        self.put_pin(&home, &version).await.map_err(|error| unwritable(&error))?;
        Ok(Arc::new(Server {
            driver,
            _task: task,
            connector,
            purpose,
            version,
            home,
            _tenancy: tenancy,
            is_retired: AtomicBool::new(false),
            is_refused: AtomicBool::new(false),
            use_: Use::none(),
        }))
    }

    /// A binary may be replaced between the look at it and its start.
    async fn refuse_older(&self, kind: &Kind, server: Arc<Server>) -> Result<Arc<Server>, Failure> {
        match self.pin(&server.home).await? {
            Some(pin) if pin > server.version => {
                let kind = Kind { version: server.version.clone(), ..kind.clone() };
                Err(too_old(&kind, &pin))
            }
            _ => Ok(server),
        }
    }

    /// The newest version that has run on this home.
    pub(super) async fn pin(&self, home: &Path) -> Result<Option<CodexVersion>, Failure> {
        let pin = self
            .store
            .home_pin(&home.to_string_lossy())
            .await
            .map_err(|error| unwritable(&error))?;
        Ok(pin.as_deref().and_then(CodexVersion::parse))
    }

    pub(super) fn connector(&self, kind: &Kind, purpose: &Purpose) -> KeeperConnector {
        let start = StartKeeper {
            root: self.settings().keepers.clone(),
            program: self.settings().program.clone(),
            codex: kind.codex.clone(),
            codex_version: Some(kind.version.to_string()),
            environment: self.settings().environment.clone(),
            environment_rule: EnvironmentRule {
                codex_home: kind.given_home.clone(),
                keep: self.settings().keep.clone(),
                given: kind.given.clone(),
                ..EnvironmentRule::default()
            },
            purpose: Some(purpose.text()),
            extra_arguments: Vec::new(),
            open_files: self.settings().open_files_per_server,
            ready_deadline: self.settings().ready_deadline,
        };
        KeeperConnector::new(start, PeerSettings::default()).telling(self.wants_look.clone())
    }

    pub(super) fn still_occupied(&self, kind: &Kind) -> Failure {
        let others = self.homes.others(&kind.home, &kind.version);
        let others = others.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let (home, version) = (kind.home.display(), &kind.version);
        Failure::new(
            FailureClass::Busy,
            format!(
                "Codex {version} waits for the home {home}, on which another version ({others}) is at work, and two versions \
                 must not use one home at once; wait for its tasks to end, or give this one another home"
            ),
        )
    }

    /// While tasks of another version run there this one waits, and no further ones of an older version begin.
    async fn move_in(self: &Arc<Self>, kind: &Kind, deadline: Instant) -> Result<Tenancy, Failure> {
        let _claim = self.homes.claim(&kind.home, &kind.version);
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let pin = self.pin(&kind.home).await?;
            if let Some(pin) = pin.as_ref().filter(|pin| **pin > kind.version) {
                return Err(too_old(kind, pin));
            }
            let wait_at_most = match self.homes.enter(&kind.home, &kind.version) {
                // Whoever has the home by its pin needs not look around.
                Some(tenancy) if pin.as_ref() == Some(&kind.version) => return Ok(tenancy),
                Some(tenancy) => match self.is_used_by_others(kind).await {
                    false => return Ok(tenancy),
                    true => LOOK_AGAIN,
                },
                None => {
                    self.end_unused_of_other_versions(kind);
                    self.settings().waits.home
                }
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.still_occupied(kind));
            }
            // Either way the loop looks again.
            drop(timeout(wait_at_most.min(left), changed.changed()).await);
        }
    }

    /// Keepers that are not for tasks: people run Codex under them, perhaps another version on the same home.
    async fn is_used_by_others(&self, kind: &Kind) -> bool {
        let keepers = self.settings().keepers.clone();
        let listed = tokio::task::spawn_blocking(move || keeper::list(&keepers)).await;
        let Ok(Ok(found)) = listed else { return false };
        let version = kind.version.to_string();
        found.iter().any(|found| {
            let Some(record) = &found.record else { return false };
            let lives = matches!(found.condition, Condition::Running | Condition::KeeperDead);
            let is_ours = record.purpose.as_deref().and_then(Purpose::parse).is_some();
            let other_version =
                record.codex_version.as_ref().is_some_and(|theirs| *theirs != version);
            let home = named_home(record.codex_home.as_deref(), &self.settings().environment);
            lives && !is_ours && other_version && canonical(&home) == kind.home
        })
    }

    async fn put_pin(&self, home: &Path, version: &CodexVersion) -> Result<(), StoreError> {
        let codex_home = home.to_string_lossy().into_owned();
        let pin = self.store.home_pin(&codex_home).await?;
        let pin = pin.as_deref().and_then(CodexVersion::parse);
        if pin.is_none_or(|pin| pin < *version) {
            let pin = Write::HomePin { codex_home, version: version.to_string() };
            self.store.commit(pin.into()).await?;
        }
        Ok(())
    }
}

/// Codex lives where we live.
pub(super) fn driver_settings() -> DriverSettings {
    DriverSettings { time_zone: TimeZone::system(), ..DriverSettings::default() }
}

pub(super) fn unreached(error: ConnectError) -> Failure {
    let class = class_of(error.fault);
    Failure { evidence: error.evidence, ..Failure::new(class, error.message) }
}

/// What passes is tried again, what a Codex would change is waited for, and the rest ends the task.
pub(crate) fn class_of(fault: StartFault) -> FailureClass {
    match fault {
        StartFault::Passing => FailureClass::ServerGone,
        StartFault::NoCodex => FailureClass::NoCodex,
        StartFault::Lasting => FailureClass::BadRequest,
    }
}

pub(super) fn gone(message: String, evidence: Option<String>) -> Failure {
    Failure { evidence, ..Failure::new(FailureClass::ServerGone, message) }
}

fn unwritable(error: &StoreError) -> Failure {
    let message = format!("it cannot be seen which Codex the home belongs to: {error}");
    Failure::new(FailureClass::ServerGone, message)
}
