//! What a keeper's errors mean at the door.

use ostler_codex::keeper::KeeperError;

use super::{Exit, Failure};

impl From<KeeperError> for Failure {
    fn from(error: KeeperError) -> Self {
        let (exit, hint) = match &error {
            KeeperError::SocketPathTooLong { .. } => {
                (Exit::Usage, Some("set OSTLER_HOME or XDG_RUNTIME_DIR to a shorter path"))
            }
            KeeperError::UnusablePath { .. }
            | KeeperError::NotRunnable { .. }
            | KeeperError::Ambiguous { .. } => (Exit::Usage, None),
            KeeperError::NotFound { .. } => (Exit::NotFound, None),
            KeeperError::StillDraining { .. } => {
                (Exit::TimedOut, Some("`ostler keeper stop --now` cuts the running turns off"))
            }
            KeeperError::NotReady { .. } => (Exit::TimedOut, None),
            KeeperError::File { .. }
            | KeeperError::System { .. }
            | KeeperError::KeeperFailed { .. }
            | KeeperError::CodexEnded { .. }
            | KeeperError::BrokenRecord { .. }
            | KeeperError::AlreadyKept { .. }
            | KeeperError::LeftOver { .. } => (Exit::Failed, None),
        };
        let failure = Self::new(exit, error.to_string());
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
