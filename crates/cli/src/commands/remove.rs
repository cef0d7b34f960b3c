//! `ostler rm` and `ostler gc`: forgetting tasks.

use std::process::ExitCode;

use clap::Args;
use ostler_engine::SweepReport;
use ostler_server::api::Removed;

use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::running::block_on;
use crate::tasks::{Desk, words};
use crate::terminal::Output;

#[derive(Debug, Args)]
#[command(after_help = "\
What the task changed in its folder stays, and so does its thread in Codex's home. Its worktree goes if all of it is merged,
and stays otherwise. Its log is gone for good.")]
pub(crate) struct RemoveArguments {
    /// The tasks; the first letters of their ids are enough
    #[arg(value_name = "TASK", required = true)]
    ids: Vec<String>,
    /// Also tasks that are not over; their turns are ended
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn remove(arguments: &RemoveArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let mut tasks = Vec::new();
        for typed in &arguments.ids {
            let task = desk.task(typed).await?;
            if !task.state.is_over() && !arguments.force {
                let message = format!("task {} is not over: {}", task.id, words::state(task.state));
                return Err(Failure::new(Exit::Usage, message)
                    .hint("nothing was removed; --force ends it first"));
            }
            tasks.push(task);
        }
        for task in tasks {
            let removed: Removed = desk.delete(&format!("/v1/tasks/{}", task.id)).await?;
            output.say(&format!("{} is removed: {}", removed.task, task.title));
            if let Some(folder) = &removed.worktree_kept {
                output.say(&format!(
                    "its worktree {folder} has work that is nowhere else and stays; `ostler worktree merge {}` or `rm`",
                    removed.task
                ));
            }
            output.emit(&removed);
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// What the configuration keeps no longer is removed now; the daemon does so every hour.
pub(crate) fn sweep(arguments: &SweepArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let report: SweepReport = desk.post("/v1/gc", &serde_json::json!({})).await?;
        output.emit(&report);
        output.say(&text(&report));
        Ok(ExitCode::SUCCESS)
    })
}

fn text(report: &SweepReport) -> String {
    if report.is_empty() {
        return "nothing to remove; [retention] in the configuration says what is kept".to_owned();
    }
    let parts = [
        (report.too_old.len(), "too old"),
        (report.too_many.len(), "too many"),
        (report.too_large.len(), "to make room"),
    ];
    let mut removed: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} tasks removed ({why})"))
        .collect();
    let others = [
        (report.rule_uses, "uses of rules"),
        (report.host_asks, "questions of agents"),
        (report.notifications, "notifications"),
        (report.audit, "entries of the audit log"),
    ];
    let others = others.iter().filter(|(count, _)| *count > 0);
    removed.extend(others.map(|(count, what)| format!("{count} {what} removed")));
    let saved = report.bytes_before.saturating_sub(report.bytes_after) / 1024;
    format!("{}; {saved} KiB free", removed.join(", "))
}
