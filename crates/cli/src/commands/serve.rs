//! `ostler serve`: the daemon itself, from its lock to its last word.

mod difference;
mod engine_settings;
mod notify_settings;
mod signals;
mod tasks;

pub(crate) use engine_settings::{homes, own_server, task_defaults};

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use ostler_codex::keeper::{self, Above};
use ostler_config::settings::Server;
use ostler_engine::AuditLog;
use ostler_server::activation;
use ostler_server::guard::{Guard, GuardSettings, Hosts, Unseen, guard_routes};
use ostler_server::heart::{Heart, Pulse};
use ostler_server::lock::{Claim, DaemonLock, LockError};
use ostler_server::routes::routes;
use ostler_server::tcp::{TcpDoor, TcpSettings, TlsFiles};
use ostler_server::{
    Door, DoorSettings, Hall, Limits, Listens, Look, Standing, StopMode, task_routes,
};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::daemon::{SUCCESSOR_PATIENCE, VERSION, refuse_agents};
use crate::failure::{Exit, Failure};
use crate::logging::{self, DaemonLog};
use crate::lost_database;
use crate::places::{self, Places};
use crate::running::daemon_runtime;
use crate::settings::ConfigFile;
use crate::supervisor::Supervisor;
use crate::terminal::tell;
use difference::Difference;
use signals::{Request, Signals};
use tasks::{Minded, Tasks};

/// Each loop goes round so often that one missed round is no alarm yet, and the manager hears of it in time: twice per
/// watchdog period, as `sd_watchdog_enabled(3)` advises.
const BEATS_PER_PERIOD: u32 = 6;
const TOLD_PER_PERIOD: u32 = 2;

/// Stands for "never" where nobody watches; it is not waited for.
const UNWATCHED: Duration = Duration::from_secs(3600);

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// In a session of its own and with a log file, as `ostler daemon start` does it
    #[arg(long, hide = true)]
    detached: bool,
    /// Wait for the daemon that runs to end, and take its place
    #[arg(long, hide = true)]
    successor: bool,
    /// Also listen on TCP, for browsers and programs; `[server] listen` in the configuration does the same
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// The certificate, as PEM; an address that other machines reach needs one
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
}

impl ServeArguments {
    /// What was typed, or else what the configuration says.
    fn tcp(&self, config: &Server) -> Option<TcpSettings> {
        let files = |certificate: &Option<PathBuf>, key: &Option<PathBuf>| {
            Some(TlsFiles::new(certificate.clone()?, key.clone()?))
        };
        let tls = files(&self.tls_certificate, &self.tls_key)
            .or_else(|| files(&config.tls_certificate, &config.tls_key));
        self.listen.or(config.listen).map(|address| TcpSettings { address, tls })
    }
}

pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    places::private_folder(&places.runtime)?;
    places::private_folder(&places.state)?;
    let log = if arguments.detached {
        // Whoever leads a group already has lost its terminal some other way.
        if let Err(error) = rustix::process::setsid() {
            tell(&format!("no session of our own: {error}"));
        }
        DaemonLog::File(places.daemon_log())
    } else {
        DaemonLog::Stderr
    };
    let config = ConfigFile::load(&places);
    let level = config.as_ref().map_or("info", |file| file.config().daemon.log.as_str());
    logging::start_daemon(log, level)?;
    refuse_agents(&places, "run the daemon")?;
    // Before anything is opened: a file with faults is no file to run on.
    let served =
        config.and_then(|config| daemon_runtime()?.block_on(serve(arguments, places, config)));
    if let Err(failure) = &served {
        tracing::error!("{}", failure.message);
    }
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(
    arguments: &ServeArguments,
    places: Places,
    config: ConfigFile,
) -> Result<(), Failure> {
    // From here on no signal ends the process any more.
    let signals = Signals::listen()?;
    let environment = places::environment();
    let supervisor = Supervisor::find(&environment);
    let inherited = activation::inherited(&environment)?;
    let started_at = Timestamp::now();
    let is_service = supervisor.is_there();
    let settings = match inherited {
        Some(socket) => DoorSettings::Inherited(socket),
        None => DoorSettings::Path(config.config().daemon.socket.clone()),
    };
    let socket = settings.path()?;
    if let DoorSettings::Path(path) = &settings {
        places::private_folder(path.parent().unwrap_or(&places.runtime))?;
    }
    let claim = Claim { version: VERSION.to_owned(), started_at, is_service, socket };
    let mut lock = if arguments.successor {
        DaemonLock::take_over(&places.daemon_lock(), claim, SUCCESSOR_PATIENCE)?
    } else {
        match DaemonLock::take(&places.daemon_lock(), claim) {
            // Several commands may start a daemon at once; all of them find the one that won.
            Err(error @ LockError::Held(_)) if arguments.detached => {
                tracing::info!("not needed: {error}");
                return Ok(());
            }
            taken => taken?,
        }
    };
    lost_database::check(&lock, &places, config.config())?;
    let door = Door::open(settings, Limits::default(), &lock)?;
    let tcp = arguments.tcp(&config.config().server).map(|tcp| TcpDoor::open(&tcp)).transpose()?;
    let holder = lock.holder().clone();
    let hall = Arc::new(Hall::new(VERSION, holder.pid, started_at, holder.epoch));
    let heart = Heart::new(match supervisor.watchdog() {
        Some(period) => Pulse::Every(period / BEATS_PER_PERIOD),
        None => Pulse::Never,
    });
    let (tasks, engine) = Tasks::take_up(&places, &config, &mut lock).await?;
    let office = tasks.office(&places, &config, &hall);
    let look = look(&places.keepers());
    let settings = guard_settings(tcp.as_ref(), &config.config().server);
    let store = office.engine.store().clone();
    let audit = AuditLog::open(store.clone());
    hall.audits_to(audit.clone());
    let guard = Arc::new(Guard::open(settings, store, look.clone()).await?);
    let more = [task_routes(office.clone()), guard_routes(guard.clone(), hall.clone())];
    let router = routes(hall.clone(), more);
    let tasks = tasks.mind(engine, office, heart.part("dispatcher"));
    let mut status = format!("listens on {}", door.path().display());
    let door = match tcp {
        None => door,
        Some(tcp) => {
            let listens = Listens { address: tcp.address(), tls: tcp.speaks_tls() };
            status = format!("{status} and {}", listens.url());
            hall.listens_on(listens);
            door.with_tcp(tcp, guard)
        }
    };
    tracing::info!(
        pid = holder.pid,
        epoch = holder.epoch,
        version = VERSION,
        "the daemon {status}"
    );
    let serving = tokio::spawn(door.serve(router, hall.clone(), look, heart.part("door")));
    // Whoever finds this and no log of SQLite's knows that something is lost.
    let database = config.config().store.path.clone();
    lost_database::note(&mut lock, &database, true);
    supervisor.ready(&status);
    let watch = Watch { signals, supervisor, heart, hall, places, config, tasks: &tasks };
    let served = watch.over(serving).await;
    // Nobody asks for anything any more; what runs is written down.
    audit.end().await;
    let ended = tasks.end(|| lost_database::note(&mut lock, &database, false)).await;
    tracing::info!("the daemon has ended; keepers live on");
    // Only now may another one begin.
    drop(lock);
    served.and(ended)
}

fn guard_settings(tcp: Option<&TcpDoor>, config: &Server) -> GuardSettings {
    let hosts = tcp.map(|tcp| Hosts::of(tcp.address(), tcp.speaks_tls(), &config.hosts));
    let unseen = if config.unseen_may_decide { Unseen::IsAPerson } else { Unseen::IsAnAgent };
    GuardSettings { hosts: hosts.unwrap_or_default(), unseen }
}

fn look(keepers: &Path) -> Look {
    let keepers = keepers.to_owned();
    Arc::new(move |pid| match keeper::above(&keepers, pid) {
        Above::Nothing => Standing::Person,
        Above::Keeper(id) => Standing::below(id.as_str(), Above::Keeper(id.clone()).to_string()),
        above => Standing::agent(above.to_string()),
    })
}

/// Minds signals, and tells the service manager how we are.
struct Watch<'a> {
    signals: Signals,
    supervisor: Supervisor,
    heart: Heart,
    hall: Arc<Hall>,
    places: Places,
    /// As it holds now.
    config: ConfigFile,
    tasks: &'a Minded,
}

impl Watch<'_> {
    /// Until the door is closed and everybody has left.
    async fn over(mut self, mut serving: JoinHandle<()>) -> Result<(), Failure> {
        let is_watched = self.supervisor.watchdog().is_some();
        let mut told = interval(self.supervisor.watchdog().unwrap_or(UNWATCHED) / TOLD_PER_PERIOD);
        told.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let closing = self.hall.closing().clone();
        let mut is_closing = false;
        loop {
            tokio::select! {
                // The first comes first, also if everybody has left by the time that we look.
                biased;
                () = closing.cancelled(), if !is_closing => {
                    is_closing = true;
                    let reason = self.hall.reason().unwrap_or_default();
                    tracing::info!(reason, "the daemon is about to end");
                    self.supervisor.stopping(&reason);
                }
                ended = &mut serving => {
                    return ended.map_err(|error| {
                        Failure::new(Exit::Failed, format!("the door fell shut: {error}"))
                    });
                }
                request = self.signals.next() => match request {
                    Request::End(signal) if is_closing => self.hall.close(StopMode::Now, signal),
                    Request::End(signal) => self.hall.close(StopMode::Graceful, signal),
                    Request::Reload => self.reload().await,
                },
                _ = told.tick(), if is_watched => self.tell(is_closing),
            }
        }
    }

    /// A door that is closing has left its loop, and has a deadline of its own.
    fn tell(&self, is_closing: bool) {
        let silent = self.heart.silent();
        if silent.is_empty() || is_closing {
            self.supervisor.alive();
        } else {
            tracing::error!(?silent, "a part of the daemon stands still");
        }
    }

    /// Settings that cannot be read leave the old ones in place.
    async fn reload(&mut self) {
        self.supervisor.reloading();
        let applied = async {
            let config = ConfigFile::load(&self.places)?;
            self.tasks.apply(&self.places, &config).await?;
            Ok::<ConfigFile, Failure>(config)
        };
        let status = match applied.await {
            Ok(config) => {
                let difference = Difference::between(&self.config.reading, &config.reading);
                self.config = config;
                difference.to_string()
            }
            Err(failure) => {
                let message = failure.message;
                tracing::error!("the settings stay as they were: {message}");
                // A status is one line.
                format!("settings not read: {}", message.lines().next().unwrap_or_default())
            }
        };
        tracing::info!("{status}");
        self.supervisor.ready(&status);
    }
}
