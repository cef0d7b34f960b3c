//! What the kernel knows of a process.

use std::time::Duration;

/// In kilobytes, of `/proc/PID/status`.
pub(crate) fn status_kb(pid: &str, name: &str) -> u64 {
    field(&format!("/proc/{pid}/status"), name)
}

/// What the process alone has in memory, in kilobytes.
pub(crate) fn private_kb(pid: &str) -> u64 {
    let path = format!("/proc/{pid}/smaps_rollup");
    field(&path, "Private_Clean") + field(&path, "Private_Dirty")
}

/// The peak of what it has in memory is counted anew from here.
pub(crate) fn forget_peak(pid: &str) {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
}

/// How often any thread of the process went to sleep by itself: each time something had woken it.
pub(crate) fn sleeps(pid: &str) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let count = |thread: &std::fs::DirEntry| {
        field(&format!("{}/status", thread.path().display()), "voluntary_ctxt_switches")
    };
    threads.map(|thread| count(&thread.unwrap())).sum()
}

/// The processor's time of all threads that still live.
pub(crate) fn cpu(pid: &str) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let spent = |thread: &std::fs::DirEntry| -> u64 {
        let schedstat =
            std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
    };
    Duration::from_nanos(threads.map(|thread| spent(&thread.unwrap())).sum())
}

fn field(path: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.split(':').next() == Some(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
