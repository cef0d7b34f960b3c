//! Why a thread was not opened.

use ostler_model::ThreadId;
use thiserror::Error;

use crate::app_server::CallError;
use crate::driver::ConnectError;
use crate::peer::{RequestError, RpcError};
use crate::protocol::CodexVersion;
use crate::protocol::request::PrepareError;
use crate::thread::settings::{Difference, InvalidSettings};

#[derive(Debug, Error)]
pub enum OpenError {
    #[error("there is no app-server: {0}")]
    NoServer(#[from] ConnectError),
    #[error("the settings are not valid: {0}")]
    Invalid(#[from] InvalidSettings),
    /// The thread has been left alone again.
    #[error("codex gave thread {thread} more rights than asked: {}", wider(differences))]
    Wider { thread: ThreadId, differences: Vec<Difference> },
    #[error("codex has no thread {thread}")]
    NotFound { thread: ThreadId },
    #[error("thread {thread} is archived; unarchive it first")]
    Archived { thread: ThreadId },
    #[error("thread {thread} is open in another app-server; use that one, or end it")]
    BusyElsewhere { thread: ThreadId },
    /// It was asked for again and again while Codex put it away.
    #[error("codex is still putting thread {thread} away; try again later")]
    Closing { thread: ThreadId },
    #[error(
        "thread {thread} was made by codex {created_by}, and codex {version} would damage it; use codex {created_by} or later"
    )]
    NewerHome { thread: ThreadId, created_by: CodexVersion, version: CodexVersion },
    #[error(transparent)]
    Unsupported(PrepareError),
    #[error(transparent)]
    Refused(RpcError),
    /// The connection ended, or no answer came in time. Whether the thread was opened is not known.
    #[error(transparent)]
    Connection(RequestError),
    #[error(transparent)]
    Unreadable(CallError),
    #[error(
        "thread {thread} is open here already; use the handle that has it, or close that first"
    )]
    AlreadyDriven { thread: ThreadId },
    #[error("codex opened a thread without saying which")]
    NoThreadId,
}

/// Texts by which Codex refuses a thread; it has no codes for them. This is the only place that reads its prose; the
/// versions are those on which tests/e2e/thread_opening.rs sees the text.
const REFUSALS: [(&str, Refusal); 8] = [
    // thread/resume, thread/fork, thread/archive; 0.130.0, 0.142.5, 0.166.0.
    ("no rollout found for thread id ", Refusal::NotFound),
    // thread/read; 0.130.0, 0.142.5, 0.166.0.
    ("thread not loaded: ", Refusal::NotFound),
    // thread/resume of a file that was begun and holds no whole line; 0.130.0, 0.142.5, 0.166.0.
    (".jsonl is empty", Refusal::NotFound),
    // An id that is no UUID; thread/read on all three, thread/archive on 0.130.0.
    ("invalid thread id: ", Refusal::NotFound),
    // The same, in thread/archive on 0.142.5 and 0.166.0.
    ("invalid session id: ", Refusal::NotFound),
    // thread/resume and thread/fork; 0.142.5, 0.166.0.
    (" is archived. Run `codex unarchive ", Refusal::Archived),
    // thread/resume and thread/archive; 0.166.0.
    (" already has an active writer", Refusal::BusyElsewhere),
    // thread/resume of a thread that Codex unloads at that moment; seen on 0.166.0, and the text is in all three.
    (" is closing; retry ", Refusal::Closing),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    NotFound,
    Archived,
    BusyElsewhere,
    Closing,
}

impl OpenError {
    /// For a call that names no thread.
    pub(super) fn from_call(error: CallError) -> Self {
        match error {
            CallError::Prepare(error) => Self::Unsupported(error),
            CallError::Request { source: RequestError::Rpc(error), .. } => Self::Refused(error),
            CallError::Request {
                source: source @ (RequestError::TimedOut { .. } | RequestError::Closed { .. }),
                ..
            } => Self::Connection(source),
            error => Self::Unreadable(error),
        }
    }

    /// For a call on a thread.
    pub fn from_call_on(thread: &ThreadId, error: CallError) -> Self {
        let thread = thread.clone();
        match Self::from_call(error) {
            Self::Refused(error) => match refusal(&error.message) {
                Some(Refusal::NotFound) => Self::NotFound { thread },
                Some(Refusal::Archived) => Self::Archived { thread },
                Some(Refusal::BusyElsewhere) => Self::BusyElsewhere { thread },
                Some(Refusal::Closing) => Self::Closing { thread },
                None => Self::Refused(error),
            },
            error => error,
        }
    }
}

fn refusal(message: &str) -> Option<Refusal> {
    REFUSALS.iter().find(|(text, _)| message.contains(text)).map(|(_, refusal)| *refusal)
}

fn wider(differences: &[Difference]) -> String {
    let wider = differences.iter().filter(|difference| difference.is_wider());
    wider.map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
