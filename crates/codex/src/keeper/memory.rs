//! How much memory Codex takes.

use std::fs;
use std::path::Path;

use super::folder::{KeeperFolder, KeeperId};
use super::record::Record;

/// The resident memory of the Codex of keeper `id` in bytes, without the commands that it runs; none if it does not live.
pub fn memory_of_codex(root: &Path, id: &KeeperId) -> Option<u64> {
    let folder = KeeperFolder::at(&root.join(id.as_str()))?;
    let codex = Record::read(&folder).ok()?.codex?;
    let status = fs::read_to_string(format!("/proc/{}/status", codex.pid)).ok()?;
    // The pid may have changed hands; if it is Codex's after the look, it was so during the look.
    resident(&status).filter(|_| codex.is_alive())
}

/// The kernel writes `VmRSS:     1234 kB` and means units of 1024 bytes.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_memory_is_read_in_bytes() {
        let status = "Name:\tcodex\nVmHWM:\t  900 kB\nVmRSS:\t  512 kB\nRssAnon:\t 12 kB\n";
        assert_eq!(resident(status), Some(512 * 1024));
        // A process that is ending has no memory any more.
        assert_eq!(resident("Name:\tcodex\nState:\tZ (zombie)\n"), None);
        let own = fs::read_to_string("/proc/self/status").unwrap();
        assert!(resident(&own).is_some_and(|bytes| bytes > 100 * 1024));
    }
}
