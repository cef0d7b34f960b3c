//! What can go wrong with conversations.

use std::path::Path;

use crate::StoreError;

#[derive(Debug, Clone, thiserror::Error)]
pub enum ConversationError {
    /// The database itself.
    #[error(transparent)]
    Database(#[from] StoreError),
    #[error("there is no conversation {0}")]
    NoConversation(String),
    #[error("conversation {0} is there already")]
    Taken(String),
    #[error("{0:?} cannot name a conversation; use letters, digits and dashes, at most 64")]
    BadId(String),
    #[error("conversation {conversation} has no turn {turn}")]
    NoTurn { conversation: String, turn: u64 },
    /// The turn has ended, with other messages than these.
    #[error("turn {turn} of conversation {conversation} is over; begin another")]
    TurnOver { conversation: String, turn: u64 },
    #[error(
        "the last turn of conversation {0} has no end: it was cut off, or codex is still at work on it"
    )]
    OpenTurn(String),
    /// Somebody has changed it since it was read.
    #[error(
        "conversation {conversation} was changed meanwhile (version {found}, expected {expected}); read it again"
    )]
    Changed { conversation: String, expected: u64, found: u64 },
    #[error(
        "conversation {conversation} is in use by {}; end that chat, or begin another conversation",
        holder(*.pid)
    )]
    InUse {
        conversation: String,
        /// None in the moment between its lock and its first word.
        pid: Option<u32>,
    },
}

impl ConversationError {
    pub(super) fn about(self, file: &Path) -> Self {
        match self {
            Self::Database(error) => Self::Database(error.about(file)),
            other => other,
        }
    }

    pub(super) fn closed() -> Self {
        Self::Database(StoreError::Closed)
    }

    pub(super) fn is_locked(&self) -> bool {
        matches!(self, Self::Database(StoreError::Locked))
    }
}

impl From<rusqlite::Error> for ConversationError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
