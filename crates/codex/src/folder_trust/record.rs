//! What people said of folders: a file of ours, never Codex's.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Trusted,
    /// They were asked and said no. They are not asked again while the folder is the same.
    Declined,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Without links.
    pub folder: PathBuf,
    /// Of its settings when they were looked at.
    pub digest: String,
    pub answer: Answer,
    /// Unix milliseconds.
    pub at: i64,
}

#[derive(Debug, Error)]
pub enum RecordError {
    #[error("cannot read {path}: {source}; nothing is trusted until it can be read")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} is damaged ({source}); nothing is trusted until it is removed or mended")]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("cannot write {path}: {source}")]
    Unwritable { path: PathBuf, source: io::Error },
}

/// The file. It is read each time that a thread is opened, so that a change counts at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustFile(PathBuf);

#[derive(Debug, Default, Serialize, Deserialize)]
struct Written {
    folders: Vec<Record>,
}

impl TrustFile {
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// By folder.
    pub fn read(&self) -> Result<Vec<Record>, RecordError> {
        let text = match fs::read(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(RecordError::Unreadable { path: self.0.clone(), source }),
        };
        match serde_json::from_slice::<Written>(&text) {
            Ok(written) => Ok(written.folders),
            Err(source) => Err(RecordError::Damaged { path: self.0.clone(), source }),
        }
    }

    /// For whoever opens a thread: what cannot be read trusts nothing.
    pub(super) fn read_or_nothing(&self) -> Vec<Record> {
        self.read().unwrap_or_else(|error| {
            tracing::warn!(%error, "no folder is trusted");
            Vec::new()
        })
    }

    /// Writes down what was said of a folder, instead of what was said before.
    pub fn put(&self, record: Record) -> Result<(), RecordError> {
        self.change(|folders| {
            folders.retain(|known| known.folder != record.folder);
            folders.push(record);
            folders.sort_by(|one, other| one.folder.cmp(&other.folder));
        })
    }

    /// Forgets a folder; says whether it was known.
    pub fn remove(&self, folder: &Path) -> Result<bool, RecordError> {
        let mut is_known = false;
        self.change(|folders| {
            let before = folders.len();
            folders.retain(|known| known.folder != folder);
            is_known = folders.len() < before;
        })?;
        Ok(is_known)
    }

    /// One at a time, and whole or not at all.
    fn change(&self, change: impl FnOnce(&mut Vec<Record>)) -> Result<(), RecordError> {
        let unwritable = |source| RecordError::Unwritable { path: self.0.clone(), source };
        let mut lock = OpenOptions::new();
        let lock = lock.create(true).truncate(false).write(true).mode(0o600);
        let lock = lock.open(self.0.with_extension("lock")).map_err(unwritable)?;
        lock.lock().map_err(unwritable)?;
        let mut folders = self.read()?;
        change(&mut folders);
        let text = serde_json::to_vec_pretty(&Written { folders }).unwrap_or_default();
        let new = self.0.with_extension("new");
        let mut file = OpenOptions::new();
        let file = file.create(true).truncate(true).write(true).mode(0o600).open(&new);
        let written =
            file.and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
        written.and_then(|()| fs::rename(&new, &self.0)).map_err(unwritable)
    }
}
