//! `ostler serve`: the daemon itself, from its lock to its last word.

mod engine_settings;
mod signals;
mod tasks;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use ostler_codex::keeper::{self, Above};
use ostler_server::activation;
use ostler_server::heart::{Heart, Pulse};
use ostler_server::lock::{Claim, DaemonLock};
use ostler_server::routes::routes;
use ostler_server::{Door, DoorSettings, Hall, Limits, Look, Standing, StopMode, task_routes};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::daemon::{SUCCESSOR_PATIENCE, VERSION, refuse_agents};
use crate::failure::{Exit, Failure};
use crate::logging::{self, DaemonLog};
use crate::places::{self, Places};
use crate::running::daemon_runtime;
use crate::settings::ConfigFile;
use crate::supervisor::Supervisor;
use crate::terminal::tell;
use signals::{Request, Signals};
use tasks::Tasks;

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
    logging::start_daemon(log)?;
    refuse_agents(&places, "run the daemon")?;
    let served = daemon_runtime()?.block_on(serve(arguments, places));
    if let Err(failure) = &served {
        tracing::error!("{}", failure.message);
    }
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(arguments: &ServeArguments, places: Places) -> Result<(), Failure> {
    // From here on no signal ends the process any more.
    let signals = Signals::listen()?;
    // Before anything is opened: a file with faults is no file to run on.
    let config = ConfigFile::load(&places)?;
    let environment = places::environment();
    let supervisor = Supervisor::find(&environment);
    let inherited = activation::inherited(&environment)?;
    let started_at = Timestamp::now();
    let is_service = supervisor.is_there();
    let claim = Claim { version: VERSION.to_owned(), started_at, is_service };
    let lock = if arguments.successor {
        DaemonLock::take_over(&places.daemon_lock(), claim, SUCCESSOR_PATIENCE)?
    } else {
        DaemonLock::take(&places.daemon_lock(), claim)?
    };
    let settings = match inherited {
        Some(socket) => DoorSettings::Inherited(socket),
        None => DoorSettings::Path(places.daemon_socket()),
    };
    let door = Door::open(settings, Limits::default(), &lock)?;
    let holder = lock.holder();
    let hall = Arc::new(Hall::new(VERSION, holder.pid, started_at, holder.epoch));
    let heart = Heart::new(match supervisor.watchdog() {
        Some(period) => Pulse::Every(period / BEATS_PER_PERIOD),
        None => Pulse::Never,
    });
    let (tasks, engine) = Tasks::take_up(&places, &config).await?;
    let router = routes(hall.clone(), [task_routes(tasks.office(&hall))]);
    let tasks = tasks.mind(engine, &hall);
    let status = format!("listens on {}", door.path().display());
    tracing::info!(
        pid = holder.pid,
        epoch = holder.epoch,
        version = VERSION,
        "the daemon {status}"
    );
    let look = look(&places.keepers());
    let serving = tokio::spawn(door.serve(router, hall.clone(), look, heart.part("door")));
    supervisor.ready(&status);
    let served = Watch { signals, supervisor, heart, hall, places }.over(serving).await;
    // Nobody asks for anything any more; what runs is written down.
    let ended = tasks.end().await;
    tracing::info!("the daemon has ended; keepers live on");
    // Only now may another one begin.
    drop(lock);
    served.and(ended)
}

fn look(keepers: &Path) -> Look {
    let keepers = keepers.to_owned();
    Arc::new(move |pid| match keeper::above(&keepers, pid) {
        Above::Nothing => Standing::Person,
        above => Standing::agent(above.to_string()),
    })
}

/// Minds signals, and tells the service manager how we are.
struct Watch {
    signals: Signals,
    supervisor: Supervisor,
    heart: Heart,
    hall: Arc<Hall>,
    places: Places,
}

impl Watch {
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
                    Request::Reload => self.reload(),
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
    fn reload(&self) {
        self.supervisor.reloading();
        let status = match ConfigFile::load(&self.places) {
            Ok(_) => "settings read again".to_owned(),
            Err(failure) => {
                tracing::error!("{}", failure.message);
                format!("settings not read: {}", failure.message)
            }
        };
        tracing::info!("{status}");
        self.supervisor.ready(&status);
    }
}
