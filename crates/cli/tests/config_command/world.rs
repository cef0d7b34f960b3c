//! A home of its own for each test, and the binary run in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub(super) struct World {
    folder: TempDir,
}

impl World {
    pub(super) fn empty() -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("config")).unwrap();
        Self { folder }
    }

    pub(super) fn with_config(text: &str) -> Self {
        let world = Self::empty();
        fs::write(world.path("config/config.toml"), text).unwrap();
        world
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn run(&self, arguments: &[&str]) -> String {
        self.run_with(arguments, &[])
    }

    /// What a terminal would show, with the exit code, and without what differs from run to run.
    pub(super) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(arguments)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.folder.path())
            .env("OSTLER_HOME", self.folder.path())
            .envs(variables.iter().copied())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code().unwrap();
        let text = format!("{stdout}--- stderr\n{stderr}--- exit {code}");
        text.replace(self.folder.path().to_str().unwrap(), "[HOME]")
    }
}
