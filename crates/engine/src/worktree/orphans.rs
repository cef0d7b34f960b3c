//! Worktrees without a task: of a start that was killed before the task was written down, or of a task that was removed.

use std::ffi::OsString;
use std::path::Path;

use ostler_model::TaskId;
use ostler_model::task::Worktree;
use ostler_store::Store;

use super::work::names;
use super::{WorktreeError, WorktreeSettings, Worktrees};

/// A worktree without a task, after it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TidiedWorktree {
    pub task: TaskId,
    pub path: String,
    /// Why it is still there.
    pub kept: Option<String>,
}

/// Removes the worktrees without a task in which nothing would be lost. No engine may work on the store meanwhile: it could be
/// about to write down the task of a worktree that it has just made.
pub async fn tidy_worktrees(
    store: &Store,
    settings: WorktreeSettings,
    environment: &[(OsString, OsString)],
) -> Vec<TidiedWorktree> {
    let worktrees = Worktrees::new(settings, environment);
    let orphans = worktrees.orphans(store).await;
    worktrees.tidy(orphans).await
}

impl Worktrees {
    /// Those that have no task.
    pub(crate) async fn orphans(&self, store: &Store) -> Vec<(TaskId, Worktree)> {
        let mut orphans = Vec::new();
        for (task, worktree) in self.notes() {
            // Better one too few than one too many.
            if let Ok(None) = store.task(&task).await {
                orphans.push((task, worktree));
            }
        }
        orphans
    }

    /// Removes those in which nothing would be lost; the others stay, and `ostler worktree ls` shows them.
    pub(crate) async fn tidy(&self, orphans: Vec<(TaskId, Worktree)>) -> Vec<TidiedWorktree> {
        let mut tidied = Vec::new();
        for (task, worktree) in orphans {
            let kept = match self.holds_nothing(&task, &worktree).await {
                Ok(true) => {
                    tracing::info!(%task, path = worktree.path, "a worktree without a task is removed");
                    self.take_away(&task, &worktree).await.err().map(|error| error.to_string())
                }
                Ok(false) => {
                    tracing::info!(%task, path = worktree.path, "a worktree without a task has work and stays");
                    Some("it has work that is nowhere else".to_owned())
                }
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = &kept {
                tracing::debug!(%task, why, "a worktree without a task stays");
            }
            tidied.push(TidiedWorktree { task, path: worktree.path, kept });
        }
        tidied
    }

    /// The worktree of a task that is known no more.
    pub(crate) fn of_removed(&self, task: &TaskId) -> Option<Worktree> {
        self.notes().into_iter().find(|(noted, _)| noted == task).map(|(_, worktree)| worktree)
    }

    /// A checkout that was killed half-way lacks files, which is no work.
    async fn holds_nothing(
        &self,
        task: &TaskId,
        worktree: &Worktree,
    ) -> Result<bool, WorktreeError> {
        let folder = Path::new(&worktree.path);
        if !folder.exists() {
            return Ok(true);
        }
        if !folder.join(".git").exists() {
            let is_empty =
                std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
            return Ok(is_empty);
        }
        let now = self.snapshot(task, worktree).await?;
        if self.unmerged(worktree, &now.head).await? > 0 {
            return Ok(false);
        }
        // All but deletions.
        let added =
            ["diff-tree", "-r", "-z", "--name-only", "--diff-filter=d", &now.head, &now.tree];
        let holds_changes = !names(&self.git.run(folder, added).await?).is_empty();
        Ok(!holds_changes && self.ignored(folder).await?.is_empty())
    }
}
