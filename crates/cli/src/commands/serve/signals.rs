//! What others may ask of the daemon by a signal.

use std::io::{self, IsTerminal};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};

/// What a signal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// By the name of the signal.
    End(&'static str),
    Reload,
}

pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// The end of the terminal that a daemon is watched on is its end, too; without one, SIGHUP means what it does to daemons.
    on_terminal: bool,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(Exit::Failed, format!("cannot listen for signals: {error}"))
            })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
            on_terminal: io::stderr().is_terminal(),
        })
    }

    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Request {
        tokio::select! {
            _ = self.terminate.recv() => Request::End("SIGTERM"),
            _ = self.interrupt.recv() => Request::End("SIGINT"),
            _ = self.hangup.recv() => {
                if self.on_terminal { Request::End("SIGHUP") } else { Request::Reload }
            }
        }
    }
}
