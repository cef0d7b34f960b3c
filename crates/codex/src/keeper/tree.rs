//! Everything that belongs to one keeper, found from outside of it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use super::folder::{KeeperFolder, KeeperId};
use super::group;
use super::process::{Here, Process, ProcessIdentity, ProcessTable};
use super::record::Record;

/// How long a killed tree may take to be gone; only a process that hangs in the kernel needs more than milliseconds.
pub(super) const END_DEADLINE: Duration = Duration::from_secs(10);

/// Between two looks at a tree that is ending.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The record's processes, as far as they are alive; after a reboot none is, nor is any of another pid namespace to us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Alive {
    pub(super) keeper: Option<ProcessIdentity>,
    pub(super) codex: Option<ProcessIdentity>,
    pub(super) starter: Option<ProcessIdentity>,
}

impl Alive {
    pub(super) fn of(record: &Record, table: &ProcessTable, here: &Here) -> Self {
        if !record.is_from(here) {
            return Self::default();
        }
        let alive = |identity: &ProcessIdentity| table.get(*identity).is_some();
        Self {
            keeper: record.keeper.filter(alive),
            codex: record.codex.filter(alive),
            starter: Some(record.started_by).filter(alive),
        }
    }
}

/// The tree of keeper `id` without the keeper: by descent, by the mark, and by the control group.
///
/// Each alone would miss some: descent what outlived its parents, the mark what cleared its environment, and the
/// group is not there on every system.
pub(super) fn members(
    id: &KeeperId,
    record: Option<&Record>,
    table: &ProcessTable,
    here: &Here,
) -> Vec<Process> {
    let alive = record.map(|record| Alive::of(record, table, here)).unwrap_or_default();
    let marked = table.marked(id).into_iter();
    let mut roots: Vec<i32> = marked.map(|identity| identity.pid).collect();
    roots.extend([alive.keeper, alive.codex].into_iter().flatten().map(|found| found.pid));
    let group = record.and_then(|record| record.control_group.as_deref());
    if let Some(path) = group.filter(|path| group::belongs_to(path, id)) {
        roots.extend(group::members(path));
    }
    let mut found = BTreeMap::new();
    for root in roots {
        let itself = table.with_pid(root).into_iter();
        for process in itself.chain(table.descendants(root)) {
            found.insert(process.identity, process.clone());
        }
    }
    if let Some(keeper) = alive.keeper {
        found.remove(&keeper);
    }
    found.into_values().collect()
}

/// The keeper of a folder whose record cannot be read: it carries the mark and was told the folder.
pub(super) fn keeper_without_record(
    folder: &KeeperFolder,
    table: &ProcessTable,
) -> Option<ProcessIdentity> {
    let told = folder.path().as_os_str().as_bytes();
    table.marked(folder.id()).into_iter().find(|identity| {
        let arguments = fs::read(format!("/proc/{}/cmdline", identity.pid)).unwrap_or_default();
        let arguments: Vec<&[u8]> = arguments.split(|byte| *byte == 0).skip(1).collect();
        arguments.starts_with(&[b"keeper", b"run", b"--dir", told])
    })
}

/// Ends all of a tree whose keeper is dead; gives what was ended and what would not end.
pub(super) async fn end(
    id: &KeeperId,
    record: Option<&Record>,
    here: &Here,
) -> io::Result<(Vec<Process>, Vec<Process>)> {
    let deadline = Instant::now() + END_DEADLINE;
    let own = std::process::id();
    let mut seen = BTreeMap::new();
    loop {
        let table = ProcessTable::read()?;
        let mut left = members(id, record, &table, here);
        // A stop that was called from inside the tree must still finish its work.
        left.retain(|process| u32::try_from(process.identity.pid) != Ok(own));
        if left.is_empty() {
            return Ok((seen.into_values().collect(), left));
        }
        if Instant::now() >= deadline {
            let identities: Vec<_> = left.iter().map(|process| process.identity).collect();
            seen.retain(|identity, _| !identities.contains(identity));
            return Ok((seen.into_values().collect(), left));
        }
        for process in left {
            // What we may not signal is still there at the deadline and is reported then.
            drop(process.identity.signal(Signal::KILL));
            seen.insert(process.identity, process);
        }
        sleep(LOOK_AGAIN).await;
    }
}
