//! All that runs below this process.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal to every process below this one. Those that come to be meanwhile are met by the next call.
pub(super) fn signal_all(signal: Signal) {
    for pid in descendants() {
        // It may have ended meanwhile. Its number cannot have changed hands: who has no other parent is ours to reap.
        kill_process(pid, signal).ok();
    }
}

fn descendants() -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    for process in processes.flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok());
        let stat = std::fs::read_to_string(process.path().join("stat"));
        if let (Some(pid), Ok(stat)) = (pid, stat)
            && let Some(parent) = parent(&stat)
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = BTreeSet::new();
    let mut left = vec![std::process::id().cast_signed()];
    while let Some(pid) = left.pop() {
        let below = children.get(&pid).into_iter().flatten();
        left.extend(below.copied().filter(|child| found.insert(*child)));
    }
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// The name of the program comes in between and may hold anything, so the last bracket counts.
fn parent(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parent;

    #[test]
    fn the_parent_is_read_behind_whatever_the_program_is_called() {
        assert_eq!(parent("7 (sh) S 3 7 7 0"), Some(3));
        assert_eq!(parent("7 (a) S 1 (b) R 5 7 7 0"), Some(5));
        assert_eq!(parent("nonsense"), None);
    }
}
