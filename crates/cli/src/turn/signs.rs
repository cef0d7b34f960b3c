//! What a person wants of a running turn, beside answering it.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};

/// A signal, as what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    CtrlC,
    /// A polite kill.
    Terminate,
    /// The terminal is gone.
    Hangup,
    /// Ctrl-\.
    Quit,
}

/// Where signs come from.
pub(crate) enum Signs {
    Person(Box<Listening>),
    /// Whoever watches is ended from outside.
    None,
}

pub(crate) struct Listening {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    quit: Signal,
}

impl Signs {
    /// Only inside a runtime. From now on none of these signals ends the process.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(Exit::Failed, format!("cannot listen for signals: {error}"))
            })
        };
        Ok(Self::Person(Box::new(Listening {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            quit: listen(SignalKind::quit())?,
        })))
    }

    pub(crate) async fn next(&mut self) -> Sign {
        match self {
            Self::Person(listening) => tokio::select! {
                _ = listening.interrupt.recv() => Sign::CtrlC,
                _ = listening.terminate.recv() => Sign::Terminate,
                _ = listening.hangup.recv() => Sign::Hangup,
                _ = listening.quit.recv() => Sign::Quit,
            },
            Self::None => std::future::pending().await,
        }
    }
}

impl Sign {
    /// Whether the person goes and the turn shall go on.
    pub(super) fn is_farewell(self) -> bool {
        matches!(self, Self::Hangup | Self::Quit)
    }

    pub(super) fn by(self) -> &'static str {
        match self {
            Self::CtrlC => "you (Ctrl-C)",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "the end of the terminal",
            Self::Quit => "you (Ctrl-\\)",
        }
    }

    pub(super) fn notice(self) -> &'static str {
        match self {
            Self::CtrlC => "interrupting the turn; Ctrl-C again leaves it as it is and goes",
            _ => "interrupting the turn",
        }
    }
}
