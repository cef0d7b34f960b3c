//! Worktrees of tasks.

use ostler_engine::{Merged, WorktreeShown};
use ostler_model::TaskId;
use serde::{Deserialize, Serialize};

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
    /// Also if it has work that is nowhere else, which is then kept as a ref, but for what git ignores.
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
