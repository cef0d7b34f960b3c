//! Why the engine does not do what a door asks.

use ostler_model::{Failure, RuleId, TaskId, TaskState};
use ostler_store::StoreError;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::worktree::WorktreeError;

#[derive(Debug, Clone, Error)]
pub enum Refusal {
    #[error("{}", all(problems))]
    Invalid { problems: Vec<Problem> },
    #[error("there is no task {0}; `ostler ls` lists them")]
    NoTask(TaskId),
    #[error("task {task} has no turn {number}")]
    NoTurn { task: TaskId, number: u32 },
    #[error("task {task} is at work; wait for the turn to end, or let the input queue or steer")]
    Busy { task: TaskId },
    #[error("nothing runs that could be {what}: task {task} is {state}")]
    NothingRuns { task: TaskId, state: TaskState, what: &'static str },
    #[error("{most} tasks wait already; wait for some to begin, or raise `queued` in [limits]")]
    QueueFull { most: usize },
    #[error("the key {key:?} was used before for another question; use a new key")]
    AskKeyReused { key: String },
    #[error("{most} questions of host agents wait already; answer some, or withdraw them")]
    TooManyAsks { most: usize },
    #[error(
        "rule {rule} stands in the configuration; take it out of that file, which `ostler config path` names"
    )]
    RuleOfFile { rule: RuleId },
    #[error("the name {rule} is for a rule of the configuration; give the rule another name")]
    RuleNameTaken { rule: RuleId },
    #[error("task {task} has more to take in than it can at once; try again in a moment")]
    Overloaded { task: TaskId },
    #[error("{}", .0.message)]
    Codex(Failure),
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    #[error("the daemon is ending; try again")]
    Ending,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One thing that is wrong with what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub what: String,
    pub message: String,
}

fn all(problems: &[Problem]) -> String {
    let lines = problems.iter().map(|problem| format!("{}: {}", problem.what, problem.message));
    lines.collect::<Vec<_>>().join("\n")
}
