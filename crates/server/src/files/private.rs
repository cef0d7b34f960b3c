//! Files that are given to nobody, whatever folder a task works in: those of Codex homes, and Ostler's own.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What of a Codex home is a login by itself, under whatever name it was opened.
const LOGINS: [&str; 2] = ["auth.json", ".credentials.json"];

/// Where such files are.
#[derive(Debug, Clone, Default)]
pub struct PrivateFiles {
    pub codex_homes: Vec<PathBuf>,
    /// Configuration, state and runtime folder, and the database.
    pub own: Vec<PathBuf>,
    /// Below those, and not Ostler's own: the worktrees of tasks.
    pub works: PathBuf,
}

impl PrivateFiles {
    /// By the file that was opened: names lead anywhere.
    pub(super) fn holds(&self, file: &File) -> bool {
        let Ok(path) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) else {
            return true;
        };
        let is_in = |folder: &PathBuf| path.starts_with(real(folder));
        let is_own = self.own.iter().any(is_in) && !is_in(&self.works);
        is_own || self.codex_homes.iter().any(is_in) || self.is_login(file)
    }

    fn is_login(&self, file: &File) -> bool {
        let Ok(found) = file.metadata() else { return true };
        let files = self.codex_homes.iter().flat_map(|home| LOGINS.map(|name| home.join(name)));
        let mut known = files.filter_map(|login| fs::metadata(login).ok());
        known.any(|login| (login.dev(), login.ino()) == (found.dev(), found.ino()))
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
