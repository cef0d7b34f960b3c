//! How a command's work is run, and how a person ends it.

use std::path::PathBuf;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Runs the work until it is done, or drops it when the person ends the command.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    runtime()?.block_on(async { Interruption::listen()?.or(work).await })
}

/// Ctrl-C, a polite kill, or the end of the terminal.
///
/// From the moment it listens none of them ends the process any more, so whoever makes one has it for the whole command
/// and does all waiting below [`Interruption::or`]. A signal that comes between two of these is not lost.
pub(crate) struct Interruption {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Interruption {
    /// Only inside a runtime.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(Exit::Failed, format!("cannot listen for signals: {error}"))
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Does the work, or drops it when the person ends the command.
    pub(crate) async fn or<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            result = work => return result,
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
        Err(Failure::new(Exit::CtrlC, "interrupted"))
    }
}

/// One thread is enough for a command: the work is done by Codex.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot start the runtime: {error}")))
}

/// The daemon serves many at once, and one that computes must not hold up the others; more threads than this it never fills.
pub(crate) fn daemon_runtime() -> Result<Runtime, Failure> {
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4));
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("ostler-daemon")
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot start the runtime: {error}")))
}

/// Our own binary, which every keeper is started from.
pub(crate) fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot find our own program: {error}"))
    })
}
