//! The way from a command to the daemon: find it, start it if it is not there, end it.

mod end;
mod replace;
mod start;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ostler_codex::keeper::{self, Above};
use ostler_server::client::{Client, ClientError, ClientSettings, Versions};
use ostler_server::lock::{self, Held};
use ostler_server::problem::Trouble;
use tokio::time::{Instant, sleep};

use crate::failure::{Exit, Failure};
use crate::places::{self, Places};
use crate::settings::ConfigFile;

pub(crate) use end::{End, stop};
pub(crate) use replace::{SUCCESSOR_PATIENCE, replace};
pub(crate) use start::{DetachArguments, Start, detach, start};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One call. A daemon that commits to a slow disk may need seconds; past this it is not well.
const CALL_DEADLINE: Duration = Duration::from_secs(30);

/// Tells commands not to start a daemon, like `--no-start`.
const NO_START: &str = "OSTLER_NO_DAEMON_START";

/// For every command that talks to the daemon.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReachArguments {
    /// Fail if no daemon runs, instead of starting one
    #[arg(long)]
    no_start: bool,
}

/// A connection to a daemon of our own version, which is started if there is none.
///
/// A daemon of another version is an error that says what to do: it may have work under way, so it is replaced only when
/// somebody says so.
pub(crate) async fn reach(places: &Places, arguments: &ReachArguments) -> Result<Client, Failure> {
    let versions = Versions::Only(VERSION.to_owned());
    let may_start = !arguments.no_start && places::variable(NO_START).is_none();
    match Client::connect(client_settings(places, versions.clone())?).await {
        Err(ClientError::NotRunning(_)) if may_start => {
            start(places).await?;
            Ok(Client::connect(client_settings(places, versions)?).await?)
        }
        // One that is being replaced is back in a moment.
        Err(ClientError::NotRunning(_)) if start::is_held_or_passed_on(places).await? => {
            start::wait(places, versions).await
        }
        connected => Ok(connected?),
    }
}

/// A connection to a daemon that answers, after the one before has gone.
///
/// One that was killed closes its connections before its socket, which takes new ones that are cut off a moment later.
pub(crate) async fn reach_again(
    places: &Places,
    arguments: &ReachArguments,
) -> Result<Client, Failure> {
    let deadline = Instant::now() + CALL_DEADLINE;
    loop {
        let mut client = reach(places, arguments).await?;
        match client.health().await {
            Ok(_) => return Ok(client),
            Err(ClientError::Closed | ClientError::Broken(_)) if Instant::now() < deadline => {}
            Err(ClientError::Problem(problem))
                if problem.is(Trouble::Closing) && Instant::now() < deadline => {}
            Err(error) => return Err(error.into()),
        }
        sleep(start::LOOK_AGAIN).await;
    }
}

pub(crate) fn client_settings(
    places: &Places,
    versions: Versions,
) -> Result<ClientSettings, Failure> {
    Ok(ClientSettings { socket: socket(places)?, versions, deadline: CALL_DEADLINE })
}

/// Where the daemon is reached: the one that runs says so itself, whatever the settings say by now. Otherwise they say where
/// it will listen, or where a service manager does already.
pub(crate) fn socket(places: &Places) -> Result<PathBuf, Failure> {
    match lock::look(&places.daemon_lock())? {
        Held::By(holder) => Ok(holder.socket.unwrap_or_else(|| places.usual_daemon_socket())),
        Held::Free | Held::BySomebody => {
            Ok(ConfigFile::load(places)?.config().daemon.socket.clone())
        }
    }
}

/// A daemon lives in the environment of whoever starts it and decides for people, so no agent starts or ends one.
pub(crate) fn refuse_agents(places: &Places, to_do: &str) -> Result<(), Failure> {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    match keeper::above(&places.keepers(), pid) {
        Above::Nothing => Ok(()),
        above => {
            let message = format!("an agent may not {to_do}: this process {above}");
            Err(Failure::new(Exit::Usage, message)
                .hint("let a person do it, from a terminal of their own"))
        }
    }
}
