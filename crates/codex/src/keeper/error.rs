//! What can go wrong around a keeper.

use std::path::PathBuf;
use std::time::Duration;

use super::folder::{KeeperId, SOCKET_PATH_LIMIT_BYTES};
use super::record::Exit;

#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error(
        "the socket path {path} would be {length} bytes long and the system allows \
         {SOCKET_PATH_LIMIT_BYTES}; choose a shorter root folder for the keepers"
    )]
    SocketPathTooLong { path: PathBuf, length: usize },

    #[error("{} must be an absolute path in UTF-8; give another one", path.display())]
    UnusablePath { path: PathBuf },

    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: std::io::Error },

    #[error("cannot {action}: {source}")]
    System { action: &'static str, source: std::io::Error },

    #[error("cannot run {} as codex: {reason}; give the path of a codex binary", path.display())]
    NotRunnable { path: PathBuf, reason: String },

    #[error("the keeper did not come up: {reason}{}", last_words(said))]
    KeeperFailed { reason: String, said: String },

    #[error("{} ended before it listened ({exit}); is it a codex with app-server?{}", path.display(), last_words(said))]
    CodexEnded { path: PathBuf, exit: Exit, said: String },

    #[error(
        "{} did not listen within {} s and was ended; give it more time or look at what it says{}",
        path.display(), deadline.as_secs_f32(), last_words(said)
    )]
    NotReady { path: PathBuf, deadline: Duration, said: String },

    #[error("the record {} cannot be used: {reason}", path.display())]
    BrokenRecord { path: PathBuf, reason: String },

    #[error("another keeper already owns {}", path.display())]
    AlreadyKept { path: PathBuf },

    #[error("there is no keeper {wanted:?}; `ostler keeper list` shows those there are")]
    NotFound { wanted: String },

    #[error(
        "{wanted:?} is not the start of one keeper's id but of {}; give more of it",
        names(matches)
    )]
    Ambiguous { wanted: String, matches: Vec<KeeperId> },

    #[error(
        "keeper {id} is still draining after {} s: codex waits for its running turns; wait on, or end it now",
        waited.as_secs_f32()
    )]
    StillDraining { id: KeeperId, waited: Duration },

    #[error(
        "processes of keeper {id} could not be ended: {pids:?}; they may hang in the kernel, try again later"
    )]
    LeftOver { id: KeeperId, pids: Vec<i32> },
}

impl KeeperError {
    pub(super) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }

    pub(super) fn stopped_while_starting() -> Self {
        let reason = "it was asked to end while it started".to_owned();
        Self::KeeperFailed { reason, said: String::new() }
    }

    /// The keeper of this record is in another pid namespace.
    pub(super) fn elsewhere(record: PathBuf) -> Self {
        let reason = "its processes are in another pid namespace, e.g. in a container; \
                      run this where the keeper was started";
        Self::BrokenRecord { path: record, reason: reason.to_owned() }
    }

    pub(super) fn system(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { action, source }
    }
}

fn last_words(said: &str) -> String {
    if said.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nits last words:");
    for line in said.lines() {
        text.push_str("\n  ");
        text.push_str(line);
    }
    text
}

fn names(ids: &[KeeperId]) -> String {
    let names: Vec<&str> = ids.iter().map(KeeperId::as_str).collect();
    names.join(", ")
}
