//! Runs one short-lived command to its end: own process group, bounded output, and a deadline.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::environment::Environment;

/// How much of each output stream is kept; the rest is read and thrown away so the child never blocks on a full pipe.
/// A whole `npm` failure report with its stack trace is below 10 KB.
const KEPT_BYTES: usize = 64 * 1024;

/// A folder that nobody can ever make, because what is above it is no folder. Codex run by root makes `/nonexistent`.
const NO_HOME: &str = "/dev/null/none";

pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) enum Run {
    Finished(Finished),
    TimedOut,
    NotStarted(io::Error),
}

/// A command with all of the given environment: for npm, which needs the user's credentials for their registry.
pub(crate) fn command(program: &Path, environment: &Environment) -> Command {
    with_variables(program, environment.variables().iter().cloned())
}

/// A command of what is said to be Codex, with what Codex may see and a home that does not exist: even
/// `codex --version` would otherwise write into the user's (0.125.0 to 0.166.0, test
/// `the_demo_changes_a_file_after_an_approval`). All versions do without.
pub(crate) fn codex_command(codex: &Path, environment: &Environment) -> Command {
    with_variables(codex, environment.for_codex(Some(NO_HOME.into())))
}

fn with_variables(
    program: &Path,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(variables).stdin(Stdio::null());
    command
}

/// Waits for the command to end and its output to close. On the deadline, and when the caller drops this future, the
/// whole process group is killed: version managers put shell scripts in front of the program that does the work.
pub(crate) async fn run(mut command: Command, deadline: Duration) -> Run {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    let mut group = match command.spawn() {
        Ok(child) => Group { id: child.id().and_then(|id| Pid::from_raw(id.cast_signed())), child },
        Err(error) => return Run::NotStarted(error),
    };
    let stdout = group.child.stdout.take();
    let stderr = group.child.stderr.take();
    let all = async { tokio::join!(keep_tail(stdout), keep_tail(stderr), group.child.wait()) };
    match timeout(deadline, all).await {
        Ok((stdout, stderr, Ok(status))) => {
            group.id = None;
            Run::Finished(Finished { status, stdout, stderr })
        }
        Ok((_, _, Err(error))) => Run::NotStarted(error),
        Err(_) => Run::TimedOut,
    }
}

/// Kills what is left of the child's process group when dropped, unless it ended in good order.
struct Group {
    child: Child,
    id: Option<Pid>,
}

impl Drop for Group {
    fn drop(&mut self) {
        // The number stays taken while any member lives; a group that is gone already answers with an error.
        if let Some(id) = self.id
            && let Err(error) = kill_process_group(id, Signal::KILL)
        {
            tracing::debug!(%error, "the process group ended before it was killed");
        }
    }
}

async fn keep_tail(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else {
        return String::new();
    };
    let mut kept = Vec::new();
    let mut chunk = vec![0; 8 * 1024];
    // A read error means the same to us as the end: no more output will come.
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        kept.extend(chunk.iter().take(count));
        if kept.len() > 2 * KEPT_BYTES {
            kept.drain(..kept.len() - KEPT_BYTES);
        }
    }
    kept.drain(..kept.len().saturating_sub(KEPT_BYTES));
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let environment = Environment::default().with("PATH", "/usr/bin:/bin");
        let mut command = command(Path::new("/bin/sh"), &environment);
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn the_end_of_long_output_is_kept() {
        let script = "i=0; while [ $i -lt 40000 ]; do echo line $i; i=$((i+1)); done; exit 3";
        let Run::Finished(finished) = run(shell(script), Duration::from_secs(60)).await else {
            panic!("the script ends by itself");
        };
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!(finished.stdout.len(), KEPT_BYTES);
        assert!(finished.stdout.ends_with("line 39999\n"));
    }

    #[tokio::test]
    async fn a_grandchild_dies_with_the_future() {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("pid");
        let script =
            format!("sh -c 'echo $$ > {0}.new; mv {0}.new {0}; sleep 600'", note.display());
        let minute = Duration::from_secs(60);
        tokio::select! {
            _ = run(shell(&script), 10 * minute) => panic!("the script sleeps longer"),
            written = timeout(minute, until(|| note.exists())) => written.unwrap(),
        }
        let pid = std::fs::read_to_string(&note).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        // A zombie that nobody reaped yet counts as gone.
        let gone =
            until(|| !std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")));
        timeout(minute, gone).await.unwrap();
    }

    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
