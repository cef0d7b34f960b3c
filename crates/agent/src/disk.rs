//! Files that several processes and people change: one at a time, and each change whole or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long another's change is waited for. It takes some milliseconds; a process that is stopped may hold it for longer.
const WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// A file as it is now, or so much of it. A file of the kernel says that it is empty, also one that has no end.
pub(crate) fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(found.len().min(most)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A lock that dies with its process. Its file stays: who removed it would let two in at once.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Waits until nobody else has the lock of this folder, which is made if it is not there.
pub(crate) fn lock(folder: &Path) -> io::Result<Lock> {
    fs::create_dir_all(folder)?;
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(folder.join(".lock"))?;
    let deadline = Instant::now() + WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let why = "another process is changing it and does not come to an end";
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Puts a whole text in the place of a file, with the rights that the file had. Whoever reads sees the old or the new one, also
/// after a kill or a power cut. The lock of the folder must be held: the text is written beside the file first, under one name.
pub(crate) fn replace(path: &Path, bytes: &[u8], new_rights: u32) -> io::Result<()> {
    // A link stays one: people keep such files elsewhere.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = beside(&path)?;
    // Of somebody who was killed. It may be anything, a link too, so it is not written into.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(new_rights).open(&beside)?;
    file.write_all(bytes)?;
    if let Ok(before) = fs::metadata(&path) {
        file.set_permissions(before.permissions())?;
    }
    file.sync_all()?;
    fs::rename(&beside, &path)?;
    sync_folder_of(&path)
}

/// Makes it known to the disk what stands in the folder of this path.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(path.with_file_name(format!(".{}.tmp", name.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::replace;

    #[test]
    fn rights_and_links_stay_and_leftovers_do_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.md"), folder.path().join("link.md"));
        let rights = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        replace(&path, b"one", 0o600).unwrap();
        assert_eq!(rights(), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        // Killed between the text beside and the rename; and somebody has put a link there.
        let other = folder.path().join("other");
        fs::write(&other, "not to be written").unwrap();
        symlink(&other, folder.path().join(".a.md.tmp")).unwrap();
        symlink(&path, &link).unwrap();
        replace(&link, b"two", 0o600).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), rights()), ("two", 0o640));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(other).unwrap(), "not to be written");
        assert!(!folder.path().join(".a.md.tmp").exists());
    }
}
