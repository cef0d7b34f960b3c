//! What the settings depend on besides the file. Whoever calls us reads it from the environment.

use std::path::{Path, PathBuf};

/// Where this user's things are, and the variables that have a say in a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// What `~` stands for. Absent where `HOME` is not set.
    pub home: Option<PathBuf>,
    /// The folder of the database and of worktrees.
    pub state: PathBuf,
    /// The folder of sockets.
    pub runtime: PathBuf,
    /// The variable `CODEX_HOME`, made absolute.
    pub codex_home: Option<PathBuf>,
    /// The variable `OSTLER_LOG`.
    pub log: Option<String>,
}

impl Surroundings {
    /// A user with nothing out of the ordinary: what the documentation shows.
    #[must_use]
    pub fn usual() -> Self {
        Self {
            home: Some(PathBuf::from("~")),
            state: PathBuf::from("~/.local/state/ostler"),
            runtime: PathBuf::from("/run/user/1000/ostler"),
            codex_home: None,
            log: None,
        }
    }

    /// A path as it is written, with `~` replaced by the home folder.
    pub(crate) fn expand(&self, written: &str) -> Result<PathBuf, NotAPlace> {
        let path = Path::new(written);
        if let Ok(rest) = path.strip_prefix("~") {
            let home = self.home.as_ref().ok_or(NotAPlace::NoHome)?;
            // Joining an empty rest would leave a slash at the end.
            return Ok(if rest.as_os_str().is_empty() { home.clone() } else { home.join(rest) });
        }
        if path.is_absolute() { Ok(path.to_owned()) } else { Err(NotAPlace::Relative) }
    }
}

/// Why a text names no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAPlace {
    /// It would mean another file in every folder somebody stands in.
    Relative,
    NoHome,
}
