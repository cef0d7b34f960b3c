//! A child's stdin and stdout, one JSON object per line.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::codec::{FramedRead, FramedWrite};

use super::{READ_BYTES, Transport};
use crate::wire::{Frame, FrameError, LineDecoder, LineEncoder, Outgoing};

/// Any pair of byte streams that carries lines.
#[derive(Debug)]
pub struct Stdio<R, W> {
    reader: R,
    writer: W,
    hang_up: Option<OwnedFd>,
}

impl<R, W> Stdio<R, W> {
    pub fn new(reader: R, writer: W) -> Self {
        Self { reader, writer, hang_up: None }
    }

    /// Names the handle by which a hang-up of the reading side is seen.
    pub fn with_hang_up(self, hang_up: Option<OwnedFd>) -> Self {
        Self { hang_up, ..self }
    }
}

impl<R, W> Transport for Stdio<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    fn hang_up(&self) -> Option<OwnedFd> {
        self.hang_up.as_ref().and_then(|fd| fd.try_clone().ok())
    }

    fn split(
        self,
    ) -> (
        impl Stream<Item = Result<Frame, FrameError>> + Send + Unpin + 'static,
        impl Sink<Outgoing, Error = io::Error> + Send + Unpin + 'static,
    ) {
        (
            FramedRead::with_capacity(self.reader, LineDecoder::default(), READ_BYTES),
            FramedWrite::new(self.writer, LineEncoder),
        )
    }
}

/// How to start an app-server on pipes. It lives and dies with us; a task that must outlive us needs a keeper.
#[derive(Debug, Clone)]
pub struct StdioStart {
    /// The native binary. The npm wrapper would leave it running when the wrapper is killed.
    pub codex: PathBuf,
    pub arguments: Vec<OsString>,
    /// The whole environment of the child, as built by the keeper's rule.
    pub environment: Vec<(OsString, OsString)>,
    pub working_directory: PathBuf,
}

/// The process behind the pipes. Dropping it kills the process.
#[derive(Debug)]
pub struct StdioChild {
    child: Child,
}

impl StdioStart {
    pub fn spawn(self) -> io::Result<(Stdio<ChildStdout, ChildStdin>, StdioChild)> {
        let mut child = Command::new(&self.codex)
            .arg("app-server")
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment)
            .current_dir(self.working_directory)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::other("the child has no pipes");
        let reader = child.stdout.take().ok_or_else(missing)?;
        let writer = child.stdin.take().ok_or_else(missing)?;
        let hang_up = reader.as_fd().try_clone_to_owned().ok();
        Ok((Stdio::new(reader, writer).with_hang_up(hang_up), StdioChild { child }))
    }
}

impl StdioChild {
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for the process to end by itself, as it does when its stdin closes; kills it at the deadline.
    pub async fn wait(&mut self, deadline: Duration) -> io::Result<ExitStatus> {
        match tokio::time::timeout(deadline, self.child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                self.child.kill().await?;
                self.child.wait().await
            }
        }
    }
}
