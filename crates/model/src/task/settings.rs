//! What a task is started with. Written down with it, so every field has a meaning for good: new ones get a default.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::thread::OnStall;

/// One crash can be anything; a command that kills its app-server does so each time.
const CRASH_LIMIT: u32 = 3;

/// A day: an outage of a provider has lasted for hours, and somebody looks at a task within a day.
const OUTAGE_PATIENCE_MS: u64 = 24 * 60 * 60 * 1000;

/// Everything that holds for the whole task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskSettings {
    /// Absolute.
    pub cwd: String,
    pub sandbox: Sandbox,
    pub approval: Approval,
    pub model: Option<String>,
    pub model_provider: Option<String>,
    pub effort: Option<String>,
    pub service_tier: Option<String>,
    pub developer_instructions: Option<String>,
    /// Settings of Codex by dotted key; the values are JSON text.
    pub config: BTreeMap<String, String>,
    pub codex: CodexChoice,
    /// An app-server of its own.
    pub isolate: bool,
    pub on_crash: OnCrash,
    /// Crashes in a row, without a turn between that ended by itself, after which the task is given up.
    pub crash_limit: u32,
    pub unattended: Unattended,
    /// Nobody has answered for this long: those who are to know are told again.
    pub escalate_after_ms: Option<u64>,
    pub turn_timeout_ms: Option<u64>,
    pub on_stall: OnStall,
    /// A turn from which nothing has come for this long is looked at; without it after two minutes.
    pub silence_ms: Option<u64>,
    /// How long the task waits for a model that cannot be reached; without it as long as it takes.
    pub outage_patience_ms: Option<u64>,
    pub budget: Budget,
    pub worktree: Option<Worktree>,
    /// Who is told what becomes of it: targets of the configuration by name, or addresses of webhooks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// Tools that whoever started it runs for it. Codex keeps them with the thread for good.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<OfferedTool>,
}

/// A tool that Codex calls, and that is run elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedTool {
    pub name: String,
    pub description: String,
    /// JSON text: the schema of its arguments.
    pub schema: String,
}

/// How Codex's commands are confined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sandbox {
    pub mode: SandboxMode,
    /// Beside the working folder; only where it is writable.
    pub writable_roots: Vec<String>,
    pub network: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    #[default]
    ReadOnly,
    WorkspaceWrite,
    /// None at all; the operator must allow it by name.
    DangerFullAccess,
}

/// When Codex asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    Untrusted,
    #[default]
    OnRequest,
    /// The operator must allow it by name.
    Never,
}

/// Which Codex the task runs on. Two tasks with the same choice may share an app-server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodexChoice {
    /// Of those installed; the configured one without it.
    pub version: Option<String>,
    /// Absolute; what `CODEX_HOME` is without it.
    pub home: Option<String>,
}

/// What becomes of a task whose app-server died in the middle of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCrash {
    /// The thread is opened in a fresh app-server, and Codex is told to look what was done and to go on.
    #[default]
    Continue,
    /// Somebody decides.
    Ask,
    Fail,
}

/// What becomes of an ask while no person watches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unattended {
    /// It waits, for days if need be.
    #[default]
    Wait,
    /// It is declined, and everybody can see that nobody was asked.
    Decline,
}

/// Where the task stops to ask. A part without a number has no edge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Input and output together, sub-agents included.
    pub tokens: Option<u64>,
    /// Of working, not of waiting.
    pub work_ms: Option<u64>,
    pub turns: Option<u32>,
}

/// A git worktree of the task's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// The repository that it belongs to.
    pub repository: String,
    /// Where it is; the task's `cwd` is in it.
    pub path: String,
    pub branch: String,
    /// The commit that it began with.
    pub base: String,
    /// The branch that was checked out then, and that it is merged into. None if there was none.
    #[serde(default)]
    pub into: Option<String>,
}

impl Default for TaskSettings {
    /// The narrowest. Without a `cwd` it is not valid yet.
    fn default() -> Self {
        Self {
            cwd: String::new(),
            sandbox: Sandbox::default(),
            approval: Approval::default(),
            model: None,
            model_provider: None,
            effort: None,
            service_tier: None,
            developer_instructions: None,
            config: BTreeMap::new(),
            codex: CodexChoice::default(),
            isolate: false,
            on_crash: OnCrash::default(),
            crash_limit: CRASH_LIMIT,
            unattended: Unattended::default(),
            escalate_after_ms: None,
            turn_timeout_ms: None,
            on_stall: OnStall::default(),
            silence_ms: None,
            outage_patience_ms: Some(OUTAGE_PATIENCE_MS),
            budget: Budget::default(),
            worktree: None,
            notify: Vec::new(),
            tools: Vec::new(),
        }
    }
}

impl TaskSettings {
    pub fn in_folder(cwd: impl Into<String>) -> Self {
        Self { cwd: cwd.into(), ..Self::default() }
    }

    pub fn silence(&self) -> Option<Duration> {
        self.silence_ms.map(Duration::from_millis)
    }

    pub fn turn_timeout(&self) -> Option<Duration> {
        self.turn_timeout_ms.map(Duration::from_millis)
    }
}
