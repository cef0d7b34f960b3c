//! Keepers and app-servers whose folder was deleted, found by their processes.
//!
//! A keeper puts its folder back by itself; until it has, nothing below the root tells of it. Whoever looked there alone
//! would take a thread for free that is at work, and start a second app-server for it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::error::KeeperError;
use super::folder::{KeeperFolder, KeeperId};
use super::list::{Found, judge};
use super::process::{Here, ProcessIdentity, ProcessTable};
use super::record::Record;
use super::stop::{StopMode, stop};

/// A keeper needs a tenth of a second to put its folder back; the rest is for a busy machine.
const RETURN_PATIENCE: Duration = Duration::from_secs(10);

const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What runs below a folder that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lost {
    folder: KeeperFolder,
    keeper: Option<ProcessIdentity>,
}

/// What was found without its folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Their folders are there again.
    pub returned: Vec<KeeperId>,
    /// Their keepers were dead, so nobody could reach them any more.
    pub ended: Vec<KeeperId>,
    /// Their keepers live and do not put the folder back: they are stopped, or of an older version.
    pub unreachable: Vec<(KeeperId, i32)>,
}

/// Waits until living keepers below `root` have put their folders back, and ends app-servers that have no keeper.
pub async fn recover_lost(root: &Path) -> Result<Recovered, KeeperError> {
    let mut recovered = Recovered::default();
    let mut seen = BTreeSet::new();
    let deadline = Instant::now() + RETURN_PATIENCE;
    loop {
        let lost = lost(root)?;
        let (kept, orphans): (Vec<_>, Vec<_>) =
            lost.into_iter().partition(|lost| lost.keeper.is_some());
        for orphan in orphans {
            let id = orphan.folder.id().clone();
            stop(&judged(orphan.folder)?, StopMode::Now).await?;
            recovered.ended.push(id);
        }
        let is_over = Instant::now() >= deadline;
        if kept.is_empty() || is_over {
            let left: Vec<_> = kept
                .into_iter()
                .filter_map(|lost| Some((lost.folder.id().clone(), lost.keeper?.pid)))
                .collect();
            for (id, _) in &left {
                seen.remove(id);
            }
            recovered.returned = seen.into_iter().collect();
            recovered.unreachable = left;
            return Ok(recovered);
        }
        seen.extend(kept.into_iter().map(|lost| lost.folder.id().clone()));
        sleep(LOOK_AGAIN).await;
    }
}

/// Whether the keeper lives. What its record does not tell counts as living: nothing is given up on a guess.
pub fn has_keeper(root: &Path, id: &KeeperId) -> bool {
    let Some(folder) = KeeperFolder::at(&root.join(id.as_str())) else { return true };
    let record = Record::read(&folder).ok();
    record.and_then(|record| record.keeper).is_none_or(ProcessIdentity::is_alive)
}

/// The keeper with this id; if its folder was just deleted, once it is there again.
pub async fn find_again(root: &Path, id: &KeeperId) -> Option<Found> {
    let deadline = Instant::now() + RETURN_PATIENCE;
    loop {
        if let Ok(found) = super::find(root, id.as_str()) {
            let is_back = found.record.is_some() || Instant::now() >= deadline;
            if is_back {
                return Some(found);
            }
        }
        let is_lost = |lost: &Lost| lost.folder.id() == id && lost.keeper.is_some();
        if Instant::now() >= deadline || !lost(root).ok()?.iter().any(is_lost) {
            // It may have come back between the two looks.
            return super::find(root, id.as_str()).ok();
        }
        sleep(LOOK_AGAIN).await;
    }
}

fn judged(folder: KeeperFolder) -> Result<Found, KeeperError> {
    let table = ProcessTable::read().map_err(KeeperError::system("read the process table"))?;
    let here = Here::look().map_err(KeeperError::system("see where we run"))?;
    Ok(judge(folder, &table, &here))
}

fn lost(root: &Path) -> Result<Vec<Lost>, KeeperError> {
    let table = ProcessTable::read().map_err(KeeperError::system("read the process table"))?;
    let mut found: Vec<Lost> = Vec::new();
    for (id, process) in table.all_marked() {
        let Some(folder) = KeeperFolder::at(&root.join(id.as_str())) else { continue };
        if fs::symlink_metadata(folder.record()).is_ok() {
            continue;
        }
        let Some(role) = role(&folder, *process) else { continue };
        let keeper = (role == Role::Keeper).then_some(*process);
        match found.iter_mut().find(|lost| lost.folder == folder) {
            Some(lost) => lost.keeper = lost.keeper.or(keeper),
            None => found.push(Lost { folder, keeper }),
        }
    }
    Ok(found)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Keeper,
    AppServer,
}

/// What the process is, if its arguments name this folder: a mark alone does not say below which root it is.
fn role(folder: &KeeperFolder, process: ProcessIdentity) -> Option<Role> {
    let arguments = fs::read(format!("/proc/{}/cmdline", process.pid)).ok()?;
    let arguments: Vec<&[u8]> = arguments.split(|byte| *byte == 0).skip(1).collect();
    let path = folder.path().as_os_str().as_bytes();
    let socket = [b"unix://", folder.socket().as_os_str().as_bytes()].concat();
    let is_keeper = arguments.starts_with(&[b"keeper", b"run", b"--dir", path]);
    let is_app_server =
        arguments.contains(&b"app-server".as_slice()) && arguments.contains(&socket.as_slice());
    // The pid may have changed hands since.
    let role = match (is_keeper, is_app_server) {
        (true, _) => Role::Keeper,
        (false, true) => Role::AppServer,
        (false, false) => return None,
    };
    process.is_alive().then_some(role)
}
