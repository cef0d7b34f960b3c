//! Running git so that nothing of ours leaks into it and nothing of a repository's leaks into us.
//!
//! What a task has written lies in its worktree, and git runs here without a sandbox. So no hook, no file monitor, no external
//! diff and no signing program is run: a repository's configuration may name one that the task has written. Nothing is fetched,
//! since a missing object would be asked for by a program that the configuration names as a remote. Filters and drivers of merges
//! must run, and are looked at first (`programs`). Commands that start git inside a nested repository, such as `add` and `status`,
//! are not used (see `index`).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::WorktreeError;

/// Checking out a large repository takes minutes on a slow disk.
const DEADLINE: Duration = Duration::from_secs(5 * 60);

/// What git may say; a diff that is longer is not for reading.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// What git needs of the daemon's environment: programs, the user's name and settings.
const KEPT: [&str; 6] = ["PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR"];

const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "maintenance.auto=false",
    "merge.verifySignatures=false",
];

#[derive(Debug, Clone)]
pub(crate) struct Git {
    environment: Vec<(OsString, OsString)>,
}

/// What git said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) error: String,
}

impl Git {
    pub(crate) fn new(environment: &[(OsString, OsString)]) -> Self {
        let kept = environment.iter().filter(|(name, _)| KEPT.iter().any(|kept| name == kept));
        Self { environment: kept.cloned().collect() }
    }

    pub(crate) fn with(&self, name: &str, value: impl Into<OsString>) -> Self {
        let mut environment = self.environment.clone();
        environment.push((name.into(), value.into()));
        Self { environment }
    }

    /// Runs it in a folder, whatever comes of it.
    pub(crate) async fn ask<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Said, WorktreeError> {
        self.talk(folder, arguments, None).await
    }

    async fn talk<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
        input: Option<&[u8]>,
    ) -> Result<Said, WorktreeError> {
        let mut command = Command::new("git");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_EDITOR", "false")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "")
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let failed = |error: std::io::Error| WorktreeError::NoGit { reason: error.to_string() };
        let mut child = command.spawn().map_err(failed)?;
        let (stdin, out, error) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let talk = async {
            // Git may end before it has read everything; its exit code says why.
            let (_, out, error) = tokio::join!(write(stdin, input), read(out), read(error));
            let status = child.wait().await?;
            let error = String::from_utf8_lossy(&error?).trim().to_owned();
            std::io::Result::Ok(Said { code: status.code(), out: out?, error })
        };
        let Ok(said) = timeout(DEADLINE, talk).await else {
            return Err(WorktreeError::TooSlow { seconds: DEADLINE.as_secs() });
        };
        let said = said.map_err(failed)?;
        match u64::try_from(said.out.len()) {
            Ok(length) if length <= MOST_BYTES => Ok(said),
            _ => Err(WorktreeError::TooLarge { most_bytes: MOST_BYTES }),
        }
    }

    /// Runs what must work, and gives what it said.
    pub(crate) async fn run<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, WorktreeError> {
        let said = self.ask(folder, arguments).await?;
        match said.code {
            Some(0) => Ok(said.out),
            _ => Err(WorktreeError::Git { said: said.error }),
        }
    }

    /// Runs what must work and reads its input.
    pub(super) async fn feed<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<(), WorktreeError> {
        let said = self.talk(folder, arguments, Some(input)).await?;
        match said.code {
            Some(0) => Ok(()),
            _ => Err(WorktreeError::Git { said: said.error }),
        }
    }

    /// One line of something that must work.
    pub(crate) async fn line<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, WorktreeError> {
        let out = self.run(folder, arguments).await?;
        Ok(text(&out))
    }

    pub(crate) async fn path<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<PathBuf, WorktreeError> {
        Ok(PathBuf::from(self.line(folder, arguments).await?))
    }

    pub(crate) async fn is_so<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<bool, WorktreeError> {
        Ok(self.ask(folder, arguments).await?.code == Some(0))
    }
}

pub(crate) fn text(out: &[u8]) -> String {
    String::from_utf8_lossy(out).trim_end_matches('\n').to_owned()
}

async fn write(to: Option<impl AsyncWrite + Unpin>, input: Option<&[u8]>) -> std::io::Result<()> {
    match (to, input) {
        (Some(mut to), Some(input)) => to.write_all(input).await,
        _ => Ok(()),
    }
}

/// One too many tells that there is more. What is left makes git end by itself.
async fn read(from: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(MOST_BYTES + 1).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
