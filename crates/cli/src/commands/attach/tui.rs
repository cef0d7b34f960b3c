//! Codex's own terminal interface on the thread of a task, in the app-server that the task is in.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use ostler_codex::keeper;
use ostler_codex::keeper::{Condition, Record};

use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::running::block_on;
use crate::tasks::Desk;
use crate::terminal::{Output, tell};

/// Stands in the help of `codex resume` where its `--remote` takes the path of a socket: 0.142.5 and 0.166.0 do, 0.125.0
/// and 0.130.0 take addresses of the network only.
const TAKES_SOCKET: &str = "unix://PATH";

/// Replaces this process by Codex.
pub(super) fn open(
    task: &str,
    reach: &ReachArguments,
    output: Output,
) -> Result<ExitCode, Failure> {
    let (task, places) = block_on(async {
        let mut desk = Desk::open(output, reach).await?;
        Ok((desk.task(task).await?, desk.places))
    })?;
    let nowhere = || {
        Failure::new(Exit::TryAgainLater, "no app-server has the thread of this task at the moment")
            .hint(format!(
                "`ostler send {} \"…\"` opens it; `ostler attach {}` shows it",
                task.id, task.id
            ))
    };
    let (Some(thread), Some(id)) = (&task.thread, &task.keeper) else { return Err(nowhere()) };
    let found = keeper::find(&places.keepers(), id).map_err(|_| nowhere())?;
    let lives = matches!(found.condition, Condition::Running | Condition::KeeperDead);
    let record = found.record.as_ref().filter(|_| lives).ok_or_else(nowhere)?;
    if !takes_socket(record)? {
        let version = record.codex_version.as_deref().unwrap_or("of this task");
        let message = format!("Codex {version} cannot open its interface on a socket");
        return Err(Failure::new(Exit::Usage, message).hint(format!(
            "its `resume --remote` takes network addresses only, Codex 0.142.5 takes sockets too; \
             `ostler attach {}` follows the task here",
            task.id
        )));
    }
    tell("Codex's own interface; what you do there is told to the task as well");
    let mut command = Command::new(&record.codex_path);
    command.arg("resume").arg(thread.as_str());
    command.arg("--remote").arg(format!("unix://{}", found.folder.socket().display()));
    if let Some(home) = &record.codex_home {
        command.env("CODEX_HOME", home);
    }
    let error = command.exec();
    Err(Failure::new(
        Exit::Failed,
        format!("cannot start {}: {error}", record.codex_path.display()),
    ))
}

fn takes_socket(record: &Record) -> Result<bool, Failure> {
    let mut help = Command::new(&record.codex_path);
    help.args(["resume", "--help"]).stdin(Stdio::null()).stderr(Stdio::null());
    let help = help.output().map_err(|error| {
        let message = format!("cannot start {}: {error}", record.codex_path.display());
        Failure::new(Exit::Failed, message)
    })?;
    Ok(String::from_utf8_lossy(&help.stdout).contains(TAKES_SOCKET))
}
