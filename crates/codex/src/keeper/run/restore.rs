//! Putting the keeper's folder back when somebody has deleted it: without it nobody finds the app-server again.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::hide::Door;
use super::own_pid;
use super::watch::FolderWatch;
use crate::keeper::error::KeeperError;
use crate::keeper::folder::KeeperFolder;
use crate::keeper::record::Record;

/// From a change to the look at what is missing: whoever deletes a folder deletes its files one after the other.
const SETTLED_AFTER: Duration = Duration::from_millis(100);

/// Before the second try, doubled each time. The place may be gone until the user logs in again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Between two tries at most, and only while the folder is missing.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The keeper's folder while it is kept: the lock on it, and who tells when something of it is deleted.
pub(super) struct Kept<'a> {
    folder: &'a KeeperFolder,
    _lock: File,
    watch: io::Result<FolderWatch>,
    look_at: Option<Instant>,
    pause: Duration,
}

/// What a look at the folder showed.
pub(super) enum Looked {
    Whole,
    Restored,
    /// It is tried again later.
    Failed(String),
}

impl<'a> Kept<'a> {
    pub(super) fn take(folder: &'a KeeperFolder) -> Result<Self, KeeperError> {
        let lock = folder.lock()?;
        let watch = FolderWatch::new(folder.path());
        Ok(Self { folder, _lock: lock, watch, look_at: None, pause: FIRST_PAUSE })
    }

    /// Why it would not be noticed if the folder were deleted.
    pub(super) fn blind(&self) -> Option<String> {
        self.watch.as_ref().err().map(ToString::to_string)
    }

    /// Returns when it is time for a [`look`](Self::look). Cancel-safe.
    pub(super) async fn wants_look(&mut self) {
        loop {
            let changed = async {
                match &mut self.watch {
                    Ok(watch) => watch.changed().await,
                    Err(_) => std::future::pending().await,
                }
            };
            let due = async {
                match self.look_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = changed => self.look_at = Some(Instant::now() + SETTLED_AFTER),
                () = due => return,
            }
        }
    }

    /// Puts back what is missing.
    pub(super) fn look(&mut self, record: &Record, door: &Door) -> Looked {
        self.look_at = None;
        if self.is_whole(door) {
            return Looked::Whole;
        }
        match self.restore(record, door) {
            Ok(()) => {
                self.pause = FIRST_PAUSE;
                Looked::Restored
            }
            Err(error) => {
                self.look_at = Some(Instant::now() + self.pause);
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                Looked::Failed(error.to_string())
            }
        }
    }

    fn is_whole(&self, door: &Door) -> bool {
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let has_socket = door.target().is_none() || is_there(&self.folder.socket());
        has_socket && is_there(&self.folder.record())
    }

    fn restore(&mut self, record: &Record, door: &Door) -> Result<(), KeeperError> {
        let path = self.folder.path();
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(path).map_err(KeeperError::file("create", path))?;
        self.watch = FolderWatch::new(path);
        match self.folder.lock() {
            Ok(lock) => self._lock = lock,
            // Only a file in it was deleted: the lock is ours already.
            Err(KeeperError::AlreadyKept { .. }) => {}
            Err(error) => return Err(error),
        }
        // Whoever finds the record finds the socket, too.
        if let Some(target) = door.target() {
            let socket = self.folder.socket();
            match symlink(target, &socket) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(KeeperError::file("create", &socket)(error));
                }
                _ => {}
            }
        }
        record.write(self.folder)
    }
}

impl Door {
    /// What the link in the folder leads to; `None` while there is none.
    fn target(&self) -> Option<std::path::PathBuf> {
        match self {
            Self::NotYet => None,
            Self::Codexes { target } => target.clone(),
            Self::Held { file } => {
                Some(format!("/proc/{}/fd/{}", own_pid(), file.as_raw_fd()).into())
            }
        }
    }
}
