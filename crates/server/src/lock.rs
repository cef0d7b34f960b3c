//! One daemon per state folder: a file that the daemon holds locked for as long as it lives.
//!
//! The kernel lets go of the lock when the process dies, however it dies, so a lock that is held means a daemon that lives.
//! What stands in the file only says who that is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Somebody who only looks holds the lock for microseconds; whoever wants it must not take that for a daemon.
const LOOKER_PATIENCE: Duration = Duration::from_millis(200);

/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// A record of four short fields; more than this was not written by us.
const RECORD_LIMIT_BYTES: u64 = 4096;

/// The right to be the daemon. It ends with this value, or with the process.
#[derive(Debug)]
pub struct DaemonLock {
    _file: File,
    holder: Holder,
}

/// Who holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub started_at: Timestamp,
    pub version: String,
    /// One more than the daemon before had.
    pub epoch: u64,
    /// Started by a service manager.
    #[serde(default)]
    pub is_service: bool,
}

/// What a look at the lock shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    Free,
    By(Holder),
    /// The one who holds it has not written yet who it is.
    BySomebody,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("a daemon runs already{}", name(.0))]
    Held(Held),
    #[error("cannot use the lock {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

impl DaemonLock {
    /// Takes the lock, or says who has it. Blocks for a moment; the caller has nothing else to do yet.
    pub fn take(
        path: &Path,
        version: &str,
        started_at: Timestamp,
        is_service: bool,
    ) -> Result<Self, LockError> {
        let failed = |source| LockError::File { path: path.to_owned(), source };
        let mut file = open(path).map_err(failed)?;
        let deadline = Instant::now() + LOOKER_PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(TRY_AGAIN),
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(read(&mut file))),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        let epoch = match read(&mut file) {
            Held::By(before) => before.epoch + 1,
            Held::Free | Held::BySomebody => 1,
        };
        let pid = std::process::id();
        let holder = Holder { pid, started_at, version: version.to_owned(), epoch, is_service };
        write(&mut file, &holder).map_err(failed)?;
        Ok(Self { _file: file, holder })
    }

    pub fn holder(&self) -> &Holder {
        &self.holder
    }
}

/// Who holds the lock at `path`. A file that is not there is held by nobody.
pub fn look(path: &Path) -> Result<Held, LockError> {
    let failed = |source| LockError::File { path: path.to_owned(), source };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Held::Free),
        Err(error) => return Err(failed(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Held::Free),
        Err(TryLockError::WouldBlock) => Ok(read(&mut file)),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// What the file says, whether or not that is still true.
fn read(file: &mut File) -> Held {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(RECORD_LIMIT_BYTES).read_to_string(&mut text));
    let holder = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    holder.map_or(Held::BySomebody, Held::By)
}

fn write(file: &mut File, holder: &Holder) -> io::Result<()> {
    let mut text = serde_json::to_string(holder)?;
    text.push('\n');
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    // The epoch must not go back after a power cut.
    file.sync_all()
}

fn name(held: &Held) -> String {
    match held {
        Held::By(holder) => format!(": pid {}, version {}", holder.pid, holder.version),
        Held::Free | Held::BySomebody => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_the_next_counts_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.lock");
        assert_eq!(look(&path).unwrap(), Held::Free);
        let at = Timestamp::UNIX_EPOCH;
        let first = DaemonLock::take(&path, "1.2.3", at, false).unwrap();
        let pid = std::process::id();
        let holder =
            Holder { pid, started_at: at, version: "1.2.3".into(), epoch: 1, is_service: false };
        assert_eq!(look(&path).unwrap(), Held::By(holder.clone()));
        let error = DaemonLock::take(&path, "1.2.4", at, false).unwrap_err();
        assert_eq!(error.to_string(), format!("a daemon runs already: pid {pid}, version 1.2.3"));
        drop(first);
        assert_eq!(look(&path).unwrap(), Held::Free);
        let next = DaemonLock::take(&path, "1.2.4", at, true).unwrap();
        let expected = Holder { epoch: 2, version: "1.2.4".into(), is_service: true, ..holder };
        assert_eq!(next.holder(), &expected);
    }

    #[test]
    fn whoever_looks_does_not_keep_a_daemon_from_starting() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.lock");
        std::fs::write(&path, "").unwrap();
        let looker = File::open(&path).unwrap();
        looker.lock_shared().unwrap();
        let ends = std::thread::spawn(move || {
            sleep(LOOKER_PATIENCE / 4);
            drop(looker);
        });
        DaemonLock::take(&path, "1.2.3", Timestamp::UNIX_EPOCH, false).unwrap();
        ends.join().unwrap();
    }
}
