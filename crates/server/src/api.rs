//! What requests and answers are made of, for the daemon and its clients alike. Tasks, asks, intents and events have the
//! model's own shape.

use std::collections::BTreeMap;

use ostler_engine::{Merged, Remembering, WorktreeShown};
use ostler_model::input::{Content, Part, ReviewOf};
use ostler_model::task::Approval;
use ostler_model::task::{
    AskRecord, Budget, Cause, Intent, OnCrash, Partial, Sandbox, SandboxMode, TaskSettings,
    Unattended,
};
use ostler_model::thread::{IfBusy, OnStall};
use ostler_model::{
    Decision, Event, Input, IntentId, Message, RuleId, Task, TaskId, TaskState, TurnId, TurnResult,
};
use serde::{Deserialize, Serialize};

/// `POST /v1/tasks`. What is left out is as the configuration says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StartRequest {
    /// What to do: the prompt, or all parts of the first input.
    pub prompt: Option<String>,
    pub input: Option<Input>,
    /// Absolute.
    pub cwd: String,
    pub sandbox: Option<SandboxMode>,
    pub writable_roots: Vec<String>,
    pub network: Option<bool>,
    pub approval: Option<Approval>,
    pub model: Option<String>,
    pub model_provider: Option<String>,
    pub effort: Option<String>,
    pub service_tier: Option<String>,
    pub developer_instructions: Option<String>,
    /// Settings of Codex by dotted key; the values are JSON text.
    pub config: BTreeMap<String, String>,
    pub codex_version: Option<String>,
    /// Absolute.
    pub codex_home: Option<String>,
    pub isolate: Option<bool>,
    pub on_crash: Option<OnCrash>,
    pub unattended: Option<Unattended>,
    pub escalate_after_ms: Option<u64>,
    pub turn_timeout_ms: Option<u64>,
    pub on_stall: Option<OnStall>,
    pub budget_tokens: Option<u64>,
    pub budget_work_ms: Option<u64>,
    pub budget_turns: Option<u32>,
    /// A git worktree of its own, from the repository that `cwd` is in.
    pub worktree: Option<bool>,
    /// The same start again is the same task.
    pub key: Option<String>,
}

impl StartRequest {
    /// The first input, if there is one.
    pub fn first_input(&self) -> Option<Input> {
        self.input.clone().or_else(|| self.prompt.clone().map(Input::text))
    }

    /// What was asked for over what holds by default.
    pub fn settings(&self, defaults: &TaskSettings) -> TaskSettings {
        let mut settings = defaults.clone();
        settings.cwd.clone_from(&self.cwd);
        settings.sandbox = Sandbox {
            mode: self.sandbox.unwrap_or(defaults.sandbox.mode),
            writable_roots: match self.writable_roots.is_empty() {
                true => defaults.sandbox.writable_roots.clone(),
                false => self.writable_roots.clone(),
            },
            network: self.network.unwrap_or(defaults.sandbox.network),
        };
        settings.approval = self.approval.unwrap_or(defaults.approval);
        over(&mut settings.model, &self.model);
        over(&mut settings.model_provider, &self.model_provider);
        over(&mut settings.effort, &self.effort);
        over(&mut settings.service_tier, &self.service_tier);
        over(&mut settings.developer_instructions, &self.developer_instructions);
        settings.config.extend(self.config.clone());
        over(&mut settings.codex.version, &self.codex_version);
        over(&mut settings.codex.home, &self.codex_home);
        settings.isolate = self.isolate.unwrap_or(defaults.isolate);
        settings.on_crash = self.on_crash.unwrap_or(defaults.on_crash);
        settings.unattended = self.unattended.unwrap_or(defaults.unattended);
        over(&mut settings.escalate_after_ms, &self.escalate_after_ms);
        over(&mut settings.turn_timeout_ms, &self.turn_timeout_ms);
        settings.on_stall = self.on_stall.unwrap_or(defaults.on_stall);
        settings.budget = Budget {
            tokens: self.budget_tokens.or(defaults.budget.tokens),
            work_ms: self.budget_work_ms.or(defaults.budget.work_ms),
            turns: self.budget_turns.or(defaults.budget.turns),
        };
        settings
    }
}

fn over<T: Clone>(setting: &mut Option<T>, given: &Option<T>) {
    if given.is_some() {
        setting.clone_from(given);
    }
}

/// The task, and whether the key had started it before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartAnswer {
    pub task: Task,
    pub known: bool,
}

/// `GET /v1/tasks`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskList {
    pub tasks: Vec<Task>,
    /// How many there are in each state, whatever was asked for.
    pub counts: BTreeMap<TaskState, u64>,
    /// What `before` must be to get the next page.
    pub next: Option<String>,
}

/// `GET /v1/tasks/{id}`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskDetail {
    pub task: Task,
    /// Those that wait for somebody.
    pub asks: Vec<AskRecord>,
    /// Those that are not proven yet.
    pub intents: Vec<Intent>,
    /// Text that is still growing.
    pub partials: Vec<Partial>,
}

/// `POST /v1/tasks/{id}/send`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SendRequest {
    pub prompt: Option<String>,
    pub input: Option<Input>,
    pub if_busy: IfBusy,
    pub key: Option<String>,
}

impl SendRequest {
    pub fn input(&self) -> Option<Input> {
        self.input.clone().or_else(|| self.prompt.clone().map(Input::text))
    }

    pub fn review(of: ReviewOf) -> Self {
        let input = Input { content: Content::Review(of), ..Input::message(Vec::<Part>::new()) };
        Self { input: Some(input), ..Self::default() }
    }
}

/// What was written down; how it ended is told by the receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub task: TaskId,
    pub intent: IntentId,
}

/// `POST /v1/tasks/{id}/fork`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForkRequest {
    pub prompt: Option<String>,
    /// The last turn that is copied; all of them without it.
    pub turn: Option<String>,
    pub key: Option<String>,
}

/// `POST /v1/asks/{id}/answer`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    pub decision: Decision,
    #[serde(default)]
    pub reason: Option<String>,
    /// Also make a rule of it.
    #[serde(default)]
    pub remember: Option<Remembering>,
    /// The door that the person used.
    #[serde(default)]
    pub surface: Option<String>,
}

/// `GET /v1/asks`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskList {
    pub asks: Vec<AskShown>,
}

/// An ask, with what a list says of its task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskShown {
    pub ask: AskRecord,
    pub title: String,
    pub cwd: String,
}

/// One line of `GET /v1/tasks/{id}/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// The first one: how the task stands, and the text that is still growing.
    Now(Box<TaskDetail>),
    Event {
        seq: u64,
        at: i64,
        event: Box<Event>,
    },
    /// Text that has grown since; only the new part.
    Grown(Partial),
    /// The reader was too slow for text that grows: this is all of it.
    Partials {
        partials: Vec<Partial>,
    },
}

/// One line of `GET /v1/tasks/{id}/why`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub seq: u64,
    pub at: i64,
    pub from: TaskState,
    pub to: TaskState,
    pub cause: Cause,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Why {
    pub task: Task,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipts {
    pub task: TaskId,
    pub intents: Vec<Intent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    pub task: TaskId,
    /// The folder of its worktree, which has work that is nowhere else and stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_kept: Option<String>,
}

/// `POST /v1/tasks/{id}/worktree/merge`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeMerged {
    pub task: TaskId,
    pub merged: Merged,
}

/// `POST /v1/tasks/{id}/worktree/remove`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoveWorktree {
    /// Also if it has work that is nowhere else, which is then kept as a ref.
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeRemoved {
    pub task: TaskId,
    /// The ref that keeps work which was nowhere else.
    pub kept_as: Option<String>,
}

/// `GET /v1/worktrees`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktrees {
    pub worktrees: Vec<WorktreeShown>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRemoved {
    pub rule: RuleId,
}

/// An app-server that serves tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppServer {
    pub keeper: Option<String>,
    pub codex_version: String,
    pub codex_home: String,
    pub threads: usize,
    /// The only task that it is for.
    pub isolated_for: Option<TaskId>,
    /// It takes no further thread, and is replaced when those in it are closed.
    pub is_full: bool,
}

/// One line of `GET /v1/changes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    Task {
        task: TaskId,
        state: TaskState,
    },
    /// So many that they were not told one by one: read the list again.
    Many,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub turn: TurnId,
    pub number: u32,
    pub began_at: i64,
    /// None while it runs.
    pub result: Option<TurnResult>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    pub task: TaskId,
    pub turns: Vec<Turn>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Messages {
    pub task: TaskId,
    pub messages: Vec<Message>,
}
