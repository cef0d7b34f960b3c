//! How a command's work is run, and how a person ends it.

use std::path::PathBuf;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Runs the work until it is done, or drops it when the person ends the command.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    runtime()?.block_on(or_interrupted(work))
}

/// The same inside a runtime, for commands that have something to clean up afterwards.
pub(crate) async fn or_interrupted<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        result = work => result,
        failure = interrupted() => Err(failure),
    }
}

/// One thread is enough for a command: the work is done by Codex.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot start the runtime: {error}")))
}

/// Waits for Ctrl-C, a polite kill, or the end of the terminal.
async fn interrupted() -> Failure {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let listening: Result<Vec<_>, _> = kinds.into_iter().map(signal).collect();
    let Ok(mut listening) = listening else {
        return Failure::new(Exit::Failed, "cannot listen for signals");
    };
    let [first, second, third] = listening.as_mut_slice() else {
        return Failure::new(Exit::Failed, "cannot listen for signals");
    };
    tokio::select! {
        _ = first.recv() => {}
        _ = second.recv() => {}
        _ = third.recv() => {}
    }
    Failure::new(Exit::CtrlC, "interrupted")
}

/// Our own binary, which every keeper is started from.
pub(crate) fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot find our own program: {error}"))
    })
}
