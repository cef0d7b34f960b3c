//! A program of the operator's: something on its stdin, its answer on its stdout, and nothing of it left when it is given up.

use std::process::{ExitStatus, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// What the service manager said to the daemon alone: a program that took it for itself would speak in the daemon's name.
const OF_THE_DAEMON: [&str; 6] = [
    "LISTEN_FDNAMES",
    "LISTEN_FDS",
    "LISTEN_PID",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
];

/// What it said, and how it ended.
pub(crate) struct Ran {
    pub(crate) output: Vec<u8>,
    pub(crate) status: ExitStatus,
}

/// Runs it to its end. Whoever stops waiting ends it, with all that it has started.
pub(crate) async fn run(command: &[String], input: &[u8], most_output: u64) -> Result<Ran, String> {
    let (program, arguments) = command.split_first().ok_or("it has no command")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    for variable in OF_THE_DAEMON {
        command.env_remove(variable);
    }
    let mut child = command
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    let group = Group(child.id());
    let (mut stdin, stdout) = (child.stdin.take(), child.stdout.take());
    if let Some(stdin) = &mut stdin {
        // One that answers without reading is free to.
        drop(stdin.write_all(input).await);
    }
    drop(stdin);
    let mut output = Vec::new();
    if let Some(stdout) = stdout {
        let read = stdout.take(most_output).read_to_end(&mut output).await;
        read.map_err(|error| error.to_string())?;
    }
    let status = child.wait().await.map_err(|error| error.to_string())?;
    group.let_go();
    Ok(Ran { output, status })
}

/// The process group of a program: whoever does not wait for its end ends all that it has started.
struct Group(Option<u32>);

impl Group {
    /// It has ended; what it leaves behind on purpose may go on.
    fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The program itself is not waited for yet, so its number is still its own.
        let group = self.0.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = group
            && let Err(error) = kill_process_group(group, Signal::KILL)
            && error != Errno::SRCH
        {
            tracing::warn!(%error, "a program of the operator's could not be ended");
        }
    }
}
