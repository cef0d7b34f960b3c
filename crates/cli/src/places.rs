//! Where our files live: the XDG folders, or everything below `OSTLER_HOME` when that is set.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use ostler_config::Surroundings;

use crate::failure::{Exit, Failure};

/// The file with all conversations of the host agent, in the state folder.
pub(crate) const CONVERSATIONS: &str = "conversations.db";

/// The four folders of DESIGN §7. Nothing is created until somebody needs it.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(crate) config: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) runtime: PathBuf,
    pub(crate) cache: PathBuf,
}

impl Places {
    /// Reads the environment once. An empty or relative variable counts as unset, as the XDG rules say.
    pub(crate) fn find() -> Result<Self, Failure> {
        if let Some(home) = absolute("OSTLER_HOME") {
            return Ok(Self {
                config: home.join("config"),
                state: home.join("state"),
                runtime: home.join("run"),
                cache: home.join("cache"),
            });
        }
        let base = etcetera::base_strategy::Xdg::new().map_err(|error| {
            Failure::new(Exit::Usage, format!("cannot find the home folder: {error}"))
                .hint("set HOME, or set OSTLER_HOME to an absolute path")
        })?;
        let state = base.state_dir().unwrap_or_else(|| base.home_dir().join(".local/state"));
        let state = state.join("ostler");
        Ok(Self {
            config: base.config_dir().join("ostler"),
            runtime: base.runtime_dir().map_or_else(|| state.join("run"), |dir| dir.join("ostler")),
            cache: base.cache_dir().join("ostler"),
            state,
        })
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// What the settings depend on besides the file.
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings {
            home: absolute("HOME"),
            state: self.state.clone(),
            runtime: self.runtime.clone(),
            codex_home: variable("CODEX_HOME").and_then(|home| std::path::absolute(home).ok()),
            log: variable("OSTLER_LOG").map(|log| log.to_string_lossy().into_owned()),
        }
    }

    /// Codex's own, where neither the settings nor the environment name one.
    pub(crate) fn default_codex_home(&self) -> Option<PathBuf> {
        let Surroundings { home, codex_home, .. } = self.surroundings();
        codex_home.or_else(|| Some(home?.join(".codex")))
    }

    /// The folder that holds one sub-folder per keeper.
    pub(crate) fn keepers(&self) -> PathBuf {
        self.runtime.join("keepers")
    }

    /// Where a daemon listens that says nothing else.
    pub(crate) fn usual_daemon_socket(&self) -> PathBuf {
        self.runtime.join("daemon.sock")
    }

    /// What is said with the host agent.
    pub(crate) fn conversations(&self) -> PathBuf {
        self.state.join(CONVERSATIONS)
    }

    /// Held by the one daemon that works in this state folder.
    pub(crate) fn daemon_lock(&self) -> PathBuf {
        self.state.join("daemon.lock")
    }

    /// Held by whoever replaces that daemon, from before its end until the next one answers.
    pub(crate) fn replacing_lock(&self) -> PathBuf {
        self.state.join("replacing.lock")
    }

    /// Which folders may bring programs along.
    pub(crate) fn trusted_folders(&self) -> PathBuf {
        self.state.join("trusted-folders.json")
    }

    /// The folder that holds one sub-folder per task, with the files that it was given.
    pub(crate) fn files(&self) -> PathBuf {
        self.state.join("files")
    }

    /// The folder that holds one sub-folder per task, with the states of its working folder.
    pub(crate) fn changes(&self) -> PathBuf {
        self.state.join("changes")
    }

    /// What a daemon says that was started in the background.
    pub(crate) fn daemon_log(&self) -> PathBuf {
        self.state.join("logs/daemon.log")
    }

    /// The folder that holds one sub-folder per installed Codex version.
    pub(crate) fn codex_cache(&self) -> PathBuf {
        self.cache.join("codex")
    }
}

/// Where the units of the user's own service manager are; `OSTLER_HOME` has no say in it.
pub(crate) fn user_units() -> Result<PathBuf, Failure> {
    let base = etcetera::base_strategy::Xdg::new().map_err(|error| {
        Failure::new(Exit::Usage, format!("cannot find the home folder: {error}")).hint("set HOME")
    })?;
    Ok(base.config_dir().join("systemd/user"))
}

/// Creates a folder only we can enter, or refuses one that others can.
pub(crate) fn private_folder(path: &Path) -> Result<(), Failure> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot create {}: {error}", path.display()))
    })?;
    let metadata = fs::metadata(path).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot look at {}: {error}", path.display()))
    })?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(Failure::new(
            Exit::Failed,
            format!("{} belongs to somebody else", path.display()),
        )
        .hint("set OSTLER_HOME to a folder of your own"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(Failure::new(
            Exit::Failed,
            format!("{} can be entered by other users", path.display()),
        )
        .hint(format!("run `chmod 700 {}`", path.display())));
    }
    Ok(())
}

/// The whole environment, read in this one place.
#[expect(clippy::disallowed_methods, reason = "cli is the room that reads the environment")]
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// One variable. Empty counts as unset.
#[expect(clippy::disallowed_methods, reason = "cli is the room that reads the environment")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn absolute(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
