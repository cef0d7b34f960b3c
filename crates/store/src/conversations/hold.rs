//! Who has a conversation: one process at a time, for as long as it lives.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{ConversationError, Conversations};
use crate::StoreError;

/// Tries to lock a file that others remove under our hands. Each round means that another holder has just gone.
const ROUNDS: usize = 100;

/// A conversation that is ours. It ends with this value, and with the process however that ends.
#[derive(Debug)]
pub struct Hold {
    path: PathBuf,
    /// Its lock is the hold. The kernel gives it back when the process is gone.
    _file: File,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // While it is locked, nobody else can take this file for their own; a file that stays does no harm.
        fs::remove_file(&self.path).ok();
    }
}

impl Conversations {
    /// Takes a conversation for this process. It need not be there yet.
    pub async fn hold(&self, id: &str) -> Result<Hold, ConversationError> {
        check_id(id)?;
        let folder = self.holds();
        let id = id.to_owned();
        let taking = tokio::task::spawn_blocking(move || take(&folder, &id));
        taking.await.map_err(|_| ConversationError::closed())?
    }

    /// The folder beside the database with the locks of those that are in use.
    fn holds(&self) -> PathBuf {
        let mut name = self.shared.path.clone().into_os_string();
        name.push("-holds");
        PathBuf::from(name)
    }
}

/// An id is also the name of a file.
pub(super) fn check_id(id: &str) -> Result<(), ConversationError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if id.is_empty() || id.len() > 64 || !id.bytes().all(fits) {
        return Err(ConversationError::BadId(id.to_owned()));
    }
    Ok(())
}

fn take(folder: &Path, id: &str) -> Result<Hold, ConversationError> {
    let path = folder.join(id);
    let refused = |error: io::Error| {
        let reason = error.to_string();
        ConversationError::Database(StoreError::NoAccess { path: path.clone(), reason })
    };
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(refused(error)),
        _ => {}
    }
    for _ in 0..ROUNDS {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(refused)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let pid = pid_in(&mut file);
                return Err(ConversationError::InUse { conversation: id.to_owned(), pid });
            }
            Err(Errno::INTR) => continue,
            Err(error) => return Err(refused(error.into())),
        }
        // Whoever held it may have removed the file between our opening and our lock.
        if is_still_there(&path, &file) {
            let pid = format!("{}\n", std::process::id());
            file.set_len(0).and_then(|()| file.write_all(pid.as_bytes())).map_err(refused)?;
            return Ok(Hold { path, _file: file });
        }
    }
    Err(ConversationError::InUse { conversation: id.to_owned(), pid: None })
}

fn is_still_there(path: &Path, file: &File) -> bool {
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    let ours = file.metadata().map(place).ok();
    ours.is_some() && fs::metadata(path).map(place).ok() == ours
}

fn pid_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    // A pid that is half written has no end of line.
    text.strip_suffix('\n')?.parse().ok()
}
