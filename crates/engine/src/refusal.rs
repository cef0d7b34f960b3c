//! Why the engine does not do what a door asks.

use ostler_model::{Failure, TaskId};
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
    #[error("{most} tasks wait already; wait for some to begin, or raise `queued` in [limits]")]
    QueueFull { most: usize },
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
