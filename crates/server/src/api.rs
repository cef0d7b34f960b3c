//! What requests and answers are made of, for the daemon and its clients alike. Tasks, asks, intents and events have the
//! model's own shape.

mod audit;
mod lines;
mod notifications;
mod tool_calls;
mod unset;
mod worktrees;

pub use audit::{AuditList, AuditRead};
pub use lines::{BoardLine, Line};
pub use notifications::{NotificationList, NotificationsRead, Previews};
pub use tool_calls::{FinishToolCall, TakeToolCall, ToolCallFinished, ToolCallTaken};
pub use unset::Unset;
pub use worktrees::{RemoveWorktree, WorktreeMerged, WorktreeRemoved, Worktrees};

use std::collections::BTreeMap;

use ostler_engine::{AccountLimits, ModelShown, Remembering};
use ostler_model::input::{Content, Part, ReviewOf};
use ostler_model::item::ItemEnd;
use ostler_model::task::Approval;
use ostler_model::task::{
    AskRecord, Budget, Cause, Intent, OfferedTool, OnCrash, Partial, Sandbox, SandboxMode,
    TaskSettings, Unattended, Wish,
};
use ostler_model::thread::{IfBusy, OnStall};
use ostler_model::{
    Ask, AutoReview, Decision, GoalChange, Input, IntentId, Item, Message, Notification, RuleId,
    Task, TaskId, TaskState, TurnId, TurnResult,
};
use serde::{Deserialize, Serialize};

pub use crate::files::{StoredFile, StoredFiles};
pub use crate::stream::Viewer;

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
    /// Who is told what becomes of it: targets of the configuration, or addresses of webhooks. Empty: nobody.
    pub notify: Option<Vec<String>>,
    /// Tools that the caller runs for the task, by `/v1/tasks/{task}/tool-calls`; only people and their programs offer any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<OfferedTool>,
    /// What of the configuration shall not hold, where nothing is given in its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<Unset>,
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
        let mut defaults = defaults.clone();
        for left_out in &self.unset {
            left_out.in_settings(&mut defaults);
        }
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
        if let Some(named) = &self.notify {
            settings.notify.clone_from(named);
        }
        settings.tools.clone_from(&self.tools);
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
    /// What was taken although it could not be checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
}

/// `GET /v1/tasks`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskList {
    /// Without the diffs of their last turns, which each task's own routes tell.
    pub tasks: Vec<Task>,
    /// How many there are in each state, whatever was asked for.
    pub counts: BTreeMap<TaskState, u64>,
    /// What `before` must be to get the next page.
    pub next: Option<String>,
}

/// `GET /v1/ends`: the caller's own tasks that have ended and of which it was not told, the oldest end first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ends {
    pub tasks: Vec<Task>,
}

/// `POST /v1/ends/told`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndsTold {
    pub ends: Vec<ToldEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToldEnd {
    pub task: TaskId,
    /// Its `ended_at`: one that went on and ended again is told again.
    pub ended_at: i64,
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

impl TaskDetail {
    /// Whether somebody has already done what moves the task on: sent more to one that is over, answered or interrupted one
    /// that waits. What only stands in line behind an open ask does not move it.
    pub fn is_about_to_move(&self) -> bool {
        let state = self.task.state;
        let moves = |intent: &Intent| state.is_over() || !matches!(intent.wish, Wish::Send { .. });
        let is_answered = state.waits_for_a_person() && self.asks.is_empty();
        is_answered || self.intents.iter().any(moves)
    }
}

/// `POST /v1/tasks/{id}/goal`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalRequest {
    pub change: GoalVerb,
    #[serde(default)]
    pub objective: Option<String>,
    #[serde(default)]
    pub token_budget: Option<u64>,
    #[serde(default)]
    pub key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalVerb {
    Set,
    Pause,
    Resume,
    Clear,
}

impl GoalRequest {
    /// The change, or what is wrong with it.
    pub fn change(&self) -> Result<GoalChange, String> {
        let plain = match self.change {
            GoalVerb::Set => {
                let objective = self.objective.clone();
                let objective = objective.ok_or("objective is missing: say what the goal is")?;
                let change = GoalChange::Set { objective, token_budget: self.token_budget };
                return change.check().map(|()| change);
            }
            GoalVerb::Pause => GoalChange::Pause,
            GoalVerb::Resume => GoalChange::Resume,
            GoalVerb::Clear => GoalChange::Clear,
        };
        match (&self.objective, self.token_budget) {
            (None, None) => Ok(plain),
            _ => Err("an objective and a token budget go only with the change \"set\"".to_owned()),
        }
    }
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
    /// What was taken although it could not be checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
}

/// `POST /v1/tasks/{id}/fork`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForkRequest {
    pub prompt: Option<String>,
    /// The last turn that is copied; all of them without it.
    pub turn: Option<String>,
    /// In a new thread, which is given what was said so far from our own log: for one whose thread or folder is gone.
    pub from_log: bool,
    /// The folder of the new task, only with `from_log`; without it the same one.
    pub cwd: Option<String>,
    pub key: Option<String>,
}

/// `POST /v1/asks/{id}/answer`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    pub decision: Decision,
    #[serde(default)]
    pub reason: Option<String>,
    /// Also make a rule of it. Of a decision for good one is made in any case, for the task's folder and until it is removed.
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
    /// A host agent asks: `task` of the ask is the name of its conversation, and no task.
    #[serde(default, skip_serializing_if = "is_false")]
    pub host: bool,
}

/// `POST /v1/host-asks`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostAskRequest {
    /// The same question again is the same ask.
    pub key: String,
    /// The conversation that asks, as people are shown it.
    pub owner: String,
    /// Absolute.
    pub cwd: String,
    pub content: Ask,
}

fn is_false(value: &bool) -> bool {
    !value
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
    /// Asks that no person decided, but a rule, a program, an earlier answer, or that nobody was there. Those that people
    /// decided are among the intents.
    #[serde(default)]
    pub decided: Vec<AskRecord>,
    /// What Codex's own reviewer decided, so that nobody was asked.
    #[serde(default)]
    pub reviewed: Vec<Reviewed>,
    /// Who was told what of it, the oldest first.
    #[serde(default)]
    pub notifications: Vec<Notification>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// Unix milliseconds.
    pub at: i64,
    pub review: AutoReview,
}

/// `POST /v1/tasks/{id}/release`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    pub task: TaskId,
    /// False if something is being done on it.
    pub is_released: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    pub task: TaskId,
    /// The folder of its worktree, which has work that is nowhere else and stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_kept: Option<String>,
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

/// `GET /v1/tasks/{id}/items`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Items {
    pub task: TaskId,
    pub items: Vec<ItemShown>,
    /// What `after` must be to get the next page.
    pub next: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemShown {
    /// To go on from.
    pub place: i64,
    pub turn: TurnId,
    /// Its place in the turn.
    pub number: u32,
    pub item: Item,
    pub how: ItemEnd,
}

/// `GET /v1/models`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelList {
    pub models: Vec<ModelShown>,
}

/// `GET /v1/limits`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitList {
    pub limits: Vec<AccountLimits>,
}

/// `GET /v1/defaults`: what a form for a new task begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Defaults {
    pub settings: TaskSettings,
    /// Empty if Codex does not tell them in time.
    pub models: Vec<ModelShown>,
    /// Where tasks were started last, the newest first.
    pub cwds: Vec<String>,
    pub worktree: bool,
    /// Who can be told of a task by name.
    pub targets: Vec<String>,
}

/// `GET /v1/ready`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    pub ready: bool,
}
