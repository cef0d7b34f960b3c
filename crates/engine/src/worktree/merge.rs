//! Merging the work of a worktree into the branch that was checked out when its task began.
//!
//! The merge is made among git's objects alone. Only when it is known to work a branch is moved, and the user's checkout with
//! it; git refuses that by itself, and changes nothing, where it would overwrite something.

use std::path::{Path, PathBuf};

use ostler_model::TaskId;
use ostler_model::task::Worktree;
use serde::{Deserialize, Serialize};

use super::git::text;
use super::work::{Commit, names};
use super::{WorktreeError, Worktrees};

/// What a merge has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Merged {
    /// There was nothing that the branch did not have.
    Nothing { into: String },
    /// The branch had not moved since.
    FastForward { into: String, commit: String },
    /// With a commit that joins both.
    MergeCommit { into: String, commit: String },
}

impl Worktrees {
    pub(crate) async fn merge(
        &self,
        task: &TaskId,
        worktree: &Worktree,
        title: &str,
    ) -> Result<Merged, WorktreeError> {
        let repository = Path::new(&worktree.repository);
        let branch = worktree.branch.clone();
        let Some(into) = worktree.into.clone() else {
            return Err(WorktreeError::NoTarget { branch });
        };
        let target = format!("refs/heads/{into}");
        let tip = self.git.ask(repository, ["rev-parse", "--verify", "--quiet", &target]).await?;
        if tip.code != Some(0) {
            return Err(WorktreeError::TargetGone { into, branch });
        }
        let tip = text(&tip.out);
        let work = self.commit(task, worktree, &message("Work", task, title)).await?;
        let is_ancestor = async |one: &str, other: &str| {
            self.git.is_so(repository, ["merge-base", "--is-ancestor", one, other]).await
        };
        let merged = if is_ancestor(&work.id, &tip).await? {
            Merged::Nothing { into }
        } else if is_ancestor(&tip, &work.id).await? {
            self.move_target(worktree, &into, &tip, &work.id).await?;
            Merged::FastForward { into, commit: work.id.clone() }
        } else {
            let tree = self.merge_trees(repository, &into, &tip, &work.id).await?;
            let words = message("Merge", task, title);
            let join = ["commit-tree", &tree, "-p", &tip, "-p", &work.id, "-m", &words];
            let commit = self.signing(repository).await?.line(repository, join).await?;
            self.move_target(worktree, &into, &tip, &commit).await?;
            Merged::MergeCommit { into, commit }
        };
        self.move_own(worktree, &work).await?;
        Ok(merged)
    }

    async fn merge_trees(
        &self,
        repository: &Path,
        into: &str,
        tip: &str,
        work: &str,
    ) -> Result<String, WorktreeError> {
        let merge = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", tip, work];
        let said = self.git.ask(repository, merge).await?;
        let mut parts = names(&said.out);
        match said.code {
            Some(0) => Ok(parts.pop().unwrap_or_default()),
            // The tree with the conflicts in it comes first.
            Some(1) => {
                let files = parts.into_iter().skip(1).collect();
                Err(WorktreeError::Conflicts { into: into.to_owned(), files })
            }
            _ => Err(WorktreeError::Git { said: said.error }),
        }
    }

    /// A branch that is checked out moves with its files, or not at all.
    async fn move_target(
        &self,
        worktree: &Worktree,
        into: &str,
        from: &str,
        to: &str,
    ) -> Result<(), WorktreeError> {
        let repository = Path::new(&worktree.repository);
        let Some(folder) = self.checkout_of(repository, into).await? else {
            let target = format!("refs/heads/{into}");
            self.git.run(repository, ["update-ref", &target, to, from]).await?;
            return Ok(());
        };
        // It may have settings that the worktree has not.
        self.check_programs(&folder).await?;
        let said = self.git.ask(&folder, ["merge", "--ff-only", "--quiet", to]).await?;
        match said.code {
            Some(0) => Ok(()),
            _ => Err(WorktreeError::TargetBusy { into: into.to_owned(), folder, said: said.error }),
        }
    }

    /// The worktree's own branch gets what was merged, so that it is not shown as changed any more.
    async fn move_own(&self, worktree: &Worktree, work: &Commit) -> Result<(), WorktreeError> {
        if work.id == work.head {
            return Ok(());
        }
        let folder = Path::new(&worktree.path);
        self.git.run(folder, ["update-ref", "HEAD", &work.id, &work.head]).await?;
        self.git.run(folder, ["reset", "--quiet", "--mixed"]).await?;
        Ok(())
    }

    async fn checkout_of(
        &self,
        repository: &Path,
        branch: &str,
    ) -> Result<Option<PathBuf>, WorktreeError> {
        let list = self.git.run(repository, ["worktree", "list", "--porcelain", "-z"]).await?;
        let wanted = format!("branch refs/heads/{branch}");
        let mut folder = None;
        for line in names(&list) {
            if let Some(path) = line.strip_prefix("worktree ") {
                folder = Some(PathBuf::from(path));
            } else if line == wanted {
                return Ok(folder);
            }
        }
        Ok(None)
    }
}

fn message(what: &str, task: &TaskId, title: &str) -> String {
    let title = title.lines().next().unwrap_or_default();
    format!("{what} of task {task}: {title}")
}
