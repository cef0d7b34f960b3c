//! `[codex]`: which Codex to run, and with which home.

use std::path::PathBuf;

use semver::Version;

use crate::section::section;

section! {
    /// Which Codex runs, and with which home. `ostler codex use` writes `path` and `version` for you.
    Codex = "codex", _at;

    /// A Codex binary of your own. Without it `version` decides.
    path: Option<PathBuf> = None;
    /// One of the versions that `ostler codex install` has fetched. Without it the `codex` on PATH is used, or else the
    /// newest that is installed.
    version: Option<Version> = None;
    /// The `CODEX_HOME` of tasks: Codex's login, settings and threads. Without it Codex's own rule holds: the variable
    /// `CODEX_HOME` of whoever starts the daemon, or else `~/.codex`. It must not be below `/tmp`, where Codex refuses to
    /// put its helper programs.
    home: Option<PathBuf> = None;
    /// Other homes that a task may be started with (`ostler start --codex-home DIR`, `codex_home` over HTTP and MCP). Codex starts
    /// what the `config.toml` of its home names, outside of the sandbox, so no other is taken. Each must be there, and no task
    /// may write in it.
    homes: Vec<PathBuf> = Vec::new();
}
