//! One daemon per state folder: a file that the daemon holds locked for as long as it lives.
//!
//! The kernel lets go of the lock when the process dies, however it dies, so a lock that is held means a daemon that lives.
//! What stands in the file only says who that is, and what the database held when it was last looked at: whoever comes next and
//! finds less does not begin anew in silence.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Somebody who only looks holds the lock for microseconds, or until a busy machine lets them go on; whoever wants it must not take
/// that for a daemon.
const LOOKER_PATIENCE: Duration = Duration::from_secs(2);

/// One that has it to itself is a daemon, which may be about to let go; or it is somebody who has it no longer when we look again.
const DAEMON_PATIENCE: Duration = Duration::from_millis(200);

/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// A record of short fields and a path; more than this was not written by us.
const RECORD_LIMIT_BYTES: u64 = 4096;

/// The record always fills this much, so that it is written over in place: on a full disk there is no room for another block.
const RECORD_BYTES: usize = 2048;

/// The right to be the daemon. It ends with this value, or with the process.
#[derive(Debug)]
pub struct DaemonLock {
    path: PathBuf,
    file: File,
    holder: Holder,
}

/// What a daemon says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub version: String,
    pub started_at: Timestamp,
    /// Started by a service manager.
    pub is_service: bool,
    /// Where it is to be reached.
    pub socket: PathBuf,
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
    /// Where it is to be reached; older daemons do not say so.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    /// The daemon writes [`DatabaseMark`]s; the first versions did not.
    #[serde(default)]
    pub marks_database: bool,
    /// The database as it was last seen; none if there never was one.
    #[serde(default)]
    pub database: Option<Box<DatabaseMark>>,
}

/// What a database held. It never says more than the database did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseMark {
    /// None: a daemon of an older version ran, which did not say.
    pub path: Option<PathBuf>,
    pub epoch: u64,
    /// Tasks that were ever written to it.
    pub tasks_ever: u64,
    /// A daemon had it open. If it still says so when the next one starts, that one was killed, and SQLite's log must be there.
    pub is_open: bool,
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
    pub fn take(path: &Path, claim: Claim) -> Result<Self, LockError> {
        let mut file = open(path).map_err(failed(path))?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Self::sign(path, file, claim),
                Err(TryLockError::WouldBlock) => {
                    // Those who only look share it.
                    let is_shared = look(path)? == Held::Free;
                    let patience = if is_shared { LOOKER_PATIENCE } else { DAEMON_PATIENCE };
                    if begin.elapsed() >= patience {
                        return Err(LockError::Held(read(&mut file)));
                    }
                    sleep(TRY_AGAIN);
                }
                Err(TryLockError::Error(source)) => return Err(failed(path)(source)),
            }
        }
    }

    /// Takes the lock as soon as the one who has it lets go: it is free only until the kernel has woken us.
    ///
    /// Blocks. After an error the process must end: it may still get the lock.
    pub fn take_over(path: &Path, claim: Claim, patience: Duration) -> Result<Self, LockError> {
        let mut file = open(path).map_err(failed(path))?;
        let same_file = file.try_clone().map_err(failed(path))?;
        let (tell, told) = mpsc::channel();
        // The system call has no deadline.
        std::thread::spawn(move || tell.send(same_file.lock()));
        match told.recv_timeout(patience) {
            Ok(Ok(())) => Self::sign(path, file, claim),
            Ok(Err(source)) => Err(failed(path)(source)),
            Err(_) => Err(LockError::Held(read(&mut file))),
        }
    }

    fn sign(path: &Path, mut file: File, claim: Claim) -> Result<Self, LockError> {
        let (epoch, database) = match read(&mut file) {
            Held::By(before) => (before.epoch + 1, last_mark(before)),
            Held::Free | Held::BySomebody => (1, None),
        };
        let Claim { version, started_at, is_service, socket } = claim;
        let pid = std::process::id();
        let socket = Some(socket);
        let marks_database = true;
        let holder = Holder {
            pid,
            started_at,
            version,
            epoch,
            is_service,
            socket,
            marks_database,
            database,
        };
        write(&mut file, &holder).map_err(failed(path))?;
        Ok(Self { path: path.to_owned(), file, holder })
    }

    /// Notes what the database holds; none: there is none, and that is as it should be. Syncs the file.
    pub fn mark(&mut self, database: Option<DatabaseMark>) -> Result<(), LockError> {
        let database = database.map(Box::new);
        if self.holder.database != database {
            self.holder.database = database;
            write(&mut self.file, &self.holder).map_err(failed(&self.path))?;
        }
        Ok(())
    }

    pub fn holder(&self) -> &Holder {
        &self.holder
    }
}

/// Who holds the lock at `path`. A file that is not there is held by nobody.
pub fn look(path: &Path) -> Result<Held, LockError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Held::Free),
        Err(error) => return Err(failed(path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Held::Free),
        Err(TryLockError::WouldBlock) => Ok(read(&mut file)),
        Err(TryLockError::Error(source)) => Err(failed(path)(source)),
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> LockError + use<> {
    let path = path.to_owned();
    move |source| LockError::File { path, source }
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

/// What the daemon before noted of its database.
fn last_mark(before: Holder) -> Option<Box<DatabaseMark>> {
    let unknown = DatabaseMark { path: None, epoch: 1, tasks_ever: 0, is_open: false };
    if before.marks_database { before.database } else { Some(Box::new(unknown)) }
}

fn write(file: &mut File, holder: &Holder) -> io::Result<()> {
    let text = serde_json::to_string(holder)?;
    let text = format!("{text:<width$}\n", width = RECORD_BYTES - 1);
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)?;
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

    fn claim(version: &str) -> Claim {
        let started_at = Timestamp::UNIX_EPOCH;
        let socket = PathBuf::from("/run/daemon.sock");
        Claim { version: version.to_owned(), started_at, is_service: false, socket }
    }

    fn holder(version: &str, epoch: u64) -> Holder {
        let Claim { version, started_at, is_service, socket } = claim(version);
        let (pid, socket) = (std::process::id(), Some(socket));
        let (marks_database, database) = (true, None);
        Holder { pid, started_at, version, epoch, is_service, socket, marks_database, database }
    }

    #[test]
    fn one_holds_it_and_the_next_counts_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.lock");
        assert_eq!(look(&path).unwrap(), Held::Free);
        let first = DaemonLock::take(&path, claim("1.2.3")).unwrap();
        assert_eq!(look(&path).unwrap(), Held::By(holder("1.2.3", 1)));
        let error = DaemonLock::take(&path, claim("1.2.4")).unwrap_err();
        let pid = std::process::id();
        assert_eq!(error.to_string(), format!("a daemon runs already: pid {pid}, version 1.2.3"));
        drop(first);
        assert_eq!(look(&path).unwrap(), Held::Free);
        let next = DaemonLock::take(&path, claim("1.2.4")).unwrap();
        assert_eq!(next.holder(), &holder("1.2.4", 2));
    }

    #[test]
    fn the_next_one_finds_what_was_noted_of_the_database() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.lock");
        let mark = DatabaseMark {
            path: Some("/state/ostler.db".into()),
            epoch: 7,
            tasks_ever: 3,
            is_open: true,
        };
        let mut first = DaemonLock::take(&path, claim("1.2.3")).unwrap();
        assert_eq!(first.holder().database, None);
        first.mark(Some(mark.clone())).unwrap();
        drop(first);
        let bytes = std::fs::metadata(&path).unwrap().len();
        let mut next = DaemonLock::take(&path, claim("1.2.4")).unwrap();
        assert_eq!(next.holder().database.as_deref(), Some(&mark));
        next.mark(None).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes, "it is not written in place");
        drop(next);
        assert_eq!(DaemonLock::take(&path, claim("x")).unwrap().holder().database, None);

        // One that knows nothing of databases has run here.
        let old = r#"{"pid":1,"started_at":"1970-01-01T00:00:00Z","version":"0.1.0","epoch":4}"#;
        std::fs::write(&path, old).unwrap();
        let next = DaemonLock::take(&path, claim("1.2.4")).unwrap();
        assert_eq!(next.holder().database.as_ref().map(|mark| mark.path.clone()), Some(None));
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
        DaemonLock::take(&path, claim("1.2.3")).unwrap();
        ends.join().unwrap();
    }

    #[test]
    fn a_successor_has_it_as_soon_as_it_is_let_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.lock");
        let first = DaemonLock::take(&path, claim("1.2.3")).unwrap();
        let patience = Duration::from_secs(20);
        let waiting = {
            let path = path.clone();
            std::thread::spawn(move || DaemonLock::take_over(&path, claim("1.2.4"), patience))
        };
        let error =
            DaemonLock::take_over(&path, claim("x"), Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, LockError::Held(Held::By(_))), "{error}");
        drop(first);
        // Whichever of the two waiting threads is first, the other one's turn comes when it lets go.
        let next = waiting.join().unwrap().unwrap();
        assert_eq!(next.holder(), &holder("1.2.4", 2));
    }
}
