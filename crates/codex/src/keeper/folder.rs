//! A keeper's id and the folder that carries it.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::error::KeeperError;

/// `sun_path` of `unix(7)` has 108 bytes and the last one is the closing NUL.
pub const SOCKET_PATH_LIMIT_BYTES: usize = 107;

/// Eight lower-case hexadecimal digits: short enough to type, and for the folder name in a socket path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeeperId(String);

impl KeeperId {
    pub fn parse(text: &str) -> Option<Self> {
        let fits =
            text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        fits.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last four bytes of a version 7 UUID are random; the first ones are the clock.
    pub(super) fn random() -> Self {
        let [.., a, b, c, d] = Uuid::now_v7().into_bytes();
        Self(format!("{a:02x}{b:02x}{c:02x}{d:02x}"))
    }
}

impl fmt::Display for KeeperId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for KeeperId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not a keeper id"))
    }
}

impl From<KeeperId> for String {
    fn from(id: KeeperId) -> Self {
        id.0
    }
}

/// `<root>/<id>/`, mode 0700, with the socket, the record and the logs of one keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperFolder {
    id: KeeperId,
    path: PathBuf,
}

impl KeeperFolder {
    /// Creates the folder of a new keeper, and the root if it is not there yet.
    pub(super) fn create(root: &Path) -> Result<Self, KeeperError> {
        usable(root)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(root)
            .map_err(KeeperError::file("create", root))?;
        loop {
            let id = KeeperId::random();
            let path = root.join(id.as_str());
            let folder = Self { id, path };
            folder.check_socket_path()?;
            match DirBuilder::new().mode(0o700).create(&folder.path) {
                Ok(()) => return Ok(folder),
                // One in four thousand million; the next id is a different one.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(KeeperError::file("create", &folder.path)(error)),
            }
        }
    }

    /// The folder at `path`, if its name is a keeper's id.
    pub fn at(path: &Path) -> Option<Self> {
        let id = KeeperId::parse(path.file_name()?.to_str()?)?;
        Some(Self { id, path: path.to_owned() })
    }

    pub fn id(&self) -> &KeeperId {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where codex listens.
    pub fn socket(&self) -> PathBuf {
        self.path.join("socket")
    }

    /// Whether a link stands in the socket's place: no sandbox sees what it leads to.
    pub(super) fn is_hidden(&self) -> bool {
        fs::symlink_metadata(self.socket()).is_ok_and(|found| found.file_type().is_symlink())
    }

    pub fn record(&self) -> PathBuf {
        self.path.join("record.json")
    }

    /// Programs of ours that are first on codex's `PATH`.
    pub(super) fn programs(&self) -> PathBuf {
        self.path.join("bin")
    }

    /// What codex wrote to its stdout and stderr.
    pub fn codex_log(&self) -> PathBuf {
        self.path.join("stderr.log")
    }

    /// The keeper's own words.
    pub fn keeper_log(&self) -> PathBuf {
        self.path.join("keeper.log")
    }

    /// The lock of the keeper, which holds it for its life: no second one can take the same folder.
    pub(super) fn lock(&self) -> Result<File, KeeperError> {
        let path = &self.path;
        let file = File::open(path).map_err(KeeperError::file("open", path))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            let path = path.clone();
            KeeperError::AlreadyKept { path }
        })?;
        Ok(file)
    }

    /// Whether some keeper holds the lock, be it in a pid namespace that we cannot see.
    ///
    /// Only to be asked where no keeper may be about to start: for a moment it holds the lock itself.
    pub(super) fn is_kept(&self) -> bool {
        File::open(&self.path).is_ok_and(|file| {
            flock(&file, FlockOperation::NonBlockingLockShared)
                == Err(rustix::io::Errno::WOULDBLOCK)
        })
    }

    /// Notes that the keeper's end is wanted although no keeper is there to be told; true for whoever is the first.
    ///
    /// Codex takes a second SIGTERM for "end now", so only the first may send one. And a starter that finds the note
    /// does not try again.
    pub(super) fn ask_to_end(&self) -> Result<bool, KeeperError> {
        let path = self.end_request();
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            // Somebody has removed the folder meanwhile: the end is reached.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(KeeperError::file("create", path)(error)),
        }
    }

    pub(super) fn is_asked_to_end(&self) -> bool {
        self.end_request().exists()
    }

    fn end_request(&self) -> PathBuf {
        self.path.join("end-asked")
    }

    /// Removes the socket. Codex 0.166 listens elsewhere, in a private folder below `/tmp`, and leaves a link to
    /// there in our place; after a SIGKILL both stay behind (test: `a_killed_codex_leaves_nothing_behind`).
    pub(super) fn remove_socket(&self) -> io::Result<()> {
        let path = self.socket();
        if let Ok(target) = fs::read_link(&path)
            && let Ok(found) = fs::symlink_metadata(&target)
            && found.file_type().is_socket()
            && found.uid() == geteuid().as_raw()
        {
            fs::remove_file(&target)?;
            // An empty lock file beside it, which is not always there.
            drop(fs::remove_file(target.with_added_extension("lock")));
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    fn check_socket_path(&self) -> Result<(), KeeperError> {
        let path = self.socket();
        let length = path.as_os_str().len();
        if length > SOCKET_PATH_LIMIT_BYTES {
            return Err(KeeperError::SocketPathTooLong { path, length });
        }
        Ok(())
    }
}

/// The keeper changes its working folder and its record is JSON, so a path must be absolute and UTF-8.
pub(super) fn usable(path: &Path) -> Result<&str, KeeperError> {
    match path.to_str() {
        Some(text) if path.is_absolute() => Ok(text),
        _ => Err(KeeperError::UnusablePath { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_eight_lower_case_hex_digits() {
        let texts = ["0123abcd", "0123ABCD", "0123abc", "0123abcde", "../../..", ""];
        let parsed = texts.map(|text| KeeperId::parse(text).map(String::from));
        assert_eq!(parsed, [Some("0123abcd".to_owned()), None, None, None, None, None]);
        assert_ne!(KeeperId::random(), KeeperId::random());
    }

    #[test]
    fn a_socket_path_may_have_107_bytes_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().as_os_str().len();
        let tail = "/0123abcd/socket".len();
        let root = |length: usize| {
            let fill = "d".repeat(length - base - 1 - tail);
            directory.path().join(fill)
        };
        assert!(KeeperFolder::create(&root(SOCKET_PATH_LIMIT_BYTES)).is_ok());
        let error = KeeperFolder::create(&root(SOCKET_PATH_LIMIT_BYTES + 1)).unwrap_err();
        assert!(matches!(error, KeeperError::SocketPathTooLong { length: 108, .. }), "{error}");
        assert!(error.to_string().contains("107"), "{error}");
    }
}
