//! What a worktree holds, committed or not.
//!
//! The files are put into an index of our own, so that looking changes neither the worktree nor its index.

use std::fmt;
use std::path::Path;

use ostler_model::TaskId;
use ostler_model::task::Worktree;
use serde::{Deserialize, Serialize};

use super::git::{Git, text};
use super::index::{Changed, LIST, copy_plain};
use super::{WorktreeError, Worktrees};

/// Files that are named in a message; more are counted.
const NAMED: usize = 20;

/// Work of a worktree that is nowhere else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Files that differ from the last commit of its branch.
    pub uncommitted: Vec<String>,
    /// Commits that no other branch has.
    pub unmerged_commits: u64,
    /// Files and folders that git ignores: nothing keeps them but the folder itself.
    #[serde(default)]
    pub ignored: Vec<String>,
}

/// The files of a worktree as they are now.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) head: String,
    pub(super) tree: String,
}

/// The work as a commit on top of the worktree's branch.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) id: String,
    /// What the branch was at.
    pub(super) head: String,
}

impl Work {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether there is something that a commit can keep.
    pub(super) fn can_be_kept(&self) -> bool {
        !self.uncommitted.is_empty() || self.unmerged_commits > 0
    }
}

impl fmt::Display for Work {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.uncommitted.is_empty() {
            parts.push(format!("changes in {}", named(&self.uncommitted)));
        }
        if self.unmerged_commits > 0 {
            parts.push(format!("{} commits that are not merged", self.unmerged_commits));
        }
        if !self.ignored.is_empty() {
            parts.push(format!("{}, which git ignores", named(&self.ignored)));
        }
        formatter.write_str(&parts.join("; "))
    }
}

fn named(files: &[String]) -> String {
    let named = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

impl Worktrees {
    /// What would be lost with the worktree.
    pub(super) async fn work(
        &self,
        task: &TaskId,
        worktree: &Worktree,
    ) -> Result<Work, WorktreeError> {
        let now = self.snapshot(task, worktree).await?;
        let folder = Path::new(&worktree.path);
        let changed =
            ["diff-tree", "-r", "-z", "--name-only", "--ignore-submodules", &now.head, &now.tree];
        let changed = self.git.run(folder, changed).await?;
        let unmerged_commits = self.unmerged(worktree, &now.head).await?;
        let ignored = self.ignored(folder).await?;
        Ok(Work { uncommitted: names(&changed), unmerged_commits, ignored })
    }

    /// What git does not look at may be all that a task has made: a database, a report, what it has built. A folder counts
    /// as one.
    pub(super) async fn ignored(&self, folder: &Path) -> Result<Vec<String>, WorktreeError> {
        let ignored =
            ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        Ok(names(&self.git.run(folder, ignored).await?))
    }

    /// How many commits no other branch and no tag has.
    pub(super) async fn unmerged(
        &self,
        worktree: &Worktree,
        head: &str,
    ) -> Result<u64, WorktreeError> {
        // Before `--branches` git wants the name without `refs/heads/`, or it excludes nothing.
        let own = format!("--exclude={}", worktree.branch);
        let count =
            ["rev-list", "--count", head, "--not", &own, "--branches", "--remotes", "--tags"];
        let count = self.git.line(Path::new(&worktree.path), count).await?;
        // What cannot be counted is not nothing.
        Ok(count.parse().unwrap_or(1))
    }

    pub(super) async fn snapshot(
        &self,
        task: &TaskId,
        worktree: &Worktree,
    ) -> Result<Snapshot, WorktreeError> {
        let folder = Path::new(&worktree.path);
        if !folder.join(".git").exists() {
            return Err(WorktreeError::Removed { task: task.clone() });
        }
        self.check_programs(folder).await?;
        let head = self.git.line(folder, ["rev-parse", "--verify", "HEAD^{commit}"]).await?;
        let index = self.git.path(folder, ["rev-parse", "--git-path", "index"]).await?;
        let scratch = tempfile_beside(&folder.join(index))?;
        let git = self.git.with("GIT_INDEX_FILE", scratch.as_os_str());
        let tree = write_tree(&git, folder).await;
        drop(std::fs::remove_file(&scratch));
        Ok(Snapshot { head, tree: tree? })
    }

    /// The work as one commit; the last one of the branch if there is nothing more than that.
    pub(super) async fn commit(
        &self,
        task: &TaskId,
        worktree: &Worktree,
        message: &str,
    ) -> Result<Commit, WorktreeError> {
        let Snapshot { head, tree } = self.snapshot(task, worktree).await?;
        let folder = Path::new(&worktree.path);
        let committed = format!("{head}^{{tree}}");
        let committed = self.git.line(folder, ["rev-parse", "--verify", &committed]).await?;
        if committed == tree {
            return Ok(Commit { id: head.clone(), head });
        }
        let git = self.signing(folder).await?;
        let id = git.line(folder, ["commit-tree", &tree, "-p", &head, "-m", message]).await?;
        Ok(Commit { id, head })
    }

    /// Git with a name to commit under: the user's own, or ours where git knows none.
    pub(super) async fn signing(&self, folder: &Path) -> Result<Git, WorktreeError> {
        if self.git.is_so(folder, ["var", "GIT_COMMITTER_IDENT"]).await? {
            return Ok(self.git.clone());
        }
        let names = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"];
        let addresses = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"];
        let git = names.iter().fold(self.git.clone(), |git, name| git.with(name, "Ostler"));
        Ok(addresses.iter().fold(git, |git, name| git.with(name, "ostler@localhost")))
    }
}

async fn write_tree(git: &Git, folder: &Path) -> Result<String, WorktreeError> {
    let changed = Changed::read(folder, &git.run(folder, LIST).await?);
    // It would become a link that leads nowhere.
    if let Some(nested) = changed.nested.first() {
        return Err(WorktreeError::Nested { folder: nested.into() });
    }
    changed.put(git, folder, &[]).await?;
    Ok(text(&git.run(folder, ["write-tree"]).await?))
}

/// A copy of the index, so that git need not read every file again. One that is not there yet is empty.
fn tempfile_beside(index: &Path) -> Result<std::path::PathBuf, WorktreeError> {
    let scratch = index.with_file_name(format!("ostler-index-{}", uuid::Uuid::now_v7().simple()));
    match copy_plain(index, &scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(WorktreeError::File {
            action: "copy",
            path: index.to_owned(),
            reason: error.to_string(),
        }),
        _ => Ok(scratch),
    }
}

/// Of what `-z` separates.
pub(super) fn names(out: &[u8]) -> Vec<String> {
    let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
