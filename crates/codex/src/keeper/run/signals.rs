//! The signals a keeper listens to.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::phase::Request;

pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    child: Signal,
    /// Listened to and never looked at: losing a terminal or a reader is no reason to end.
    _ignored: [Signal; 2],
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            child: signal(SignalKind::child())?,
            _ignored: [signal(SignalKind::hangup())?, signal(SignalKind::pipe())?],
        })
    }

    /// The next request that came as a signal. Cancel-safe: a signal that was not given out stays pending.
    pub(super) async fn next(&mut self) -> Request {
        tokio::select! {
            biased;
            _ = self.child.recv() => Request::Reap,
            _ = self.terminate.recv() => Request::Terminate,
            _ = self.interrupt.recv() => Request::EndNow,
        }
    }
}
