//! Replacing the daemon while turns run: the upgrade.
//!
//! The new one is started first and waits for the lock, which passes from one to the other and is free only for the blink in which
//! the kernel wakes who waits. So whoever finds nobody at the door sees by the lock that a daemon is about to open it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use ostler_codex::keeper::ProcessIdentity;
use ostler_server::StopMode;
use ostler_server::lock::{self, Held};
use ostler_server::routes::Health;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use super::start::{Begun, Stage};
use super::{End, Start, refuse_agents, start, stop};
use crate::failure::Failure;
use crate::places::Places;

/// As long as the one before may take to end, and some more.
pub(crate) const SUCCESSOR_PATIENCE: Duration = Duration::from_secs(60);

/// A process is at the lock after milliseconds; the rest is for a busy machine.
const WAITING_DEADLINE: Duration = Duration::from_secs(20);

/// From the lock to the first answer are milliseconds; a store that is brought up to date may take longer.
const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Ends the daemon, if one runs, and starts one of this version. Keepers and their turns live on.
pub(crate) async fn replace(places: &Places, mode: StopMode) -> Result<(End, Health), Failure> {
    let is_plain =
        matches!(lock::look(&places.daemon_lock())?, Held::By(holder) if !holder.is_service);
    if !is_plain {
        // A service manager listens on while the daemon is away, and starts the next one itself.
        let before = stop(places, mode).await?;
        let (Start::Started(health) | Start::RanAlready(health)) = start(places).await?;
        return Ok((before, health));
    }
    refuse_agents(places, "replace the daemon")?;
    let _replacing = announce(places);
    let begun = Begun::begin(places, Stage::Successor).await?;
    until_it_waits(&begun).await?;
    let before = match stop(places, mode).await {
        Ok(before) => before,
        Err(failure) => {
            give_up(&begun);
            return Err(failure);
        }
    };
    let deadline = Instant::now() + ANSWER_DEADLINE;
    loop {
        let is_alive = begun.is_alive();
        match super::start::ask(places, ANSWER_DEADLINE).await? {
            Some(health) if begun.is(health.pid) => return Ok((before, health)),
            _ if !is_alive => {
                return Err(begun.failed("the new daemon ended right after its start"));
            }
            _ if Instant::now() >= deadline => {
                return Err(begun.failed("the new daemon does not open its door"));
            }
            _ => sleep(LOOK_AGAIN).await,
        }
    }
}

/// Lets whoever finds neither a daemon nor its lock see that the next one is on its way: on a busy machine the blink is longer than
/// anybody would wait who must not start one. Whoever else replaces it at the same time has said so for us.
fn announce(places: &Places) -> Option<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(places.replacing_lock()).ok()?;
    file.try_lock().ok().map(|()| file)
}

/// Returns when the new one stands at the lock; one that cannot get that far must not cost the old one its life.
async fn until_it_waits(begun: &Begun) -> Result<(), Failure> {
    let deadline = Instant::now() + WAITING_DEADLINE;
    loop {
        // A system that hides its locks shows only that the process lives on.
        let Ok(locks) = fs::read_to_string("/proc/locks") else { return Ok(()) };
        if begun.identity().is_some_and(|identity| waits(&locks, identity.pid)) {
            return Ok(());
        }
        if !begun.is_alive() {
            return Err(
                begun.failed("the new daemon did not come up; the one that runs is left alone")
            );
        }
        if Instant::now() >= deadline {
            give_up(begun);
            return Err(
                begun.failed("the new daemon takes too long; the one that runs is left alone")
            );
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Whether `/proc/locks` shows the process waiting: `1: -> FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`.
fn waits(locks: &str, pid: i32) -> bool {
    locks.lines().any(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        words.get(1..3) == Some(&["->", "FLOCK"])
            && words.get(5).and_then(|word| word.parse().ok()) == Some(pid)
    })
}

/// A successor that waits holds nothing yet, and minds no other signal.
fn give_up(begun: &Begun) {
    let alive = begun.identity().filter(|identity| ProcessIdentity::is_alive(*identity));
    if let Some(pid) = alive.and_then(|identity| Pid::from_raw(identity.pid))
        && let Err(error) = kill_process(pid, Signal::KILL)
    {
        tracing::warn!(%error, "the new daemon could not be ended");
    }
}
