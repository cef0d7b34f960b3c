//! `ostler daemon`: the daemon in the background.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ostler_server::StopMode;
use ostler_server::client::{Client, ClientError, Versions};
use ostler_server::lock::{self, Held, Holder};
use ostler_server::routes::Health;
use serde_json::json;

use crate::daemon::{self, DetachArguments, End, ReachArguments, Start, VERSION};
use crate::failure::{Exit, Failure};
use crate::lost_database;
use crate::places::Places;
use crate::running::block_on;
use crate::settings::ConfigFile;
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct DaemonArguments {
    #[command(subcommand)]
    command: DaemonCommand,
}

#[derive(Debug, Subcommand)]
enum DaemonCommand {
    /// Start it unless it runs; commands that need it do this by themselves
    Start(StartArguments),
    /// End it; running turns go on, and the next daemon finds them again
    Stop(StopArguments),
    /// Show whether it runs and answers
    Status,
    /// Replace it by this version of ostler, e.g. after an upgrade; running turns go on
    Restart(StopArguments),
    /// Ask it who it is and how it sees us, and start it if need be
    #[command(hide = true)]
    Ping(ReachArguments),
    /// First stage of a daemon: starts it and tells its pid
    #[command(hide = true)]
    Detach(DetachArguments),
}

#[derive(Debug, Args)]
struct StartArguments {
    /// Go on with what is there after the database, or a part of it, was lost
    #[arg(long)]
    accept_lost_database: bool,
}

#[derive(Debug, Args)]
struct StopArguments {
    /// Do not wait for requests under way, and kill it if it does not end
    #[arg(long)]
    now: bool,
}

impl StopArguments {
    fn mode(&self) -> StopMode {
        if self.now { StopMode::Now } else { StopMode::Graceful }
    }
}

pub(crate) fn run(arguments: &DaemonArguments, output: Output) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    match &arguments.command {
        DaemonCommand::Start(arguments) => start(&places, arguments, output)?,
        DaemonCommand::Stop(arguments) => stop(&places, arguments.mode(), output)?,
        DaemonCommand::Status => return block_on(status(&places, output)),
        DaemonCommand::Restart(arguments) => restart(&places, arguments.mode(), output)?,
        DaemonCommand::Ping(arguments) => ping(&places, arguments, output)?,
        DaemonCommand::Detach(arguments) => {
            Output::new(false).say(&daemon::detach(&places, arguments)?.to_string());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn start(places: &Places, arguments: &StartArguments, output: Output) -> Result<(), Failure> {
    let is_free = lock::look(&places.daemon_lock())? == Held::Free;
    if arguments.accept_lost_database && is_free && places.daemon_lock().exists() {
        daemon::refuse_agents(places, "accept the loss of the database")?;
        lost_database::accept(places, ConfigFile::load(places)?.config())?;
    }
    let started = block_on(daemon::start(places))?;
    let (word, health) = match &started {
        Start::Started(health) => ("started", health),
        Start::RanAlready(health) => ("runs already", health),
    };
    tell(places, word, health, output)?;
    if health.version != VERSION {
        let version = &health.version;
        output.note(&format!(
            "it is ostler {version} and this is {VERSION}; `ostler daemon restart` replaces it"
        ));
    }
    Ok(())
}

fn tell(places: &Places, word: &str, health: &Health, output: Output) -> Result<(), Failure> {
    let socket = daemon::socket(places)?;
    output.say(&format!("daemon {word}: pid {}, {}", health.pid, socket.display()));
    output.emit(&json!({
        "did": word,
        "pid": health.pid,
        "version": health.version,
        "epoch": health.epoch,
        "socket": socket,
        "log": places.daemon_log(),
    }));
    Ok(())
}

fn stop(places: &Places, mode: StopMode, output: Output) -> Result<(), Failure> {
    let ended = block_on(daemon::stop(places, mode))?;
    let pid = match &ended {
        End::NothingRan => {
            output.say("no daemon runs");
            None
        }
        End::Ended(holder) => {
            output.say(&format!("daemon ended: pid {}; running turns go on", holder.pid));
            if holder.is_service {
                output.note(
                    "the service manager starts it again when it is needed; \
                     `systemctl --user stop ostler.socket ostler.service` ends that, too",
                );
            }
            Some(holder.pid)
        }
    };
    output.emit(&json!({ "ended": pid }));
    Ok(())
}

fn restart(places: &Places, mode: StopMode, output: Output) -> Result<(), Failure> {
    let (before, health) = block_on(daemon::replace(places, mode))?;
    if let End::Ended(before) = before {
        output.say(&format!("daemon ended: pid {}, ostler {}", before.pid, before.version));
    }
    if health.version != VERSION {
        let message = format!("a daemon of ostler {} came up instead of this one", health.version);
        return Err(Failure::new(Exit::Failed, message).hint(
            "if the service manager started it, `ostler service install` points it to this program",
        ));
    }
    tell(places, "started", &health, output)
}

async fn status(places: &Places, output: Output) -> Result<ExitCode, Failure> {
    // The lock is looked at first: where a service manager listens, asking would start one.
    let holder = match lock::look(&places.daemon_lock())? {
        Held::Free => None,
        Held::By(holder) => Some(holder),
        Held::BySomebody => {
            return Err(Failure::new(Exit::TryAgainLater, "the daemon is just starting"));
        }
    };
    let Some(holder) = holder else {
        output.say("no daemon runs");
        output.emit(&json!({ "running": false }));
        return Ok(ExitCode::from(Exit::DaemonUnreachable as u8));
    };
    let settings = daemon::client_settings(places, Versions::Any)?;
    let asked = async { Client::connect(settings).await?.health().await };
    let answer = asked.await;
    show(places, &holder, answer.as_ref().ok(), output);
    match answer {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            output.note(&format!("it does not answer: {error}"));
            Ok(ExitCode::from(Exit::DaemonUnreachable as u8))
        }
    }
}

fn show(places: &Places, holder: &Holder, health: Option<&Health>, output: Output) {
    let Holder { pid, started_at, version, epoch, is_service, socket, .. } = holder;
    let socket = socket.clone().unwrap_or_else(|| places.usual_daemon_socket());
    let log = places.daemon_log();
    let by = if *is_service { "the service manager" } else { "`ostler daemon start` or by hand" };
    output.say(&format!(
        "daemon    pid {pid}, ostler {version}, epoch {epoch}\n\
         since     {started_at}, started by {by}\n\
         socket    {}\n\
         log       {}",
        socket.display(),
        if *is_service { "journalctl --user -u ostler".into() } else { log.display().to_string() },
    ));
    let listens = health.and_then(|health| health.listens.as_ref());
    if let Some(listens) = listens {
        output.say(&format!("page      {}; `ostler open` logs in", listens.url()));
    }
    output.emit(&json!({
        "running": true,
        "answers": health.is_some(),
        "listens": listens,
        "pid": pid,
        "version": version,
        "started_at": started_at,
        "epoch": epoch,
        "is_service": is_service,
        "socket": socket,
        "log": log,
    }));
}

fn ping(places: &Places, arguments: &ReachArguments, output: Output) -> Result<(), Failure> {
    let health = block_on(async {
        let mut client = daemon::reach(places, arguments).await?;
        match client.health().await {
            // It ended before it was asked, so another one answers as well.
            Err(ClientError::Closed) => {
                Ok(daemon::reach_again(places, arguments).await?.health().await?)
            }
            health => Ok(health?),
        }
    })?;
    output
        .say(&format!("daemon {}: ostler {}, epoch {}", health.pid, health.version, health.epoch));
    output.emit(&health);
    Ok(())
}
