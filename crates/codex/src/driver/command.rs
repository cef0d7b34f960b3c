//! What callers want of the driver.

use std::sync::Arc;

use ostler_model::thread::{Deciders, IfBusy};
use ostler_model::{AskId, Failure, InputId, ThreadId};
use tokio::sync::{mpsc, oneshot};

use super::open_again::Reopened;
use super::{ConnectError, ThreadOptions};
use crate::app_server::AppServer;
use crate::thread::open::OpenedThread;
use crate::thread::settings::ThreadSettings;
use crate::thread::{Decided, Decider, Recalled, ThreadUpdate, TurnInput, TurnOutcome};

pub(crate) type Outcome = Result<TurnOutcome, Failure>;

#[derive(Debug)]
pub(crate) enum Command {
    /// Somebody wants to call Codex.
    Connect {
        connected: oneshot::Sender<Result<Connected, ConnectError>>,
    },
    Adopt(Box<Adopt>),
    Send {
        thread: ThreadId,
        input: InputId,
        content: Box<TurnInput>,
        if_busy: IfBusy,
        /// Told how the turn ended that answered the input, or why it was not given to Codex.
        outcome: oneshot::Sender<Outcome>,
    },
    Interrupt {
        thread: ThreadId,
        by: String,
        /// Told when no turn runs any more.
        idle: oneshot::Sender<()>,
    },
    Decide {
        /// The one whose watcher is told if the decision does not count.
        thread: ThreadId,
        ask: AskId,
        decided: Decided,
    },
    Deciders {
        thread: ThreadId,
        deciders: Deciders,
        decider: Option<Decider>,
    },
    ChangeSettings {
        thread: ThreadId,
        settings: Box<ThreadSettings>,
    },
    Forget {
        thread: ThreadId,
        done: oneshot::Sender<()>,
    },
}

impl Command {
    /// The thread it is for.
    pub(crate) fn thread_mut(&mut self) -> Option<&mut ThreadId> {
        match self {
            Self::Send { thread, .. }
            | Self::Interrupt { thread, .. }
            | Self::Decide { thread, .. }
            | Self::Deciders { thread, .. }
            | Self::ChangeSettings { thread, .. }
            | Self::Forget { thread, .. } => Some(thread),
            Self::Connect { .. } | Self::Adopt(_) => None,
        }
    }
}

/// A connection, and which one it is: a thread that was opened on one that is gone must be opened again.
#[derive(Debug, Clone)]
pub(crate) struct Connected {
    pub(crate) server: AppServer,
    pub(crate) epoch: u64,
    /// While somebody has this, a thread that nobody knows may be about to be adopted.
    #[expect(dead_code, reason = "its holders are counted")]
    pub(crate) opening: Arc<()>,
}

#[derive(Debug)]
pub(crate) struct Adopt {
    pub(crate) opened: OpenedThread,
    pub(crate) on: Connected,
    pub(crate) settings: ThreadSettings,
    pub(crate) options: ThreadOptions,
    pub(crate) updates: mpsc::Sender<ThreadUpdate>,
    pub(crate) arrival: Arrival,
    pub(crate) adopted: oneshot::Sender<Adopted>,
}

impl Adopt {
    /// The name by which the thread was known so far.
    pub(crate) fn known_as(&self) -> &ThreadId {
        match &self.arrival {
            Arrival::Opened(_) => &self.opened.id,
            Arrival::Rejoined(rejoined) => &rejoined.thread,
        }
    }
}

/// What became of an adoption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Adopted {
    Now,
    /// The thread is driven already.
    Twice,
}

/// How a thread comes to be driven.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// For the first time.
    Opened(History),
    /// It was driven before.
    Rejoined(Box<Rejoined>),
}

/// A thread that was driven before, by somebody who is gone.
#[derive(Debug)]
pub(crate) struct Rejoined {
    /// The name that it had.
    pub(crate) thread: ThreadId,
    pub(crate) recalled: Recalled,
    pub(crate) reopened: Result<Reopened, Failure>,
}

/// Whether Codex has turns of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum History {
    /// It has none, and so no file: it is lost with its process.
    None,
    Kept,
}
