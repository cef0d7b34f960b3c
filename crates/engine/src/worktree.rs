//! Git worktrees of tasks: made before the task is written down, shown as a diff, merged or removed on request, never lost.
//!
//! A worktree is a folder named after its task, with a branch of its own, and a note beside it that says which repository it
//! belongs to; so whatever is killed in between, it is found again. Codex's sandbox does not let a task commit, so its work
//! usually lies uncommitted in the folder: everything here counts that as well (see `work`).

pub(crate) mod git;
pub(crate) mod index;
mod merge;
mod note;
mod orphans;
pub(crate) mod programs;
#[cfg(test)]
mod tests;
mod work;

pub use merge::Merged;
pub use note::{WorktreeShown, noted_worktrees};
pub use orphans::{TidiedWorktree, tidy_worktrees};
pub use work::Work;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ostler_model::TaskId;
use ostler_model::task::Worktree;
use thiserror::Error;

use git::Git;

/// Where work is kept whose worktree was removed by force.
const KEPT_REFS: &str = "refs/ostler";

#[derive(Debug, Clone)]
pub struct WorktreeSettings {
    /// Holds one folder per worktree.
    pub folder: PathBuf,
    /// The branch is called this and the id of the task.
    pub branch_prefix: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WorktreeError {
    #[error("git cannot be run: {reason}; a worktree needs it")]
    NoGit { reason: String },
    #[error("git says: {said}")]
    Git { said: String },
    #[error("git took longer than {seconds} s and was ended")]
    TooSlow { seconds: u64 },
    #[error("the answer of git is longer than {most_bytes} bytes; look into the worktree itself")]
    TooLarge { most_bytes: u64 },
    #[error("{} is in no git repository; a worktree needs one", folder.display())]
    NoRepository { folder: PathBuf },
    #[error("{} is in a bare repository, or in the .git folder of one; start in a checkout", folder.display())]
    NoCheckout { folder: PathBuf },
    #[error("{} has no commit yet; commit something first", repository.display())]
    NoCommit { repository: PathBuf },
    #[error(
        "{} is a submodule, for which git has no worktrees that last; start the task without one", repository.display()
    )]
    IsSubmodule { repository: PathBuf },
    #[error(
        "{} has submodules ({}), which git does not carry over into a worktree; start the task without one",
        repository.display(), submodules.join(", ")
    )]
    HasSubmodules { repository: PathBuf, submodules: Vec<String> },
    #[error(
        "{} is not in the last commit, so a worktree would not have it; commit it or start above it", folder.display()
    )]
    FolderNotCommitted { folder: PathBuf },
    #[error("{} is inside the repository {}; set another `folder` in [worktree]", folder.display(), repository.display())]
    InsideRepository { folder: PathBuf, repository: PathBuf },
    #[error("task {task} has no worktree")]
    None { task: TaskId },
    #[error("the worktree of task {task} was removed")]
    Removed { task: TaskId },
    #[error("task {task} is at work; interrupt it or wait for it to end")]
    AtWork { task: TaskId },
    #[error(
        "the worktree has work that is nowhere else: {work}; merge it, or remove it by force: it is then kept as {kept_as}, \
         but for what git ignores"
    )]
    NotMerged { work: Work, kept_as: String },
    #[error(
        "the worktree has files that are nowhere else: {work}; take what you need, then remove it by force, and they are gone"
    )]
    OnlyIgnored { work: Work },
    #[error("it does not merge into {into}: {} would conflict; nothing was changed", files.join(", "))]
    Conflicts { into: String, files: Vec<String> },
    #[error(
        "no branch was checked out when the task was started, so there is none to merge into; `git merge {branch}` where you want it"
    )]
    NoTarget { branch: String },
    #[error("the branch {into} is gone; `git merge {branch}` where you want it")]
    TargetGone { into: String, branch: String },
    #[error(
        "{} is checked out in {} and cannot take the merge now: {said}; nothing was changed", into, folder.display()
    )]
    TargetBusy { into: String, folder: PathBuf, said: String },
    #[error(
        "{} in the worktree is a repository of its own, which cannot be merged; move it away", folder.display()
    )]
    Nested { folder: PathBuf },
    #[error(
        "git would run `{program}` ({setting}) on the files of the worktree, and the task can change it; name a program outside of \
         the repository by its whole path, or work without a worktree"
    )]
    Programs { setting: String, program: String },
    #[error(
        "the repository's own configuration has git run `{program}` ({setting}), outside of the sandbox; if that program is yours, name it \
         in your own configuration (`git config --global {setting} …`) and remove it from the repository's (`git config --unset-all \
         {setting}`), or work without a worktree"
    )]
    OwnPrograms { setting: String, program: String },
    #[error("cannot {action} {}: {reason}", path.display())]
    File { action: &'static str, path: PathBuf, reason: String },
}

/// The worktrees of this daemon's tasks.
#[derive(Debug, Clone)]
pub(crate) struct Worktrees {
    settings: WorktreeSettings,
    git: Git,
}

/// A worktree that was made, and the task's folder in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) worktree: Worktree,
    pub(crate) cwd: String,
}

impl Worktrees {
    pub(crate) fn new(settings: WorktreeSettings, environment: &[(OsString, OsString)]) -> Self {
        Self { settings, git: Git::new(environment) }
    }

    /// Makes one for a task that begins in `cwd`, which has the same place in it.
    pub(crate) async fn make(&self, task: &TaskId, cwd: &Path) -> Result<Made, WorktreeError> {
        let repository = self.repository_of(cwd).await?;
        self.check_programs(&repository).await?;
        let base = self.base_of(cwd, &repository).await?;
        let below = self.git.path(cwd, ["rev-parse", "--show-prefix"]).await?;
        if !below.as_os_str().is_empty() {
            let mut wanted = OsString::from("HEAD:");
            wanted.push(below.as_os_str());
            let is_there = self.git.is_so(cwd, [OsString::from("cat-file"), "-e".into(), wanted]);
            if !is_there.await? {
                return Err(WorktreeError::FolderNotCommitted { folder: cwd.to_owned() });
            }
        }
        let into = self.git.ask(cwd, ["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
        let into = (into.code == Some(0)).then(|| git::text(&into.out));
        let path = self.path_of(task)?;
        if path.starts_with(&repository) {
            return Err(WorktreeError::InsideRepository {
                folder: self.settings.folder.clone(),
                repository,
            });
        }
        let worktree = Worktree {
            repository: repository.display().to_string(),
            path: path.display().to_string(),
            branch: format!("{}{task}", self.settings.branch_prefix),
            base,
            into,
        };
        self.write_note(task, &worktree)?;
        let add = [
            "worktree",
            "add",
            "--quiet",
            "-b",
            &worktree.branch,
            "--",
            &worktree.path,
            &worktree.base,
        ];
        if let Err(error) = self.git.run(&repository, add).await {
            self.discard(task, &worktree).await;
            return Err(error);
        }
        let cwd = path.join(below);
        // A trailing slash would make it another folder for everybody who compares names.
        let cwd = cwd.components().collect::<PathBuf>().display().to_string();
        Ok(Made { worktree, cwd })
    }

    /// Takes back what was made for a task that was not started.
    pub(crate) async fn discard(&self, task: &TaskId, worktree: &Worktree) {
        if let Err(error) = self.take_away(task, worktree).await {
            tracing::warn!(%error, %task, "a worktree that nobody uses is left");
        }
    }

    /// What the task has changed since it began, as one unified diff, with new files.
    pub(crate) async fn diff(
        &self,
        task: &TaskId,
        worktree: &Worktree,
    ) -> Result<String, WorktreeError> {
        let now = self.snapshot(task, worktree).await?;
        let arguments = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--ignore-submodules",
            "-M",
            &worktree.base,
            &now.tree,
        ];
        let diff = self.git.run(Path::new(&worktree.path), arguments).await?;
        Ok(String::from_utf8_lossy(&diff).into_owned())
    }

    /// Removes the worktree and its branch. Work that is nowhere else stops it, unless it is forced: then the work is kept
    /// under a name of its own, which is given back. What git ignores no commit can keep; it goes only by force.
    pub(crate) async fn remove(
        &self,
        task: &TaskId,
        worktree: &Worktree,
        force: Force,
    ) -> Result<Option<String>, WorktreeError> {
        let work = self.work(task, worktree).await?;
        let kept_as = format!("{KEPT_REFS}/{task}");
        let kept = match force {
            Force::No if !work.is_none() => return Err(not_merged(work, kept_as)),
            Force::KeepAsRef if work.can_be_kept() => {
                let commit =
                    self.commit(task, worktree, "work of a worktree that was removed").await?;
                let repository = Path::new(&worktree.repository);
                self.git.run(repository, ["update-ref", &kept_as, &commit.id]).await?;
                Some(kept_as)
            }
            _ => None,
        };
        self.take_away(task, worktree).await?;
        Ok(kept)
    }

    fn path_of(&self, task: &TaskId) -> Result<PathBuf, WorktreeError> {
        let folder = &self.settings.folder;
        let failed = |error: std::io::Error| WorktreeError::File {
            action: "create",
            path: folder.clone(),
            reason: error.to_string(),
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        Ok(folder.canonicalize().map_err(failed)?.join(task.as_str()))
    }

    /// The top of the checkout that a folder is in.
    async fn repository_of(&self, cwd: &Path) -> Result<PathBuf, WorktreeError> {
        let folder = cwd.to_owned();
        let inside = self.git.ask(cwd, ["rev-parse", "--is-inside-work-tree"]).await?;
        match (inside.code, git::text(&inside.out).as_str()) {
            (Some(0), "true") => {}
            (Some(0), _) => return Err(WorktreeError::NoCheckout { folder }),
            _ if inside.error.contains("not a git repository") => {
                return Err(WorktreeError::NoRepository { folder });
            }
            _ => return Err(WorktreeError::Git { said: inside.error }),
        }
        // The first one is the main one, which lasts as long as the repository.
        let list = self.git.run(cwd, ["worktree", "list", "--porcelain", "-z"]).await?;
        let main = work::names(&list).into_iter().next();
        let main = main.and_then(|line| Some(PathBuf::from(line.strip_prefix("worktree ")?)));
        let repository = main.ok_or(WorktreeError::NoRepository { folder })?;
        let above = self.git.line(cwd, ["rev-parse", "--show-superproject-working-tree"]).await?;
        match above.is_empty() {
            true => Ok(repository),
            false => Err(WorktreeError::IsSubmodule { repository }),
        }
    }

    /// The commit that a worktree begins with.
    async fn base_of(&self, cwd: &Path, repository: &Path) -> Result<String, WorktreeError> {
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let base = self.git.ask(cwd, head).await?;
        if base.code != Some(0) {
            return Err(WorktreeError::NoCommit { repository: repository.to_owned() });
        }
        let base = git::text(&base.out);
        let files = self.git.run(cwd, ["ls-tree", "-r", "-z", "--full-tree", "HEAD"]).await?;
        let submodules: Vec<String> = files
            .split(|byte| *byte == 0)
            .filter(|file| file.starts_with(b"160000 "))
            .filter_map(|file| Some(String::from_utf8_lossy(file).split_once('\t')?.1.to_owned()))
            .collect();
        match submodules.is_empty() {
            true => Ok(base),
            false => {
                Err(WorktreeError::HasSubmodules { repository: repository.to_owned(), submodules })
            }
        }
    }

    /// Folder, branch and note; in this order, so that a half of it is found again.
    async fn take_away(&self, task: &TaskId, worktree: &Worktree) -> Result<(), WorktreeError> {
        let repository = Path::new(&worktree.repository);
        if repository.is_dir() {
            if Path::new(&worktree.path).exists() {
                // Twice `--force`: also if it is locked, as a half-made one is.
                let remove = ["worktree", "remove", "--force", "--force", "--", &worktree.path];
                let removed = self.git.ask(repository, remove).await?;
                if removed.code != Some(0) {
                    tracing::debug!(
                        said = removed.error,
                        "the worktree's folder is removed by hand"
                    );
                    remove_folder(Path::new(&worktree.path))?;
                }
            }
            self.git.run(repository, ["worktree", "prune"]).await?;
            let branch = format!("refs/heads/{}", worktree.branch);
            self.git.run(repository, ["update-ref", "-d", &branch]).await?;
        } else {
            remove_folder(Path::new(&worktree.path))?;
        }
        self.remove_note(task)
    }
}

fn not_merged(work: Work, kept_as: String) -> WorktreeError {
    match work.can_be_kept() {
        true => WorktreeError::NotMerged { work, kept_as },
        false => WorktreeError::OnlyIgnored { work },
    }
}

/// What becomes of work that is nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// It stops the removal.
    No,
    /// It is kept as a ref that no branch shows.
    KeepAsRef,
}

fn remove_folder(path: &Path) -> Result<(), WorktreeError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(WorktreeError::File {
            action: "remove",
            path: path.to_owned(),
            reason: error.to_string(),
        }),
        _ => Ok(()),
    }
}
