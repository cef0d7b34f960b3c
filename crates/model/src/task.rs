//! A task: a prompt and its settings, its thread, its turns, its log, its outcome. It outlives every process.
//!
//! Start reading at [`TaskSettings`] for what it is started with, [`TaskState`] for where it can stand, [`Event`] for what
//! its log holds, [`Intent`] for what we owe it.

pub mod ask;
mod event;
mod intent;
pub mod machine;
mod settings;
mod state;

pub use ask::{AskClosed, AskRecord, AskSource, AskState, DecidedBy, DecisionRecord};
pub use event::{Event, Partial};
pub use intent::{Intent, IntentState, NotDone, Receipt, Wish};
pub use settings::{
    Approval, Budget, CodexChoice, OfferedTool, OnCrash, Sandbox, SandboxMode, TaskSettings,
    Unattended, Worktree,
};
pub use state::{Awaited, Cause, TaskState};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::goal::Goal;
use crate::id::{IntentId, TaskId, ThreadId, TurnId};
use crate::turn::TurnResult;

/// A task as it stands, without its log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub state: TaskState,
    /// Why it stands there.
    pub cause: Cause,
    /// The first line of its first prompt.
    pub title: String,
    pub settings: TaskSettings,
    pub started_by: String,
    pub thread: Option<ThreadId>,
    /// The app-server that it was in last.
    pub keeper: Option<String>,
    pub codex_version: Option<String>,
    /// The turn that runs, as far as we know.
    pub turn: Option<TurnId>,
    /// What the last turn that ended came to.
    pub last_result: Option<TurnResult>,
    pub spent: Spent,
    /// The budget as it stands: each time somebody lets the task go on, it grows.
    pub budget: Budget,
    /// Unix milliseconds at which a parked task goes on by itself.
    pub wake_at: Option<i64>,
    /// Times in a row that a limit was reached with no work done between.
    pub limit_streak: u32,
    /// The goal of its thread, as Codex told it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    #[serde(default)]
    pub tally: Tally,
    /// Unix milliseconds.
    pub created_at: i64,
    pub updated_at: i64,
    /// When it was last over.
    pub ended_at: Option<i64>,
    /// The seq of the newest event.
    pub last_seq: u64,
    /// The task that it was forked from, and the turn.
    pub forked_from: Option<ForkedFrom>,
}

impl Task {
    /// As lists and streams show it: what the last turn changed can be large, and is asked for by itself.
    #[must_use]
    pub fn without_diff(mut self) -> Self {
        if let Some(result) = &mut self.last_result {
            result.diff = None;
        }
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    pub task: TaskId,
    /// The thread that it had then.
    pub thread: ThreadId,
    /// The last turn that is copied; without it all of them.
    pub turn: Option<TurnId>,
}

/// A sub-agent: a thread that Codex started by itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Agent {
    pub thread: ThreadId,
    /// The nickname that Codex gave it.
    pub name: Option<String>,
    /// What it was started as, where Codex says so: `explorer`, `worker`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

impl Agent {
    /// Its nickname, its role and the end of its thread's id, by which one is told from another.
    pub fn describe(&self) -> String {
        let thread = self.thread.as_str();
        let end = thread.char_indices().rev().nth(5).and_then(|(at, _)| thread.get(at..));
        let name = self.name.as_deref().unwrap_or("sub-agent");
        let role = self.role.as_ref().map(|role| format!("{role}, ")).unwrap_or_default();
        format!("{name} ({role}thread …{})", end.unwrap_or(thread))
    }
}

/// What a task has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Of turns that have ended.
    pub tokens: u64,
    pub work_ms: u64,
    pub turns: u32,
}

/// What must be remembered between turns and in the middle of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Crashes in a row, without a turn between that ended by itself.
    pub crashes: u32,
    /// The tokens that each sub-agent has used in the turn that runs.
    pub agents: BTreeMap<ThreadId, u64>,
    /// Turns that died before anybody looked what Codex has of them, because what was on its way then began the next one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overtaken: Vec<Overtaken>,
    /// The turn that runs, for whoever looks at the task; none between turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    /// The model that the thread had by itself when it was opened first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual: Option<ModelChoice>,
    /// What the last turn was given for itself alone. Codex keeps it, so the next turn takes it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ModelChoice>,
    /// Some input has chosen a model or an effort: from then on every turn says its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_chosen: bool,
    /// The goal stands still because the task does, and is resumed with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub goal_held: bool,
    /// The task is over and its goal is not: Codex must be told before it has the thread again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub goal_stops: bool,
    /// Failed tries in a row, while the task waits for something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<Tries>,
}

/// A model, and how it works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelChoice {
    pub model: Option<String>,
    pub effort: Option<String>,
    /// It asks and plans, and changes nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plan: bool,
}

/// How far the running turn has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Unix milliseconds at which we heard that it began.
    pub began_at: i64,
    /// Input and output so far, sub-agents included.
    pub tokens: u64,
    /// Codex asks the model again and again and gets no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrying: Option<Retrying>,
}

/// Attempts to reach the model that failed, with nothing between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retrying {
    /// Unix milliseconds of the first one.
    pub since: i64,
    pub attempts: u32,
    /// Why the last one failed.
    pub failure: Failure,
}

/// What a task waits for, and how often it has tried in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    pub on: Awaited,
    /// Unix milliseconds of the first failure.
    pub since: i64,
    pub times: u32,
    /// The login that was refused, as a digest of what is on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
}

/// A turn that died, and what it had been given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overtaken {
    pub turn: TurnId,
    pub inputs: Vec<IntentId>,
}

/// Which edge of a budget was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "edge", rename_all = "snake_case")]
pub enum Edge {
    Tokens { used: u64, most: u64 },
    WorkTime { used_ms: u64, most_ms: u64 },
    Turns { used: u32, most: u32 },
}
