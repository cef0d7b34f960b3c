//! One command from its start to the end of all that it started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::sandbox::Walls;
use crate::tool::ToolResult;
use crate::tools::cap::Cap;

/// A little less than the toolbox lets through, which would cut it a second time.
const OUTPUT_BYTES: usize = 48 * 1024;

/// What is read at once: as much as a pipe holds.
const PIECE: usize = 64 * 1024;

/// The supervisor asks politely for 2 s and kills for at most 5 s.
const END_DEADLINE: Duration = Duration::from_secs(8);

/// All that could write is gone when the supervisor has ended; what is in the pipe is read at once.
const REST_DEADLINE: Duration = Duration::from_secs(1);

/// The daemon knows by it that what runs below the supervisor is an agent's, and lets it decide nothing. It is one of the
/// marks by which it knows Codex's own commands.
const MARK: (&str, &str) = ("CODEX_SANDBOX", "ostler");

/// What a command says when a wall was in its way.
const SIGNS: [&str; 7] = [
    "Device or resource busy",
    "Operation not permitted",
    "Permission denied",
    "Read-only file system",
    "Could not resolve",
    "Temporary failure in name resolution",
    "Network is unreachable",
];

pub(super) struct Job<'a> {
    pub(super) launcher: &'a [OsString],
    pub(super) environment: &'a BTreeMap<OsString, OsString>,
    pub(super) walls: &'a Walls,
    pub(super) command: &'a str,
    pub(super) cwd: &'a Path,
    pub(super) timeout: Duration,
}

enum End {
    Itself(ExitStatus),
    TimedOut,
    Stopped,
    Lost(std::io::Error),
}

impl Job<'_> {
    pub(super) async fn run(&self, stop: &CancellationToken) -> ToolResult {
        let (child, output) = match self.start() {
            Ok(started) => started,
            Err(error) => return ToolResult::failed(format!("the command was not run: {error}")),
        };
        let mut cap = Cap::new(OUTPUT_BYTES);
        let end = self.follow(child, output, &mut cap, stop).await;
        self.tell(&end, cap.finish())
    }

    /// One pipe for both outputs: they come in the order in which they were written.
    fn start(&self) -> std::io::Result<(Child, Receiver)> {
        let (program, arguments) = self
            .launcher
            .split_first()
            .ok_or_else(|| std::io::Error::other("the way to sandbox-exec is not known"))?;
        let walls = serde_json::to_string(self.walls)?;
        let (reader, writer) = std::io::pipe()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(["--walls", &walls, "--", "sh", "-c", self.command])
            .env_clear()
            .envs(self.environment)
            .env(MARK.0, MARK.1)
            .current_dir(self.cwd)
            // The line: when it closes, the supervisor ends all that runs below it. So this process may die at any time.
            .stdin(Stdio::piped())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        let child = command.spawn()?;
        // It holds the writing end, and the output would never end.
        drop(command);
        Ok((child, Receiver::from_owned_fd(reader.into())?))
    }

    async fn follow(
        &self,
        mut child: Child,
        mut output: Receiver,
        cap: &mut Cap,
        stop: &CancellationToken,
    ) -> End {
        let mut line: Option<ChildStdin> = child.stdin.take();
        let mut piece = vec![0; PIECE];
        let mut why = None;
        let mut is_open = true;
        let deadline = tokio::time::sleep(self.timeout);
        tokio::pin!(deadline);
        let status = loop {
            tokio::select! {
                read = output.read(&mut piece), if is_open => match read {
                    Ok(count @ 1..) => cap.push(piece.get(..count).unwrap_or_default()),
                    Ok(0) | Err(_) => is_open = false,
                },
                status = child.wait() => break status,
                () = stop.cancelled(), if line.is_some() => {
                    line = None;
                    why = Some(End::Stopped);
                    deadline.as_mut().reset(Instant::now() + END_DEADLINE);
                }
                () = &mut deadline => {
                    if line.take().is_some() {
                        why = Some(End::TimedOut);
                        deadline.as_mut().reset(Instant::now() + END_DEADLINE);
                    } else {
                        // It does not obey. Killed itself, it can end nobody else any more; that is the last resort.
                        break child.kill().await.and(child.wait().await);
                    }
                }
            }
        };
        let rest = async {
            while let Ok(count @ 1..) = output.read(&mut piece).await {
                cap.push(piece.get(..count).unwrap_or_default());
            }
        };
        if is_open {
            tokio::time::timeout(REST_DEADLINE, rest).await.ok();
        }
        match (why, status) {
            (Some(why), _) => why,
            (None, Ok(status)) => End::Itself(status),
            (None, Err(error)) => End::Lost(error),
        }
    }

    fn tell(&self, end: &End, output: String) -> ToolResult {
        let mut text = output;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let is_error = match end {
            End::Itself(status) => {
                let code = status.code().unwrap_or(-1);
                text.push_str(&format!("exit code: {code}"));
                if code != 0
                    && let Some(hint) = self.hint(&text)
                {
                    text.push_str(&hint);
                }
                code != 0
            }
            End::TimedOut => {
                let seconds = self.timeout.as_secs();
                text.push_str(&format!(
                    "ended after {seconds} s, with all that it had started: it took too long"
                ));
                true
            }
            End::Stopped => {
                text.push_str("ended, with all that it had started: the turn was stopped");
                true
            }
            End::Lost(error) => {
                text.push_str(&format!("how it ended is not known: {error}"));
                true
            }
        };
        ToolResult { content: text, is_error }
    }

    /// A model that does not know of the walls looks for the fault elsewhere.
    fn hint(&self, output: &str) -> Option<String> {
        let (writable, network, guarded) = match self.walls {
            Walls::Landlock { writable, network } => (writable, *network, ""),
            Walls::Bubblewrap { writable, network, .. } => {
                (writable, *network, ", but not to `.git`, `.codex` and `.agents` right below")
            }
            Walls::None | Walls::InsideBubblewrap { .. } => return None,
        };
        let is_wall = SIGNS.iter().any(|sign| output.contains(sign));
        let paths: Vec<_> = writable.iter().map(|path| path.to_string_lossy()).collect();
        let paths = if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") };
        let network = if network { "it has the network" } else { "it has no network" };
        is_wall.then(|| {
            format!(
                "\n(The sandbox may be the cause: it lets a command write to {paths}{guarded}, and {network}. If more is needed, \
                call again with `outside_sandbox` and a `justification`; a person decides.)"
            )
        })
    }
}
