//! `[worktree]`: git worktrees of tasks.

use std::path::PathBuf;

use crate::section::section;
use crate::value::BranchPrefix;

section! {
    /// The git worktrees of tasks that have one of their own.
    Worktree = "worktree", at;

    /// The folder that holds one folder per worktree. It must not lie inside a repository that tasks work on.
    folder: PathBuf = at.state.join("worktrees");
    /// The branch of a worktree is called this and the id of its task.
    branch_prefix: BranchPrefix = BranchPrefix::usual();
}
