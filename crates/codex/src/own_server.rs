//! An MCP server of our own, and whether the one that Codex runs under its name is really it.
//!
//! A name proves nothing: whoever writes Codex's config, or that of a project, can give it to any program. So two things are
//! looked at: what Codex was told to start under that name, for this very thread, and what runs below its app-server.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::app_server::AppServer;
use crate::keeper::{self, Condition, Found};
use crate::protocol::request::account::ConfigRead;

/// Codex answers from memory within 20 ms.
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// What a server's table may say without making another program of it. What else it says, such as a folder to run in or an
/// address, is not how we register it.
const HARMLESS: [&str; 12] = [
    "args",
    "command",
    "default_tools_approval_mode",
    "disabled_tools",
    "enabled",
    "enabled_tools",
    "env",
    "env_vars",
    "required",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "tool_timeout_sec",
];

/// Variables of ours: no other may be set, because some of them, such as `LD_PRELOAD`, change what a program does.
const OWN_VARIABLE: &str = "OSTLER_";

/// How we have Codex start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnServer {
    pub name: String,
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

/// Where the thread lives that asks.
pub struct Place<'a> {
    /// The folder that holds one folder per keeper.
    pub keepers: &'a Path,
    pub keeper: &'a str,
    pub cwd: &'a str,
    /// What the thread was opened with on top of Codex's config: dotted keys, values as JSON text.
    pub overrides: &'a BTreeMap<String, String>,
}

impl OwnServer {
    /// Whether a thread that has this override brings it along, and nothing else under its name.
    pub fn is_brought_by(&self, key: &str, value: &str) -> bool {
        let table = serde_json::from_str(value).ok();
        key == self.key() && table.is_some_and(|table| self.is_defined_by(&table).is_ok())
    }

    fn key(&self) -> String {
        format!("mcp_servers.{}", self.name)
    }

    /// Has a thread bring it along as Codex's own file has it, given as JSON text, if that is ours and the thread says nothing of it
    /// itself. What stands in the file is for all threads; only what a thread brings along can say for whom it works.
    pub fn bring_along(&self, overrides: &mut BTreeMap<String, String>, written: &str) {
        let key = self.key();
        if self.overridden(overrides).is_none() && self.is_brought_by(&key, written) {
            overrides.insert(key, written.to_owned());
        }
    }

    /// Tells it for which task it works, if this thread brings it along. By the environment it could not know: many tasks share an
    /// app-server.
    pub fn work_for(&self, overrides: &mut BTreeMap<String, String>, task: &str) {
        let Some(written) = overrides.get_mut(&self.key()) else {
            return;
        };
        let Ok(Value::Object(mut table)) = serde_json::from_str(written) else { return };
        let variables = table.entry("env").or_insert_with(|| Value::Object(Map::new()));
        if let Some(variables) = variables.as_object_mut() {
            variables.insert("OSTLER_TASK".to_owned(), task.into());
        }
        *written = Value::Object(table).to_string();
    }

    /// Whether the server that runs for this thread under our name is ours. The error says why it is not taken for it.
    pub async fn is_genuine(&self, server: &AppServer, place: Place<'_>) -> Result<(), String> {
        match self.overridden(place.overrides) {
            Some(defined) => defined?,
            None => {
                let read = ConfigRead { include_layers: false, cwd: Some(place.cwd.to_owned()) };
                let state = server.call_within(&read, ANSWER_DEADLINE).await;
                let state = state.map_err(|error| error.to_string())?;
                let config: Value = serde_json::from_str(state.config.text())
                    .map_err(|error| format!("codex's config cannot be read: {error}"))?;
                let table = config.get("mcp_servers").and_then(|all| all.get(&self.name));
                self.is_defined_by(table.ok_or("codex's config does not name it")?)?;
            }
        }
        let found = keeper::find(place.keepers, place.keeper);
        self.runs_below(&found.map_err(|error| error.to_string())?)
    }

    /// What the thread's own overrides say about it; none if they say nothing.
    fn overridden(&self, overrides: &BTreeMap<String, String>) -> Option<Result<(), String>> {
        let ours = self.key();
        let is_about = |key: &str| {
            key == "mcp_servers" || (key.starts_with("mcp_servers.") && key.contains(&self.name))
        };
        let mut about = overrides.iter().filter(|(key, _)| is_about(key));
        let first = about.next()?;
        Some(match (first, about.next()) {
            ((key, value), None) if *key == ours => match serde_json::from_str(value) {
                Ok(table) => self.is_defined_by(&table),
                Err(error) => Err(format!("the thread's override cannot be read: {error}")),
            },
            ((key, _), _) => Err(format!("the thread overrides {key}")),
        })
    }

    /// Whether this is how we have Codex start it.
    fn is_defined_by(&self, table: &Value) -> Result<(), String> {
        let table = table.as_object().ok_or("its table is none")?;
        let is_harmless = |key: &str, value: &Value| {
            // Codex since 0.142.5 says where it runs servers: here, unless it is told otherwise.
            value.is_null()
                || HARMLESS.contains(&key)
                || (key == "environment_id" && value == "local")
        };
        if let Some((key, _)) = table.iter().find(|(key, value)| !is_harmless(key, value)) {
            return Err(format!("its table sets `{key}`"));
        }
        let command = table.get("command").and_then(Value::as_str).ok_or("it has no command")?;
        if !Path::new(command).is_absolute() || !same_file(Path::new(command), &self.program) {
            return Err(format!("codex was told to start {command}"));
        }
        let arguments: Option<Vec<&str>> = table
            .get("args")
            .and_then(Value::as_array)
            .map(|all| all.iter().filter_map(Value::as_str).collect());
        if arguments.unwrap_or_default() != self.arguments {
            return Err("codex was told to start it with other arguments".to_owned());
        }
        let variables = table.get("env").and_then(Value::as_object).into_iter().flatten();
        match variables.map(|(name, _)| name).find(|name| !name.starts_with(OWN_VARIABLE)) {
            Some(name) => Err(format!("its table sets the variable {name}")),
            None => Ok(()),
        }
    }

    /// Whether Codex itself has started it: what a command of an agent starts is further down.
    fn runs_below(&self, found: &Found) -> Result<(), String> {
        let codex = found.record.as_ref().and_then(|record| record.codex);
        let codex = codex.filter(|_| found.condition == Condition::Running);
        let codex = codex.ok_or("no app-server runs")?;
        let mut children = found.processes.iter().filter(|process| process.parent == codex.pid);
        let is_ours = children.any(|process| {
            let pid = process.identity.pid;
            let is_program = same_file(Path::new(&format!("/proc/{pid}/exe")), &self.program);
            // The pid may have changed hands between the looks.
            is_program && self.was_told(pid) && process.identity.is_alive()
        });
        if is_ours { Ok(()) } else { Err("our program does not run below its codex".to_owned()) }
    }

    fn was_told(&self, pid: i32) -> bool {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = line.strip_suffix(b"\0").unwrap_or(&line);
        let told = line.split(|byte| *byte == 0).skip(1);
        told.eq(self.arguments.iter().map(String::as_bytes))
    }
}

/// Whether both are one file, by whatever name.
fn same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ours() -> OwnServer {
        OwnServer {
            name: "ostler-tools".to_owned(),
            program: "/bin/sh".into(),
            arguments: vec!["tools-mcp".to_owned()],
        }
    }

    #[test]
    fn only_our_own_table_is_ours() {
        let well = json!({ "command": "/bin/sh", "args": ["tools-mcp"], "cwd": null });
        assert_eq!(ours().is_defined_by(&well), Ok(()));
        let with = |key: &str, value: Value| {
            let mut table = well.clone();
            table[key] = value;
            ours().is_defined_by(&table)
        };
        assert_eq!(with("env", json!({ "OSTLER_CALLER": "1" })), Ok(()));
        assert_eq!(with("env_vars", json!(["PATH"])), Ok(()));
        assert_eq!(with("environment_id", json!("local")), Ok(()));
        for (key, value, why) in [
            ("command", json!("sh"), "codex was told to start sh"),
            ("command", json!("/bin/true"), "codex was told to start /bin/true"),
            ("command", json!(null), "it has no command"),
            ("args", json!(["tools-mcp", "-x"]), "codex was told to start it with other arguments"),
            ("args", json!(null), "codex was told to start it with other arguments"),
            ("url", json!("http://localhost"), "its table sets `url`"),
            ("cwd", json!("/tmp"), "its table sets `cwd`"),
            ("environment_id", json!("far"), "its table sets `environment_id`"),
            ("env", json!({ "LD_PRELOAD": "x" }), "its table sets the variable LD_PRELOAD"),
        ] {
            assert_eq!(with(key, value), Err(why.to_owned()), "{key}");
        }
    }

    #[test]
    fn it_learns_for_which_task_it_works() {
        let table =
            |text: &str| BTreeMap::from([("mcp_servers.ostler-tools".to_owned(), text.to_owned())]);
        let mut told = table(r#"{"command":"/bin/sh","env":{"OSTLER_HOME":"/o"}}"#);
        ours().work_for(&mut told, "3f2a");
        let env = r#"{"OSTLER_HOME":"/o","OSTLER_TASK":"3f2a"}"#;
        assert_eq!(told, table(&format!(r#"{{"command":"/bin/sh","env":{env}}}"#)));
        let mut others = BTreeMap::from([("mcp_servers.hay".to_owned(), "{}".to_owned())]);
        ours().work_for(&mut others, "3f2a");
        assert_eq!(others["mcp_servers.hay"], "{}");
    }

    #[test]
    fn a_thread_brings_along_what_the_file_has_if_it_is_ours() {
        let brought = |overrides: &[(&str, &str)], written: &str| {
            let overrides = overrides.iter();
            let mut overrides: BTreeMap<String, String> =
                overrides.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            ours().bring_along(&mut overrides, written);
            overrides.into_iter().collect::<Vec<_>>()
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let well = r#"{"command":"/bin/sh","args":["tools-mcp"],"disabled_tools":["x"]}"#;
        let name = "mcp_servers.ostler-tools";
        assert_eq!(brought(&[], well), [pair(name, well)]);
        assert_eq!(brought(&[], r#"{"command":"/bin/true","args":["tools-mcp"]}"#), []);
        assert_eq!(brought(&[], "no table"), []);
        let off = "mcp_servers.ostler-tools.enabled";
        assert_eq!(brought(&[(off, "false")], well), [pair(off, "false")]);
        assert_eq!(brought(&[(name, "{}")], well), [pair(name, "{}")]);
    }

    #[test]
    fn an_override_counts_before_the_config() {
        let overridden = |overrides: &[(&str, Value)]| {
            let overrides = overrides.iter();
            let overrides = overrides.map(|(key, value)| ((*key).to_owned(), value.to_string()));
            ours().overridden(&overrides.collect())
        };
        let well = json!({ "command": "/bin/sh", "args": ["tools-mcp"] });
        assert_eq!(overridden(&[]), None);
        assert_eq!(overridden(&[("mcp_servers.other", well.clone())]), None);
        assert_eq!(overridden(&[("mcp_servers.ostler-tools", well.clone())]), Some(Ok(())));
        for (key, value) in [
            ("mcp_servers", json!({ "ostler-tools": well })),
            ("mcp_servers.ostler-tools.command", json!("/bin/true")),
            ("mcp_servers.\"ostler-tools\"", well.clone()),
            ("mcp_servers.ostler-tools", json!({ "command": "/bin/true" })),
        ] {
            assert!(overridden(&[(key, value)]).is_some_and(|said| said.is_err()), "{key}");
        }
        let both = [
            ("mcp_servers.ostler-tools", well.clone()),
            ("mcp_servers.ostler-tools.args", json!([])),
        ];
        assert!(overridden(&both).is_some_and(|said| said.is_err()));
    }
}
