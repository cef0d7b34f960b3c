//! The lock on one version: whoever holds it may install or remove that version.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use semver::Version;
use tokio::time::Instant;

use super::{CacheError, failed};

/// How often a taken lock is tried again: short against an install of seconds, long against the cost of a try.
const RETRY: Duration = Duration::from_millis(50);

/// Held as long as a clone of it, or a process that was given it as stdin, is alive. The kernel lets go of it when the
/// last of them dies, however they die; the file itself stays, because removing it would let two holders in.
#[derive(Debug, Clone)]
pub(crate) struct VersionLock {
    file: Arc<File>,
    version: Version,
}

impl VersionLock {
    pub(crate) fn version(&self) -> &Version {
        &self.version
    }

    /// The lock as the stdin of a child (an empty file, so it reads as closed). If we are killed and the child works
    /// on, the version stays locked until the child is gone too and no longer writes into the work folder.
    pub(crate) fn as_stdin(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.file.try_clone()?))
    }

    pub(super) async fn take(
        folder: &Path,
        version: &Version,
        deadline: Duration,
        on_wait: impl FnOnce(),
    ) -> Result<Self, CacheError> {
        let started = Instant::now();
        let mut on_wait = Some(on_wait);
        loop {
            if let Some(lock) = Self::take_if_free(folder, version)? {
                return Ok(lock);
            }
            if started.elapsed() >= deadline {
                return Err(CacheError::Locked { version: version.clone(), waited: deadline });
            }
            if let Some(on_wait) = on_wait.take() {
                on_wait();
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    pub(super) fn take_if_free(
        folder: &Path,
        version: &Version,
    ) -> Result<Option<Self>, CacheError> {
        let path = folder.join(version.to_string());
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file: Arc::new(file), version: version.clone() })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed("lock", &path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[tokio::test]
    async fn a_child_with_the_lock_as_stdin_outlives_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let version = Version::new(0, 130, 0);
        let lock = VersionLock::take_if_free(folder.path(), &version).unwrap().unwrap();
        let mut child =
            Command::new("sleep").arg("600").stdin(lock.as_stdin().unwrap()).spawn().unwrap();
        drop(lock);
        let taken = VersionLock::take_if_free(folder.path(), &version).unwrap();
        assert!(taken.is_none(), "the child still holds the lock");
        let other = Version::new(0, 142, 5);
        assert!(VersionLock::take_if_free(folder.path(), &other).unwrap().is_some());
        let short = Duration::from_millis(10);
        let waiting = VersionLock::take(folder.path(), &version, short, || {}).await;
        assert!(matches!(waiting, Err(CacheError::Locked { .. })));
        child.kill().unwrap();
        child.wait().unwrap();
        let minute = Duration::from_secs(60);
        VersionLock::take(folder.path(), &version, minute, || {}).await.unwrap();
    }
}
