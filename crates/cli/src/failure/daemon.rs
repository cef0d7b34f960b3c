//! What errors around the daemon mean at the door.

use ostler_server::client::ClientError;
use ostler_server::lock::{Held, LockError};
use ostler_server::problem::{Problem, Trouble};
use ostler_server::tcp::TcpError;
use ostler_server::{DoorError, activation::ActivationError};
use semver::Version;

use super::{Exit, Failure};

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::NotRunning(_) => Self::new(Exit::DaemonUnreachable, message)
                .hint("start it with `ostler daemon start`"),
            ClientError::Skew { daemon, own } => {
                Self::new(Exit::DaemonUnreachable, message).hint(skew_hint(&daemon, &own))
            }
            ClientError::TimedOut(_) => Self::new(Exit::DaemonUnreachable, message)
                .hint("`ostler daemon status` shows where its log is; `ostler daemon restart` replaces it"),
            ClientError::Unreachable { .. } | ClientError::Closed | ClientError::Broken(_) => {
                Self::new(Exit::DaemonUnreachable, message).hint("`ostler daemon status` looks for it")
            }
            ClientError::Refused(problem) | ClientError::Problem(problem) => {
                let failure = Self::new(exit(&problem), message);
                match problem.hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
        }
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        let failure = Self::new(Exit::Failed, error.to_string());
        match error {
            LockError::Held(Held::By(holder)) if holder.is_service => failure
                .hint("the service manager runs it: `systemctl --user status ostler.service`"),
            LockError::Held(_) => {
                failure.hint("`ostler daemon stop` ends it, `ostler daemon restart` replaces it")
            }
            LockError::File { .. } => failure,
        }
    }
}

impl From<DoorError> for Failure {
    fn from(error: DoorError) -> Self {
        let failure = Self::new(Exit::Failed, error.to_string());
        match error {
            DoorError::PathTooLong(_) => {
                failure.hint("set OSTLER_HOME or XDG_RUNTIME_DIR to a shorter path")
            }
            DoorError::Taken(_) => failure.hint(
                "if it is systemd's socket, `systemctl --user start ostler.service` starts the daemon",
            ),
            _ => failure,
        }
    }
}

impl From<TcpError> for Failure {
    fn from(error: TcpError) -> Self {
        let exit = if matches!(error, TcpError::NeedsTls(_)) { Exit::Usage } else { Exit::Failed };
        Self::new(exit, error.to_string())
    }
}

impl From<ActivationError> for Failure {
    fn from(error: ActivationError) -> Self {
        Self::new(Exit::Failed, error.to_string())
    }
}

fn exit(problem: &Problem) -> Exit {
    match problem.status() {
        _ if problem.is(Trouble::Busy) => Exit::TryAgainLater,
        400 => Exit::Usage,
        404 => Exit::NotFound,
        503 => Exit::TryAgainLater,
        _ => Exit::Failed,
    }
}

/// Only a person replaces a daemon: turns go on meanwhile, but whoever is attached to one is cut off.
fn skew_hint(daemon: &str, own: &str) -> &'static str {
    let newer = match (Version::parse(own), Version::parse(daemon)) {
        (Ok(own), Ok(daemon)) => own > daemon,
        _ => true,
    };
    if newer {
        "`ostler daemon restart` replaces the daemon by this version; running turns go on"
    } else {
        "this ostler is the older one: use the newer, or `ostler daemon restart` to go back to this one"
    }
}
