//! What can go wrong with the store, and what the person can do about it.

use std::path::PathBuf;

use ostler_model::{AskId, DeliveryId, TaskId};
use rusqlite::ErrorCode;
use rusqlite::ffi;

#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The batch names a task that is not there: it was never made, or it was removed.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    #[error("there is no ask {0}")]
    NoAsk(AskId),
    #[error("there is no notification {0}")]
    NoNotification(DeliveryId),
    #[error("task {0} is there already")]
    TaskIdTaken(TaskId),
    /// Ids of asks are short, so two tasks can come to the same one. Choose another.
    #[error("ask {0} belongs to another task; give this one another id")]
    AskIdTaken(AskId),
    /// The key of a start was used before, for something else.
    #[error("the key {key:?} was used before to start something else, task {task}; use a new key")]
    KeyReused { key: String, task: TaskId },

    /// Another process has opened the database since. Nothing of ours is written any more.
    #[error("another daemon has taken over the database; this one must end")]
    Fenced,
    #[error("the disk is full; nothing was written. Make room, it goes on by itself")]
    Full,
    #[error("the database cannot be written: {0}. It is tried again; look at the disk")]
    Disk(String),
    #[error("another program has locked the database; end it, or wait until it is done")]
    Locked,
    #[error("the database cannot be written: its disk or file is read-only")]
    ReadOnly,
    #[error(
        "the database {path} is damaged ({detail}); stop the daemon, move the file and its -wal and -shm aside, \
         and save what can be saved with `sqlite3 FILE .recover`"
    )]
    Corrupt { path: PathBuf, detail: String },
    #[error("{path} is not a database; move it aside, or set another place for the state")]
    NotADatabase { path: PathBuf },
    #[error("{path} is a database of another program; set another place for the state")]
    Foreign { path: PathBuf },
    #[error(
        "the database {path} was written by a newer version (layout {found}, this one knows {known}); use that \
         version, or set another place for the state"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{path} is a folder; the database must be a file")]
    IsAFolder { path: PathBuf },
    #[error("the database {path} cannot be opened: {reason}")]
    NoAccess { path: PathBuf, reason: String },
    /// What is stored cannot be read as what it should be.
    #[error("a stored {what} cannot be read: {reason}")]
    Unreadable { what: &'static str, reason: String },
    #[error("the store is closed")]
    Closed,
    #[error("the database refused: {0}")]
    Other(String),
}

impl StoreError {
    /// The same batch may well be written later without anybody changing the batch.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Full | Self::Disk(_) | Self::Locked | Self::ReadOnly)
    }

    /// The fault is the batch's own; others can be written.
    pub fn is_of_the_batch(&self) -> bool {
        matches!(
            self,
            Self::NoTask(_)
                | Self::NoAsk(_)
                | Self::NoNotification(_)
                | Self::TaskIdTaken(_)
                | Self::AskIdTaken(_)
                | Self::KeyReused { .. }
                | Self::Unreadable { .. }
        )
    }

    /// Nothing can be read or written here any more. After anything else, what comes next may well succeed.
    pub fn ends_the_store(&self) -> bool {
        matches!(
            self,
            Self::Fenced
                | Self::Corrupt { .. }
                | Self::NotADatabase { .. }
                | Self::Foreign { .. }
                | Self::Newer { .. }
                | Self::Closed
        )
    }

    pub(crate) fn unreadable(what: &'static str) -> impl Fn(serde_json::Error) -> Self {
        move |error| Self::Unreadable { what, reason: error.to_string() }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(failure, detail) = &error else {
            return Self::Other(error.to_string());
        };
        let detail = detail.clone().unwrap_or_else(|| failure.to_string());
        match failure.code {
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Locked,
            ErrorCode::ReadOnly => Self::ReadOnly,
            ErrorCode::DatabaseCorrupt => Self::Corrupt { path: PathBuf::new(), detail },
            ErrorCode::NotADatabase => Self::NotADatabase { path: PathBuf::new() },
            ErrorCode::SystemIoFailure if failure.extended_code == ffi::SQLITE_IOERR_CORRUPTFS => {
                Self::Corrupt { path: PathBuf::new(), detail }
            }
            ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory => Self::Disk(detail),
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                Self::NoAccess { path: PathBuf::new(), reason: detail }
            }
            _ => Self::Other(detail),
        }
    }
}

impl StoreError {
    /// SQLite does not say which file it is about.
    pub(crate) fn about(mut self, file: &std::path::Path) -> Self {
        if let Self::Corrupt { path, .. }
        | Self::NotADatabase { path }
        | Self::Newer { path, .. }
        | Self::NoAccess { path, .. } = &mut self
        {
            file.clone_into(path);
        }
        self
    }
}
