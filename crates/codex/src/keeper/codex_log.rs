//! What Codex prints, line by line and without secrets, into a log of bounded size.

use super::folder::KeeperFolder;
use super::log::{CODEX_LOG, RotatingLog};
use super::record::Record;
use crate::secrets::Secrets;

/// A longer line is written in pieces; Codex prints the bodies of requests at `RUST_LOG=trace`.
const LONGEST_LINE_BYTES: usize = 256 * 1024;

/// Codex quotes in its errors what a model or a server has said, and that may hold the login.
pub(super) struct CodexLog {
    log: RotatingLog,
    secrets: Secrets,
    /// The line that has no end yet.
    begun: Vec<u8>,
}

impl CodexLog {
    pub(super) fn new(folder: &KeeperFolder, record: &Record) -> Self {
        let secrets = Secrets::default();
        if let Some(keeper) = record.keeper {
            // What Codex is given is what the keeper was given.
            secrets.learn_process(keeper.pid, &record.given_variables);
        }
        if let Some(home) = &record.codex_home {
            secrets.watch_login(home);
        }
        Self::with(folder, secrets)
    }

    fn with(folder: &KeeperFolder, secrets: Secrets) -> Self {
        let log = RotatingLog::new(folder.codex_log(), CODEX_LOG);
        Self { log, secrets, begun: Vec::new() }
    }

    /// Writes into the file of this name from now on: the old one was deleted.
    pub(super) fn begin_anew(&mut self, folder: &KeeperFolder) {
        self.log = RotatingLog::new(folder.codex_log(), CODEX_LOG);
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        let whole = memchr::memrchr(b'\n', &self.begun).map_or(0, |at| at + 1);
        let whole =
            if self.begun.len() - whole > LONGEST_LINE_BYTES { self.begun.len() } else { whole };
        let rest = self.begun.split_off(whole);
        let lines = std::mem::replace(&mut self.begun, rest);
        self.write(&lines);
    }

    /// Writes what is left when Codex has ended.
    pub(super) fn finish(&mut self) {
        let rest = std::mem::take(&mut self.begun);
        self.write(&rest);
    }

    fn write(&mut self, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        self.secrets.look_again(false);
        let text = String::from_utf8_lossy(lines).into_owned();
        self.log.append(self.secrets.hidden_in(text).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_a_read_cuts_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = KeeperFolder::create(root.path()).unwrap();
        let said = "WARN no tool named stable-horse-4471 here\nERROR stable-horse-4471";
        for cut in 0..said.len() {
            std::fs::remove_file(folder.codex_log()).ok();
            let secrets = Secrets::default();
            secrets.add("stable-horse-4471");
            let mut log = CodexLog::with(&folder, secrets);
            log.append(&said.as_bytes()[..cut]);
            log.append(&said.as_bytes()[cut..]);
            log.finish();
            let written = std::fs::read_to_string(folder.codex_log()).unwrap();
            assert_eq!(written, "WARN no tool named ‹redacted› here\nERROR ‹redacted›", "{cut}");
        }
    }
}
