//! Whether Codex's sandbox confines: real commands try what they must not be able to do.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_codex::app_server::AppServer;
use ostler_codex::protocol::request::command::{CommandExec, CommandExited};
use ostler_codex::protocol::settings::SandboxPolicy;

mod judge;

pub(super) use judge::judge;

/// A sandboxed command takes under 0.1 s; a loaded machine and a cold disk may need a hundred times as much.
const COMMAND_DEADLINE_MS: u64 = 10_000;

/// Codex itself ends the command at its deadline and then answers.
const ANSWER_DEADLINE: Duration = Duration::from_millis(COMMAND_DEADLINE_MS + 5_000);

/// Says so before it tries, so that a sandbox that refuses is told from one that never came up.
const WRITE: &str = r#"echo started; echo written by ostler doctor > "$1""#;
const CONNECT: &str = r#"echo started; exec 3<>"/dev/tcp/127.0.0.1/$1""#;
const STARTED: &str = "started\n";

/// Everything that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trial {
    /// Nothing may be written anywhere.
    pub(super) read_only: Attempt,
    /// The workspace may be written to.
    pub(super) inside: Attempt,
    /// Beside the workspace nothing may be written.
    pub(super) outside: Attempt,
    /// What git keeps about the workspace is Codex's to read only.
    pub(super) git: Attempt,
    pub(super) network: Network,
    /// The same while nothing may be written.
    pub(super) read_only_network: Network,
    /// Where the network is allowed, it is there.
    pub(super) allowed_network: Network,
    pub(super) kernel: Kernel,
    /// The bubblewrap that Codex prefers to its own.
    pub(super) bubblewrap: Option<PathBuf>,
}

/// One command that tried to write one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attempt {
    /// Or why Codex did not run it at all.
    pub(super) ran: Result<Ran, String>,
    /// Whether the file is there, whatever the command says.
    pub(super) appeared: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) started: bool,
    pub(super) succeeded: bool,
    pub(super) stderr: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    Closed,
    Reached,
    /// There is no bash, or nothing to connect to.
    Untried,
}

/// The switches of Linux that forbid the namespaces a sandbox is made of; `None` where there is no such switch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kernel {
    pub(super) max_user_namespaces: Option<u64>,
    pub(super) unprivileged_userns_clone: Option<u64>,
    pub(super) apparmor_restrict_unprivileged_userns: Option<u64>,
}

impl Kernel {
    pub(super) fn gather() -> Self {
        let switch = |name: &str| {
            let text = fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
            text.trim().parse().ok()
        };
        Self {
            max_user_namespaces: switch("user/max_user_namespaces"),
            unprivileged_userns_clone: switch("kernel/unprivileged_userns_clone"),
            apparmor_restrict_unprivileged_userns: switch(
                "kernel/apparmor_restrict_unprivileged_userns",
            ),
        }
    }
}

/// Tries all of it. The app-server must have been started in `workspace`: what a writable sandbox may write to besides
/// its roots is the folder that the app-server runs in, not the one that the command runs in (Codex 0.130 to 0.166).
pub(super) async fn attempt(
    app_server: &AppServer,
    workspace: &Path,
    outside: &Path,
    bubblewrap: Option<PathBuf>,
) -> Trial {
    let read_only = SandboxPolicy::ReadOnly { network_access: false };
    let writable_with = |network_access| SandboxPolicy::WorkspaceWrite {
        writable_roots: vec![workspace.display().to_string()],
        network_access,
        // Our folders may lie below either, and must not be writable for that reason.
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    let writable = writable_with(false);
    let git = workspace.join(".git");
    // Where it cannot be made, writing below it fails, too; that is then said.
    drop(fs::create_dir(&git));
    let write = async |policy: &SandboxPolicy, target: PathBuf| {
        let argument = target.display().to_string();
        let ran = run(app_server, workspace, policy, ["/bin/sh", WRITE, &argument]).await;
        Attempt { ran, appeared: target.exists() }
    };
    Trial {
        read_only: write(&read_only, workspace.join("read-only")).await,
        inside: write(&writable, workspace.join("inside")).await,
        outside: write(&writable, outside.join("outside")).await,
        git: write(&writable, git.join("inside")).await,
        network: connect(app_server, workspace, &writable).await,
        read_only_network: connect(app_server, workspace, &read_only).await,
        allowed_network: connect(app_server, workspace, &writable_with(true)).await,
        kernel: Kernel::gather(),
        bubblewrap,
    }
}

/// Nothing leaves the machine: a port of our own is what the command tries to reach.
async fn connect(app_server: &AppServer, workspace: &Path, policy: &SandboxPolicy) -> Network {
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else {
        return Network::Untried;
    };
    let (Ok(address), Ok(())) = (listener.local_addr(), listener.set_nonblocking(true)) else {
        return Network::Untried;
    };
    let port = address.port().to_string();
    let ran = run(app_server, workspace, policy, ["bash", CONNECT, &port]).await;
    // A connection that the command made before it ended waits here by now.
    match (listener.accept(), ran) {
        (Ok(_), _) => Network::Reached,
        (Err(error), Ok(Ran { started: true, succeeded: false, .. }))
            if error.kind() == ErrorKind::WouldBlock =>
        {
            Network::Closed
        }
        _ => Network::Untried,
    }
}

async fn run(
    app_server: &AppServer,
    workspace: &Path,
    policy: &SandboxPolicy,
    [shell, script, argument]: [&str; 3],
) -> Result<Ran, String> {
    let command = [shell, "-c", script, "doctor", argument].map(str::to_owned);
    let exec = CommandExec {
        cwd: Some(workspace.display().to_string()),
        timeout_ms: Some(COMMAND_DEADLINE_MS),
        sandbox_policy: Some(policy.clone()),
        ..CommandExec::new(command.to_vec())
    };
    let exited = app_server.call_within(&exec, ANSWER_DEADLINE).await;
    let CommandExited { exit_code, stdout, stderr } = exited.map_err(|error| error.to_string())?;
    let (started, succeeded) = (stdout.starts_with(STARTED), exit_code == Some(0));
    Ok(Ran { started, succeeded, stderr })
}
