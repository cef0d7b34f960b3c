//! What a task has changed, and what becomes of it.

use ostler_model::task::Worktree;
use ostler_model::{Task, TaskId, TaskState};
use serde::{Deserialize, Serialize};

use super::Engine;
use crate::on_disk::{DiskDiff, DiskDiffOf};
use crate::refusal::Refusal;
use crate::worktree::{Force, Merged, WorktreeError, WorktreeShown};

/// Which turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffOf {
    /// The last one, or the one that runs.
    LastTurn,
    /// Since the task began.
    AllTurns,
    /// The one with this number, from 1.
    Turn(u32),
}

/// What a task has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDiff {
    pub task: TaskId,
    pub from: DiffFrom,
    /// Unified; empty if nothing was changed, unless `from` says that this is not known.
    pub diff: String,
}

/// Where a diff comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum DiffFrom {
    /// All that differs from the commit that the worktree began with.
    Worktree { worktree: Worktree },
    /// All that changed on disk in the task's folder, or in the repository that it is in, whoever changed it.
    Disk {
        /// What has to be known to read it.
        notes: Vec<String>,
    },
    /// What changed on disk is not known. The diff has what Codex told of its own patches, and nothing of what commands wrote.
    Unknown { why: String, turns: usize },
}

impl Engine {
    /// What a task has changed: in its worktree, or on disk in its turns. Without the secrets that its commands may have read: whoever sees
    /// diffs need not be one who sees logins.
    pub async fn diff(&self, task: &TaskId, of: DiffOf) -> Result<TaskDiff, Refusal> {
        let found = self.find(task).await?;
        let secrets = self.shared.on_disk.secrets(&found).await;
        let TaskDiff { task, mut from, diff } = self.whole_diff(found, of).await?;
        match &mut from {
            DiffFrom::Disk { notes } => {
                notes.iter_mut().for_each(|note| *note = secrets.hidden_in(std::mem::take(note)));
            }
            DiffFrom::Unknown { why, .. } => *why = secrets.hidden_in(std::mem::take(why)),
            DiffFrom::Worktree { .. } => {}
        }
        // One may have many megabytes.
        let diff = tokio::task::spawn_blocking(move || secrets.hidden_in(diff)).await;
        let diff = diff.unwrap_or_else(|error| format!("it cannot be shown: {error}\n"));
        Ok(TaskDiff { task, from, diff })
    }

    async fn whole_diff(&self, found: Task, of: DiffOf) -> Result<TaskDiff, Refusal> {
        let task = found.id.clone();
        if let (Some(worktree), DiffOf::AllTurns | DiffOf::LastTurn) =
            (&found.settings.worktree, of)
        {
            let diff = self.worktrees.diff(&task, worktree).await?;
            let worktree = worktree.clone();
            return Ok(TaskDiff { task, from: DiffFrom::Worktree { worktree }, diff });
        }
        let mut turns = self.shared.store.turns(&task).await?;
        let on_disk = match of {
            DiffOf::AllTurns => DiskDiffOf::All,
            DiffOf::LastTurn => DiskDiffOf::Last,
            DiffOf::Turn(number) => {
                turns.retain(|row| row.number == number);
                let Some(row) = turns.first() else {
                    return Err(Refusal::NoTurn { task, number });
                };
                DiskDiffOf::Turn(row.turn.clone())
            }
        };
        if turns.is_empty() {
            let from = DiffFrom::Disk { notes: Vec::new() };
            return Ok(TaskDiff { task, from, diff: String::new() });
        }
        let why = match self.shared.on_disk.diff(&found, &on_disk).await {
            DiskDiff::Known { diff, notes } => {
                return Ok(TaskDiff { task, from: DiffFrom::Disk { notes }, diff });
            }
            DiskDiff::Unknown { why } => why,
        };
        if of == DiffOf::LastTurn {
            turns.drain(..turns.len().saturating_sub(1));
        }
        let told = turns.into_iter().filter_map(|row| row.result?.diff);
        let told: Vec<String> = told.filter(|diff| !diff.is_empty()).collect();
        let from = DiffFrom::Unknown { why, turns: told.len() };
        Ok(TaskDiff { task, from, diff: told.concat() })
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
