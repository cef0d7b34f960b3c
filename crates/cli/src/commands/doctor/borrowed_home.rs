//! A Codex home in which the user's own files are read and none of them, nor any beside them, is written.
//!
//! Codex fills its home as soon as it starts: 0.166.0 lays out dozens of files below `skills/`. So it gets a scratch
//! folder with links to what it judges the user by.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// What decides about login and configuration, and is written only by `codex login` and the like. Codex writes a login
/// that it renews through the link (0.125.0 to 0.166.0), so none is lost.
const JUDGED: [&str; 5] = ["config.toml", LOGIN, ".env", "rules", "agents"];

const LOGIN: &str = "auth.json";

/// Folders that Codex fills by itself. They are never linked, also not when the config file names one.
const FILLED: [&str; 9] = [
    "skills",
    "sessions",
    "archived_sessions",
    "log",
    "tmp",
    "plugins",
    "cache",
    "memories",
    "shell_snapshots",
];

/// Whether Codex gets to see who is logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Login {
    Linked,
    /// With a login, and with plugins switched on, Codex asks the network about plugins as soon as it starts.
    LeftOut,
}

/// Where Codex is to look instead of in the user's home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct BorrowedHome {
    /// What `CODEX_HOME` says to the Codex that we start.
    pub(in crate::commands) path: PathBuf,
    /// The user's own, if one is known.
    real: Option<PathBuf>,
}

impl BorrowedHome {
    /// Fills `scratch` with links. A home that Codex could not start with is handed to it as it is: it then says why,
    /// and writes nothing.
    pub(in crate::commands) fn lay_out(
        scratch: PathBuf,
        real: Option<PathBuf>,
        is_named: bool,
        login: Login,
    ) -> io::Result<Self> {
        let Some(home) = real else {
            return Ok(Self { path: scratch, real: None });
        };
        let usable = match fs::metadata(&home) {
            Ok(found) => found.is_dir(),
            // Codex makes its default home itself, but not one that it was given.
            Err(error) => error.kind() == ErrorKind::NotFound && !is_named,
        };
        if !usable {
            return Ok(Self { path: home.clone(), real: Some(home) });
        }
        let is_shown = |name: &String| login == Login::Linked || name != LOGIN;
        for name in linked(&home).into_iter().filter(is_shown) {
            symlink(home.join(&name), scratch.join(&name))?;
        }
        Ok(Self { path: scratch, real: Some(home) })
    }

    /// Whether it stands for a home that Codex can start with.
    pub(super) fn is_borrowed(&self) -> bool {
        self.real.as_ref() != Some(&self.path)
    }

    /// The user knows nothing of our scratch folder: its name is replaced by that of the real home.
    pub(in crate::commands) fn name_the_real(&self, text: &str) -> String {
        match &self.real {
            Some(real) => {
                text.replace(&self.path.display().to_string(), &real.display().to_string())
            }
            None => text.to_owned(),
        }
    }
}

/// The names in `home` that Codex needs to see.
fn linked(home: &Path) -> Vec<String> {
    let is_there = |name: &&str| fs::symlink_metadata(home.join(name)).is_ok();
    let mut names: Vec<String> =
        JUDGED.iter().filter(|name| is_there(name)).map(|name| (*name).to_owned()).collect();
    let config = home.join("config.toml");
    // One that is a pipe would hold us up; whoever reads it first should be Codex, which has a deadline.
    if !fs::metadata(&config).is_ok_and(|found| found.is_file()) {
        return names;
    }
    let text = fs::read_to_string(&config).unwrap_or_default();
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        if let Ok(name) = entry.file_name().into_string()
            && !names.contains(&name)
            && !FILLED.contains(&name.as_str())
            && is_named_in(&text, &name)
        {
            names.push(name);
        }
    }
    names
}

/// Whether a string of the config begins with this name: relative paths in it count from the home.
fn is_named_in(config: &str, name: &str) -> bool {
    let starts = ["\"", "'", "\"./", "'./"];
    starts.iter().any(|start| {
        config.match_indices(&format!("{start}{name}")).any(|(at, found)| {
            let after = config.get(at + found.len()..).unwrap_or_default();
            after.starts_with(['"', '\'', '/'])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_codex_reads_is_linked_and_what_it_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (home, scratch) = (folder.path().join("home"), folder.path().join("scratch"));
        for name in ["rules", "skills", "sessions", "more", "other"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::create_dir(&scratch).unwrap();
        for name in ["auth.json", "state.sqlite", "note.md", "history.jsonl"] {
            fs::write(home.join(name), "x").unwrap();
        }
        let config =
            "a = \"note.md\"\nb = './more/x.md'\nlog_dir = \"skills/x\"\nc = \"otherwise\"\n";
        fs::write(home.join("config.toml"), config).unwrap();

        let borrowed =
            BorrowedHome::lay_out(scratch.clone(), Some(home.clone()), true, Login::Linked)
                .unwrap();

        assert_eq!(borrowed, BorrowedHome { path: scratch.clone(), real: Some(home.clone()) });
        let mut names: Vec<String> = fs::read_dir(&scratch)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["auth.json", "config.toml", "more", "note.md", "rules"]);
        let bare = folder.path().join("bare");
        fs::create_dir(&bare).unwrap();
        BorrowedHome::lay_out(bare.clone(), Some(home.clone()), true, Login::LeftOut).unwrap();
        assert!(bare.join("config.toml").exists() && !bare.join("auth.json").exists());
        let said = format!("{}/config.toml:2:6: wrong", scratch.display());
        let shown = format!("{}/config.toml:2:6: wrong", home.display());
        assert_eq!(borrowed.name_the_real(&said), shown);
    }

    #[test]
    fn a_home_that_codex_refuses_is_shown_to_it_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let scratch = folder.path().join("scratch");
        let path = |named| {
            let missing = Some(missing.clone());
            let laid_out = BorrowedHome::lay_out(scratch.clone(), missing, named, Login::LeftOut);
            laid_out.unwrap().path
        };
        assert_eq!((path(true), path(false)), (missing.clone(), scratch.clone()));
        fs::write(&missing, "a file").unwrap();
        assert_eq!(path(false), missing);
    }
}
