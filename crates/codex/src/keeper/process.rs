//! Processes as `/proc` shows them: who is whose child, who is still the same, who carries our mark.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::MARK;
use super::folder::KeeperId;

/// A pid alone may mean another process a moment later; with the start time it cannot, until the machine reboots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: i32,
    /// Field 22 of `/proc/PID/stat`: clock ticks since boot.
    pub start_ticks: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Process {
    pub identity: ProcessIdentity,
    pub parent: i32,
    /// The kernel's name of it: up to 15 bytes, chosen by the process itself.
    pub name: String,
}

impl ProcessIdentity {
    /// The living process that has this pid now.
    pub fn of(pid: i32) -> Option<Self> {
        read(pid).map(|process| process.identity)
    }

    /// Our own child that we have not reaped yet; unlike [`of`](Self::of) this also finds one that has ended.
    pub(super) fn of_child(pid: i32) -> Option<Self> {
        read_stat(pid).map(|(_, process)| process.identity)
    }

    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// A handle that means this process and no other, or none if it is gone.
    pub(super) fn open(self) -> io::Result<Option<OwnedFd>> {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Ok(None);
        };
        let handle = match pidfd_open(pid, PidfdFlags::NONBLOCK) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // The handle is fixed now; if the start time is right after that, it was right when it was opened.
        Ok(self.is_alive().then_some(handle))
    }

    /// Sends a signal to this very process; a process that has gone needs none.
    pub(super) fn signal(self, signal: Signal) -> io::Result<()> {
        let Some(handle) = self.open()? else {
            return Ok(());
        };
        match pidfd_send_signal(handle, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// All living processes at one moment.
#[derive(Debug, Default)]
pub(super) struct ProcessTable {
    processes: BTreeMap<i32, Process>,
    /// Filled by [`marked`](Self::marked): reading every environment is dear, and many keepers may ask.
    marked: OnceCell<Vec<(KeeperId, ProcessIdentity)>>,
}

impl ProcessTable {
    pub(super) fn read() -> io::Result<Self> {
        let mut processes = BTreeMap::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let pid = name.to_str().and_then(|name| name.parse().ok());
            // A process may end while we look; then it is simply not in the table.
            if let Some(process) = pid.and_then(read) {
                processes.insert(process.identity.pid, process);
            }
        }
        Ok(Self { processes, marked: OnceCell::new() })
    }

    pub(super) fn get(&self, identity: ProcessIdentity) -> Option<&Process> {
        self.processes.get(&identity.pid).filter(|process| process.identity == identity)
    }

    pub(super) fn with_pid(&self, pid: i32) -> Option<&Process> {
        self.processes.get(&pid)
    }

    /// Everything below `pid`, without itself.
    pub(super) fn descendants(&self, pid: i32) -> Vec<&Process> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::from([pid]);
        let mut parents = vec![pid];
        while let Some(parent) = parents.pop() {
            for process in self.processes.values() {
                if process.parent == parent && seen.insert(process.identity.pid) {
                    found.push(process);
                    parents.push(process.identity.pid);
                }
            }
        }
        found
    }

    /// Everything that carries the mark of keeper `id`.
    pub(super) fn marked(&self, id: &KeeperId) -> Vec<ProcessIdentity> {
        let of_keeper = self.all_marked().iter().filter(|(mark, _)| mark == id);
        of_keeper.map(|(_, identity)| *identity).collect()
    }

    /// Everything that carries the mark of any keeper.
    pub(super) fn all_marked(&self) -> &[(KeeperId, ProcessIdentity)] {
        self.marked.get_or_init(|| {
            let with_mark = |process: &Process| Some((mark(process)?, process.identity));
            self.processes.values().filter_map(with_mark).collect()
        })
    }
}

/// The keeper that `process` carries the mark of. A process of another user, or one that forbids it, cannot be read.
fn mark(process: &Process) -> Option<KeeperId> {
    let environment = fs::read(format!("/proc/{}/environ", process.identity.pid)).ok()?;
    let id = environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(MARK.as_bytes())?;
        KeeperId::parse(std::str::from_utf8(value.strip_prefix(b"=")?).ok()?)
    })?;
    // The pid may have changed hands between the two looks.
    process.identity.is_alive().then_some(id)
}

/// Where a pid and a start time mean one process: one boot of the machine and, in it, one pid namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Here {
    pub(super) boot_id: String,
    /// The number of the namespace's inode. Containers on one machine share the boot but not this.
    pub(super) pid_namespace: u64,
}

impl Here {
    pub(super) fn look() -> io::Result<Self> {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let pid_namespace = fs::metadata("/proc/self/ns/pid")?.ino();
        Ok(Self { boot_id: boot_id.trim().to_owned(), pid_namespace })
    }
}

fn read(pid: i32) -> Option<Process> {
    let (life, process) = read_stat(pid)?;
    (life == Life::Alive).then_some(process)
}

/// The process that has this pid, also if it has ended and is not reaped yet.
pub(super) fn read_any(pid: i32) -> Option<Process> {
    read_stat(pid).map(|(_, process)| process)
}

fn read_stat(pid: i32) -> Option<(Life, Process)> {
    parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Alive,
    /// `Z` has ended and waits to be reaped, `X` is past even that.
    Ended,
}

/// The name stands in parentheses and may itself hold spaces and parentheses; the last `)` ends it.
fn parse(stat: &[u8]) -> Option<(Life, Process)> {
    let text = String::from_utf8_lossy(stat);
    let (pid, rest) = text.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let life = match *fields.first()? {
        "Z" | "X" => Life::Ended,
        _ => Life::Alive,
    };
    let process = Process {
        identity: ProcessIdentity {
            pid: pid.parse().ok()?,
            // Field 22, where the state is field 3.
            start_ticks: fields.get(19)?.parse().ok()?,
        },
        parent: fields.get(1)?.parse().ok()?,
        name: name.to_owned(),
    };
    Some((life, process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_try_to_look_like_fields() {
        let stat = b"42 (a) R 1 (b)) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2";
        let process = Process {
            identity: ProcessIdentity { pid: 42, start_ticks: 9876 },
            parent: 7,
            name: "a) R 1 (b)".to_owned(),
        };
        assert_eq!(parse(stat), Some((Life::Alive, process.clone())));
        let ended = String::from_utf8_lossy(stat).replace(" S ", " Z ");
        assert_eq!(parse(ended.as_bytes()), Some((Life::Ended, process)));
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"42 (short) S 7"), None);
    }

    #[test]
    fn a_child_is_found_below_us_and_with_its_mark() {
        // A mark of its own: several runs of the tests may share the machine.
        let mark = KeeperId::random();
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .env(MARK, mark.as_str())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let identity = ProcessIdentity::of(pid).unwrap();
        // While it becomes `sleep`, the child shows our own environment first, then for a moment none.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let table = loop {
            let table = ProcessTable::read().unwrap();
            let is_sleep = table.get(identity).is_some_and(|process| process.name == "sleep");
            if is_sleep && !table.marked(&mark).is_empty() {
                break table;
            }
            assert!(std::time::Instant::now() < deadline, "sleep never started");
            std::thread::yield_now();
        };
        let below: Vec<_> = table.descendants(own).iter().map(|process| process.identity).collect();
        let marked = table.marked(&mark);
        let reused = ProcessIdentity { start_ticks: identity.start_ticks + 1, ..identity };
        let spared = reused.signal(Signal::KILL).is_ok() && identity.is_alive();
        identity.signal(Signal::KILL).unwrap();
        child.wait().unwrap();
        assert!(below.contains(&identity), "{below:?}");
        assert_eq!(marked, [identity]);
        assert!(spared, "a signal for another start time reached the process");
        assert!(!identity.is_alive());
    }
}
