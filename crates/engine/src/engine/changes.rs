//! What a task has changed, and what becomes of it.

use ostler_model::task::Worktree;
use ostler_model::{TaskId, TaskState};
use serde::{Deserialize, Serialize};

use super::Engine;
use crate::refusal::Refusal;
use crate::worktree::{Force, Merged, WorktreeError, WorktreeShown};

/// Which turns, for a task without a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffOf {
    LastTurn,
    AllTurns,
}

/// What a task has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDiff {
    pub task: TaskId,
    pub from: DiffFrom,
    /// Unified; empty if nothing was changed.
    pub diff: String,
}

/// Where a diff comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum DiffFrom {
    /// All that differs from the commit that the worktree began with.
    Worktree { worktree: Worktree },
    /// As Codex told it, turn after turn.
    Turns { turns: usize },
}

impl Engine {
    /// What a task has changed: in its worktree, or by what Codex said of its turns.
    pub async fn diff(&self, task: &TaskId, of: DiffOf) -> Result<TaskDiff, Refusal> {
        let found = self.find(task).await?;
        if let Some(worktree) = found.settings.worktree {
            let diff = self.worktrees.diff(task, &worktree).await?;
            return Ok(TaskDiff { task: found.id, from: DiffFrom::Worktree { worktree }, diff });
        }
        let turns = self.shared.store.turns(task).await?;
        let diffs = turns.into_iter().filter_map(|row| row.result?.diff);
        let mut diffs: Vec<String> = diffs.filter(|diff| !diff.is_empty()).collect();
        if of == DiffOf::LastTurn {
            diffs.drain(..diffs.len().saturating_sub(1));
        }
        let from = DiffFrom::Turns { turns: diffs.len() };
        Ok(TaskDiff { task: found.id, from, diff: diffs.concat() })
    }

    /// Brings the work of a task's worktree into the branch that was checked out when the task began.
    pub async fn merge_worktree(&self, task: &TaskId) -> Result<Merged, Refusal> {
        let (title, worktree) = self.resting_worktree(task).await?;
        Ok(self.worktrees.merge(task, &worktree, &title).await?)
    }

    /// Gives the ref that keeps work which was nowhere else.
    pub async fn remove_worktree(
        &self,
        task: &TaskId,
        force: Force,
    ) -> Result<Option<String>, Refusal> {
        let (_, worktree) = self.resting_worktree(task).await?;
        Ok(self.worktrees.remove(task, &worktree, force).await?)
    }

    /// All worktrees, also those whose task is gone.
    pub async fn worktrees(&self) -> Vec<WorktreeShown> {
        self.worktrees.list().await
    }

    /// One that nobody works in at this moment.
    async fn resting_worktree(&self, task: &TaskId) -> Result<(String, Worktree), Refusal> {
        let found = self.shared.store.task(task).await?;
        let Some(found) = found else {
            // The task may have been removed while its worktree stayed.
            return match self.worktrees.of_removed(task) {
                Some(worktree) => Ok(("a task that was removed".to_owned(), worktree)),
                None => Err(Refusal::NoTask(task.clone())),
            };
        };
        let Some(worktree) = found.settings.worktree.clone() else {
            return Err(WorktreeError::None { task: task.clone() }.into());
        };
        let rests = found.state.is_over() || found.state == TaskState::Parked;
        match rests && found.turn.is_none() {
            true => Ok((found.title, worktree)),
            false => Err(WorktreeError::AtWork { task: task.clone() }.into()),
        }
    }
}
