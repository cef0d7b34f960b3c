//! Commands that run without the model, and the health of the process.

use std::collections::BTreeMap;

use ostler_model::ThreadId;
use serde::{Deserialize, Serialize};

use super::{ClientRequest, Done};
use crate::protocol::lenient;
use crate::protocol::settings::SandboxPolicy;

/// Runs a command in Codex's sandbox and waits for its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandExec {
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// On top of the app-server's own environment; `None` removes a variable.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes_cap: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
}

impl CommandExec {
    pub fn new(command: Vec<String>) -> Self {
        Self {
            command,
            cwd: None,
            env: BTreeMap::new(),
            timeout_ms: None,
            output_bytes_cap: None,
            sandbox_policy: None,
        }
    }
}

impl ClientRequest for CommandExec {
    const METHOD: &'static str = "command/exec";
    type Reply = CommandExited;
}

/// Codex says 124 for a timeout and 101 for a command that does not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandExited {
    #[serde(default, deserialize_with = "lenient::option")]
    pub exit_code: Option<i64>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub stdout: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub stderr: String,
}

/// Runs a shell line of the person's own in the thread, **outside the sandbox**.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadShellCommand {
    pub thread_id: ThreadId,
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl ClientRequest for ThreadShellCommand {
    const METHOD: &'static str = "thread/shellCommand";
    type Reply = Done;
}

/// Ends the commands that outlived their turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundTerminalsClean {
    pub thread_id: ThreadId,
}

impl ClientRequest for BackgroundTerminalsClean {
    const METHOD: &'static str = "thread/backgroundTerminals/clean";
    type Reply = Done;
}

/// Asks the process for its own state; cheap enough for a health check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ServerDiagnostics {}

impl ClientRequest for ServerDiagnostics {
    const METHOD: &'static str = "server/diagnostics";
    type Reply = Diagnostics;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Diagnostics {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub process: DiagnosticsProcess,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub gauges: Vec<DiagnosticsGauge>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticsProcess {
    #[serde(default, deserialize_with = "lenient::option")]
    pub id: Option<u32>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub resident_memory_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DiagnosticsGauge {
    pub name: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub value: i64,
}
