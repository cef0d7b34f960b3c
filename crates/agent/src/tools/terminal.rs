//! `terminal`: runs a command, confined or with a person's word.

mod run;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_model::ask::{AskKind, CommandAsk, Permissions, Sandboxing};
use ostler_model::task::{Approval, SandboxMode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask_first::{ask_first, question};
use super::{harmless, read, shown};
use crate::sandbox::{Boundary, Means, Unavailable, Walls};
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

/// Enough for a build of a small project. Longer work is for `delegate_task`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
const MOST_TIMEOUT: Duration = Duration::from_secs(600);

/// What it is given.
#[derive(Debug, Clone)]
pub struct TerminalSettings {
    /// The words that lead to [`crate::sandbox::sandbox_exec`]: our own program and `sandbox-exec`.
    pub launcher: Vec<OsString>,
    pub boundary: Arc<Boundary>,
    pub means: Result<Means, Unavailable>,
    /// All that a command sees. Nothing is inherited.
    pub environment: BTreeMap<OsString, OsString>,
}

pub struct Terminal {
    settings: TerminalSettings,
}

#[derive(Deserialize)]
struct Arguments {
    command: String,
    cwd: Option<PathBuf>,
    timeout_s: Option<u64>,
    #[serde(default)]
    outside_sandbox: bool,
    justification: Option<String>,
}

/// What stands between a command and its start.
enum Way {
    Free(Walls),
    Ask { walls: Walls, reason: String, extra: Option<Permissions> },
    Refused(String),
}

impl Terminal {
    pub fn new(settings: TerminalSettings) -> Self {
        Self { settings }
    }

    async fn run(
        &self,
        arguments: Arguments,
        context: &CallContext,
    ) -> Result<ToolResult, ToolResult> {
        if arguments.command.trim().is_empty() {
            return Err(ToolResult::failed("`command` is empty; give a line for `sh`"));
        }
        let cwd = context.cwd.join(arguments.cwd.as_deref().unwrap_or(Path::new("")));
        if !cwd.is_dir() {
            return Err(ToolResult::failed(format!("`cwd` is no folder: {}", cwd.display())));
        }
        let walls = match self.way(&arguments) {
            Way::Free(walls) => walls,
            Way::Refused(why) => return Err(ToolResult::failed(why)),
            Way::Ask { walls, reason, extra } => {
                let sandboxing = match &walls {
                    Walls::None => Sandboxing::Outside,
                    _ => Sandboxing::Inside,
                };
                let kind = AskKind::Command(CommandAsk {
                    command: Some(arguments.command.clone()),
                    cwd: Some(cwd.to_string_lossy().into_owned()),
                    extra,
                    sandboxing,
                    ..CommandAsk::default()
                });
                ask_first(context, "run", question(kind, Some(reason))).await?;
                walls
            }
        };
        let timeout = arguments.timeout_s.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
        let job = run::Job {
            launcher: &self.settings.launcher,
            environment: &self.settings.environment,
            walls: &walls,
            command: &arguments.command,
            cwd: &cwd,
            timeout: timeout.clamp(Duration::from_secs(1), MOST_TIMEOUT),
        };
        Ok(job.run(&context.stop).await)
    }

    fn way(&self, arguments: &Arguments) -> Way {
        let boundary = &self.settings.boundary;
        // By this a rule or an answer for the same words inside of the sandbox is about something else.
        let everything = Permissions {
            network: Some(true),
            write: vec!["/".to_owned()],
            ..Permissions::default()
        };
        let justification = arguments.justification.as_deref().unwrap_or("no reason was given");
        if arguments.outside_sandbox {
            let reason = format!("outside of the sandbox: {justification}");
            return self.asked(Walls::None, reason, Some(everything));
        }
        let walls = match (&self.settings.means, boundary.mode) {
            (_, SandboxMode::DangerFullAccess) => Walls::None,
            (Ok(means), _) => boundary.walls(means),
            (Err(unavailable), _) => {
                return self.asked(Walls::None, unavailable.to_string(), Some(everything));
            }
        };
        if harmless::is_harmless(&arguments.command) {
            return Way::Free(walls);
        }
        let means = self.settings.means.as_ref().ok();
        if let Some(why) = means.and_then(|means| boundary.unguarded(means)) {
            return self.asked(walls, format!("{justification}: {why}"), None);
        }
        if boundary.approval == Approval::Untrusted {
            let extra = (walls == Walls::None).then_some(everything);
            return self.asked(walls, justification.to_owned(), extra);
        }
        Way::Free(walls)
    }

    fn asked(&self, walls: Walls, reason: String, extra: Option<Permissions>) -> Way {
        match self.settings.boundary.approval {
            Approval::Untrusted | Approval::OnRequest => Way::Ask { walls, reason, extra },
            Approval::Never => Way::Refused(format!(
                "declined: nobody is asked here (approval is `never`), and this needs a person's word\n({reason})"
            )),
        }
    }
}

impl Tool for Terminal {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "terminal".to_owned(),
            description: "Runs a command line with `sh -c` and gives its output and exit code. It runs in a sandbox: \
                all files can be read, only the workspace and temporary folders be written, and there is no network \
                unless the operator allows it. There is no input, and whatever it leaves running ends with it."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": { "type": "string", "description": "the line for sh" },
                    "cwd": { "type": "string", "description": "where it runs; the workspace without it" },
                    "timeout_s": { "type": "integer", "description": "seconds, 120 without it, at most 600" },
                    "outside_sandbox": {
                        "type": "boolean",
                        "description": "run without the sandbox; a person is asked each time, so only when it must be",
                    },
                    "justification": { "type": "string", "description": "for that person: why it is needed" },
                },
                "required": ["command"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "command")
    }

    fn only_reads(&self, arguments: &Value) -> bool {
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        arguments.get("outside_sandbox") != Some(&Value::Bool(true))
            && harmless::is_harmless(command)
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match read("terminal", arguments) {
                Ok(arguments) => self.run(arguments, context).await.unwrap_or_else(|failed| failed),
                Err(failed) => failed,
            }
        })
    }
}

#[cfg(test)]
mod tests;
