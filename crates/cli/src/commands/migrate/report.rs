//! What a migration did, for programs and for people.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ostler_config::migrate::KeyNote;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    Overlay,
    Write,
    Undo,
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) mode: Mode,
    pub(crate) dry_run: bool,
    /// Whether a file is another than before.
    pub(crate) written: bool,
    /// Codex's own file.
    pub(crate) target: PathBuf,
    /// What it was before, if it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup: Option<PathBuf>,
    pub(crate) sources: Vec<SourceShown>,
    pub(crate) servers: Vec<ServerShown>,
    pub(crate) variables: Vec<VariableShown>,
    /// Where secrets are stored, if any are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secrets_file: Option<PathBuf>,
    pub(crate) plugins: Vec<PluginShown>,
    /// Why plugins were not looked for.
    pub(crate) plugin_note: Option<String>,
    /// The permission profile that was written.
    pub(crate) permissions: Option<String>,
    pub(crate) notes: Vec<String>,
    /// What could not be taken.
    pub(crate) errors: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SourceShown {
    pub(crate) file: PathBuf,
    pub(crate) servers: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct ServerShown {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) renamed_from: Option<String>,
    /// None for our own tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<PathBuf>,
    pub(crate) state: ServerState,
    pub(crate) keys: Vec<KeyNote>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ServerState {
    Migrated,
    /// Codex's own file has one of this name, which stays as it is.
    Theirs,
    /// It was written into Codex's own file before, and need not be given with a thread.
    Written,
}

#[derive(Debug, Serialize)]
pub(crate) struct VariableShown {
    pub(crate) name: String,
    pub(crate) server: String,
    /// Where its value stands now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) holds: Option<String>,
    /// Whether the server does without it.
    pub(crate) has_default: bool,
    pub(crate) is_set: bool,
    /// Whether it reaches the Codex of tasks.
    pub(crate) is_passed: bool,
    /// Whether its value is stored, and given to the Codex of tasks.
    pub(crate) is_stored: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct PluginShown {
    pub(crate) id: String,
    /// Whether it was written; otherwise it stands in the file anyway.
    pub(crate) carried: bool,
}

impl Report {
    pub(crate) fn new(mode: Mode, dry_run: bool, target: PathBuf) -> Self {
        Self {
            mode,
            dry_run,
            written: false,
            target,
            backup: None,
            sources: Vec::new(),
            servers: Vec::new(),
            variables: Vec::new(),
            secrets_file: None,
            plugins: Vec::new(),
            plugin_note: None,
            permissions: None,
            notes: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// For people, a line for everything.
    pub(crate) fn text(&self, short: impl Fn(&Path) -> String) -> String {
        let mut lines = Vec::new();
        for source in &self.sources {
            lines.push(format!("{}: {}", short(&source.file), servers(source.servers)));
        }
        for server in &self.servers {
            server.lines(&mut lines);
        }
        for plugin in &self.plugins {
            let how = if plugin.carried { "carried over" } else { "stays as it is" };
            lines.push(format!("plugin {}: {how}", plugin.id));
        }
        lines.extend(
            self.plugin_note.iter().map(|why| format!("plugins were not looked for: {why}")),
        );
        lines.extend(self.permissions.iter().map(|name| format!("default_permissions = {name:?}")));
        lines.extend(self.notes.iter().cloned());
        lines.extend(self.errors.iter().map(|error| format!("left out: {error}")));
        self.variable_lines(&mut lines);
        lines.extend(self.stored_line(&short));
        lines.push(self.ending(&short));
        lines.join("\n")
    }

    /// One line for those who did something else.
    pub(crate) fn line(&self) -> String {
        let taken = self.servers.iter().filter(|server| server.state != ServerState::Theirs);
        let names: Vec<&str> = taken.map(|server| server.name.as_str()).collect();
        let mut line = format!("MCP servers for Codex: {}", names.join(", "));
        if names.is_empty() {
            line = "MCP servers for Codex: none".to_owned();
        }
        match self.plugin_note.as_ref() {
            Some(why) => line.push_str(&format!("; plugins were not looked for: {why}")),
            None if self.plugins.is_empty() => {}
            None => line.push_str(&format!("; plugins: {}", self.plugins.len())),
        }
        if !self.errors.is_empty() {
            line.push_str(&format!(
                "; left out: {} (`ostler migrate` says why)",
                self.errors.len()
            ));
        }
        line
    }

    fn stored_line(&self, short: &impl Fn(&Path) -> String) -> Option<String> {
        let stored = self.variables.iter().filter(|it| it.is_stored);
        let names: BTreeSet<&str> = stored.map(|it| it.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let file = self.secrets_file.as_ref()?;
        Some(format!("secrets in {}, which only you can read: {}", short(file), names.join(", ")))
    }

    fn variable_lines(&self, lines: &mut Vec<String>) {
        let needed = self.variables.iter().filter(|it| !it.has_default);
        let missing = needed.filter(|it| !it.is_stored && (!it.is_set || !it.is_passed));
        for variable in missing {
            let VariableShown { name, server, holds, is_set, is_passed, .. } = variable;
            let value = holds.as_ref().map(|holds| format!(" to what stands in {holds}"));
            let set = format!("set {name}{}", value.unwrap_or_default());
            lines.push(match (is_set, is_passed) {
                (false, true) => format!("to do for {server}: {set}"),
                (false, false) => {
                    format!("to do for {server}: {set}, and name it in pass of [environment]")
                }
                (true, _) => format!("to do for {server}: name {name} in pass of [environment]"),
            });
        }
    }

    fn ending(&self, short: &impl Fn(&Path) -> String) -> String {
        let target = short(&self.target);
        let backup =
            self.backup.as_ref().map(|backup| format!("; before, it was {}", short(backup)));
        let backup = backup.unwrap_or_default();
        match (self.mode, self.dry_run, self.written) {
            (_, true, true) => "nothing was done: this was a dry run".to_owned(),
            (_, true, false) => "there would be nothing to do".to_owned(),
            (Mode::Overlay, _, true) => {
                format!("Codex gets them with each thread; {target} stays as it is")
            }
            (Mode::Overlay, _, false) => "that is as it was".to_owned(),
            (Mode::Write, _, true) => format!("written into {target}{backup}"),
            (Mode::Write, _, false) => format!("{target} is as it was"),
            (Mode::Undo, _, true) if !self.errors.is_empty() => {
                format!("the rest was taken back; {target} is as it was")
            }
            (Mode::Undo, _, true) => format!("taken back; {target} is as it was before{backup}"),
            (Mode::Undo, _, false) => "there is nothing to take back".to_owned(),
        }
    }
}

impl ServerShown {
    fn lines(&self, lines: &mut Vec<String>) {
        let renamed = self.renamed_from.as_ref().map(|name| format!(" (there called {name})"));
        let renamed = renamed.unwrap_or_default();
        match self.state {
            ServerState::Migrated => lines.push(format!("server {}{renamed}", self.name)),
            ServerState::Theirs => {
                let name = &self.name;
                lines.push(format!(
                    "server {name}{renamed}: your config.toml has one of this name, which stays"
                ));
                return;
            }
            ServerState::Written => {
                lines.push(format!("server {}{renamed}: is written into config.toml", self.name));
                return;
            }
        }
        for KeyNote { key, became, note } in &self.keys {
            let note = note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            match became {
                Some(became) if became == key && note.is_empty() => {}
                Some(became) => lines.push(format!("  {key} → {became}{note}")),
                None => lines.push(format!("  {key} is left out{note}")),
            }
        }
    }
}

fn servers(count: usize) -> String {
    if count == 1 { "1 server".to_owned() } else { format!("{count} servers") }
}
