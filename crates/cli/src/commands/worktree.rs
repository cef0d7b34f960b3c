//! `ostler worktree`: the git worktrees of tasks.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ostler_engine::{Merged, WorktreeShown};
use ostler_server::api::{RemoveWorktree, WorktreeMerged, WorktreeRemoved, Worktrees};

use crate::daemon::ReachArguments;
use crate::failure::Failure;
use crate::running::block_on;
use crate::tasks::table::{Cell, table};
use crate::tasks::{Desk, id};
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct WorktreeArguments {
    #[command(subcommand)]
    command: WorktreeCommand,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Subcommand)]
enum WorktreeCommand {
    /// All worktrees, also those whose task was removed
    #[command(alias = "list")]
    Ls,
    /// Bring the work of a task into the branch that was checked out when it was started
    #[command(after_help = "\
What is not committed is committed on the way. If anything conflicts, nothing is changed and the files are named.")]
    Merge {
        /// The task; the first letters of its id are enough
        #[arg(value_name = "TASK")]
        task: String,
    },
    /// Remove the worktree of a task, and its branch
    #[command(alias = "remove")]
    Rm {
        /// The task; the first letters of its id are enough
        #[arg(value_name = "TASK")]
        task: String,
        /// Also if it has work that is nowhere else; the work is kept as refs/ostler/TASK, but for what git ignores
        #[arg(long)]
        force: bool,
    },
}

pub(crate) fn run(arguments: &WorktreeArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        match &arguments.command {
            WorktreeCommand::Ls => {
                let all: Worktrees = desk.get("/v1/worktrees").await?;
                output.emit(&all);
                list(&all.worktrees, output);
            }
            WorktreeCommand::Merge { task } => {
                let path = format!("/v1/tasks/{}/worktree/merge", id(task)?);
                let done: WorktreeMerged = desk.post(&path, &serde_json::json!({})).await?;
                output.emit(&done);
                output.say(&merged(&done.merged));
            }
            WorktreeCommand::Rm { task, force } => {
                let path = format!("/v1/tasks/{}/worktree/remove", id(task)?);
                let request = RemoveWorktree { force: *force };
                let removed: WorktreeRemoved = desk.post(&path, &request).await?;
                output.emit(&removed);
                output.say(&match &removed.kept_as {
                    None => format!("the worktree of {} is removed", removed.task),
                    Some(kept) => format!(
                        "the worktree of {} is removed; its work is kept: `git show {kept}`",
                        removed.task
                    ),
                });
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn list(worktrees: &[WorktreeShown], output: Output) {
    if worktrees.is_empty() {
        return output.say("there are none; `ostler start --worktree` makes one");
    }
    let row = |shown: &WorktreeShown| {
        let work = match (&shown.work, &shown.trouble) {
            (Some(work), _) if work.is_none() => "all merged".to_owned(),
            (Some(work), _) => work.to_string(),
            (None, trouble) => trouble.clone().unwrap_or_default(),
        };
        let (task, path) = (shown.task.to_string(), shown.worktree.path.clone());
        vec![Cell::plain(task), Cell::dim(path), Cell::plain(work)]
    };
    let rows: Vec<_> = worktrees.iter().map(row).collect();
    output.say_styled(&table(&["TASK", "FOLDER", "WORK"], &rows));
}

fn merged(merged: &Merged) -> String {
    match merged {
        Merged::Nothing { into } => format!("{into} has all of it already"),
        Merged::FastForward { into, commit } => format!("{into} is at {commit} now"),
        Merged::MergeCommit { into, commit } => format!("merged into {into} as {commit}"),
    }
}
