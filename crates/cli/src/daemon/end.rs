//! Ending the daemon, and being sure that it has ended.

use std::time::Duration;

use ostler_codex::keeper::ProcessIdentity;
use ostler_server::StopMode;
use ostler_server::client::{Client, ClientError, ClientSettings, Versions};
use ostler_server::lock::{self, Held, Holder};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::time::{Instant, sleep};

use super::{client_settings, refuse_agents};
use crate::failure::{Exit, Failure};
use crate::places::Places;

/// Whoever is asked to end answers at once; a daemon that does not is ended by a signal.
const ASK_DEADLINE: Duration = Duration::from_secs(5);

/// From "now" to SIGKILL. A daemon that is well ends within milliseconds.
const NOW_PATIENCE: Duration = Duration::from_secs(3);

/// The door waits 5 s for requests under way; the rest is for a store that writes its last.
const END_DEADLINE: Duration = Duration::from_secs(30);

/// A process lets go of its lock a moment before it is gone. Nothing depends on it any more.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Between two looks whether the lock is free.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What was there to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Ended(Holder),
    NothingRan,
}

/// Ends the daemon and waits until it is gone. Keepers and their turns live on.
///
/// A daemon that cannot be reached is ended by a signal: the lock says which process it is.
pub(crate) async fn stop(places: &Places, mode: StopMode) -> Result<End, Failure> {
    let lock = places.daemon_lock();
    let holder = match lock::look(&lock)? {
        Held::Free => return Ok(End::NothingRan),
        Held::By(holder) => holder,
        Held::BySomebody => return Err(unnamed()),
    };
    // It holds the lock now, so this is the process that is meant.
    let process = i32::try_from(holder.pid).ok().and_then(ProcessIdentity::of);
    let settings = client_settings(places, Versions::Any)?;
    let asked = async {
        let settings = ClientSettings { deadline: ASK_DEADLINE, ..settings };
        let mut client = Client::connect(settings).await?;
        client.stop(mode).await
    };
    match asked.await {
        Ok(_) => {}
        Err(error @ (ClientError::Refused(_) | ClientError::Problem(_))) => {
            return Err(error.into());
        }
        Err(_) => {
            refuse_agents(places, "stop the daemon")?;
            signal(places, &holder, Signal::TERM)?;
        }
    }
    let began = Instant::now();
    let mut is_killed = false;
    while is_held_by(places, &holder)? {
        if mode == StopMode::Now && !is_killed && began.elapsed() >= NOW_PATIENCE {
            is_killed = true;
            signal(places, &holder, Signal::KILL)?;
        }
        if began.elapsed() >= END_DEADLINE {
            let message = format!("the daemon (pid {}) does not end", holder.pid);
            return Err(Failure::new(Exit::TimedOut, message)
                .hint("`ostler daemon stop --now` does not wait for requests under way"));
        }
        sleep(LOOK_AGAIN).await;
    }
    let began = Instant::now();
    while process.is_some_and(ProcessIdentity::is_alive) && began.elapsed() < LAST_MOMENT {
        sleep(LOOK_AGAIN).await;
    }
    Ok(End::Ended(holder))
}

fn is_held_by(places: &Places, holder: &Holder) -> Result<bool, Failure> {
    Ok(match lock::look(&places.daemon_lock())? {
        Held::Free => false,
        Held::By(other) => other == *holder,
        // Another one has begun and not yet written its name.
        Held::BySomebody => false,
    })
}

fn signal(places: &Places, holder: &Holder, signal: Signal) -> Result<(), Failure> {
    let failed = |error: rustix::io::Errno| {
        Failure::new(Exit::Failed, format!("cannot end the daemon (pid {}): {error}", holder.pid))
    };
    let pid = i32::try_from(holder.pid).ok().and_then(Pid::from_raw).ok_or_else(unnamed)?;
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    // The handle is fixed now; as long as that daemon holds the lock, its pid means no other process.
    if !is_held_by(places, holder)? {
        return Ok(());
    }
    match pidfd_send_signal(handle, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

fn unnamed() -> Failure {
    Failure::new(Exit::TryAgainLater, "a daemon is just starting; try again in a moment")
}
