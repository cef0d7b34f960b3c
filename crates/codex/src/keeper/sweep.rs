//! Taking away the folders of keepers that are no more.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::error::KeeperError;
use super::folder::KeeperId;
use super::list::{Condition, Found, judge, list};
use super::process::{Here, ProcessTable};

/// How long the folder of an ended keeper is kept, so that somebody can read why it ended.
pub const REMAINS_FOR: Duration = Duration::from_hours(1);

/// Removes the folders of keepers that ended, or were lost, at least `age` before `now`; gives what it removed. Of those
/// that ended later only the sockets go: nobody answers there, and the last words may be wanted.
///
/// A folder whose record cannot be read stays, for somebody to look at it; so does one of another pid namespace.
pub fn sweep(root: &Path, age: Duration, now: Timestamp) -> Result<Vec<KeeperId>, KeeperError> {
    let mut removed = Vec::new();
    for keeper in list(root)? {
        let since = match &keeper.condition {
            Condition::Ended(ended) => Some(ended.at),
            Condition::Gone => last_change(keeper.folder.path()),
            _ => None,
        };
        if since.is_some() && keeper.processes.is_empty() && !keeper.folder.is_kept() {
            remove_file(&keeper.folder.socket())?;
        }
        let old = since.is_some_and(|since| {
            let elapsed = Duration::try_from(now.duration_since(since));
            elapsed.is_ok_and(|elapsed| elapsed >= age)
        });
        if old && keeper.processes.is_empty() && !keeper.folder.is_kept() {
            remove_folder(keeper.folder.path())?;
            removed.push(keeper.folder.id().clone());
        }
    }
    Ok(removed)
}

/// Removes the folder of one keeper that has ended or was lost, however long ago; any other is refused.
///
/// What counts is how it is now, not how it was when `found` was judged. A folder that is gone already needs nothing.
pub fn remove(found: &Found) -> Result<(), KeeperError> {
    let path = found.folder.path();
    if !path.exists() {
        return Ok(());
    }
    let table = ProcessTable::read().map_err(KeeperError::system("read the process table"))?;
    let here = Here::look().map_err(KeeperError::system("see where we run"))?;
    let now = judge(found.folder.clone(), &table, &here);
    let over = match &now.condition {
        Condition::Ended(_) => true,
        // A starter creates the folder before the record; without one, somebody may just be at it.
        Condition::Gone => now.record.is_some(),
        _ => false,
    };
    if !over || !now.processes.is_empty() || now.folder.is_kept() {
        let reason = "its keeper has not ended; stop it first";
        let refused = io::Error::new(io::ErrorKind::ResourceBusy, reason);
        return Err(KeeperError::file("remove", path)(refused));
    }
    remove_folder(path)
}

pub(super) fn remove_folder(path: &Path) -> Result<(), KeeperError> {
    match fs::remove_dir_all(path) {
        // Two may tidy up at once.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // A stop that has just ended the keeper may have written its last record meanwhile.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            fs::remove_dir_all(path).map_err(KeeperError::file("remove", path))
        }
        result => result.map_err(KeeperError::file("remove", path)),
    }
}

fn remove_file(path: &Path) -> Result<(), KeeperError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(KeeperError::file("remove", path)),
    }
}

fn last_change(path: &Path) -> Option<Timestamp> {
    let changed = fs::metadata(path).ok()?.modified().ok()?;
    Timestamp::try_from(changed).ok()
}
