//! What a keeper does on which request: a table without clock or processes.

use tokio::time::Instant;

use super::super::record::{HowEnded, State};
use super::{END_NOW_GRACE, REPEAT_TERMINATE};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Serving,
    Draining,
    Ending {
        wake_at: Instant,
        kill_at: Instant,
    },
    /// SIGKILL is sent; the kernel does the rest.
    Killed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// SIGTERM: drain. Two who ask for it do not want more than one who does, so a second one changes nothing.
    Terminate,
    /// SIGINT.
    EndNow,
    /// The time that [`Phase::wake_at`] gave has come.
    Wake,
    /// A child has ended.
    Reap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    TerminateCodex,
    KillCodex,
}

impl Phase {
    pub(super) fn step(self, request: Request, now: Instant) -> (Self, Option<Effect>) {
        let kill_at = now + END_NOW_GRACE;
        let ending = |kill_at: Instant| Self::Ending {
            wake_at: kill_at.min(now + REPEAT_TERMINATE),
            kill_at,
        };
        match (self, request) {
            (Self::Serving, Request::Terminate) => (Self::Draining, Some(Effect::TerminateCodex)),
            (Self::Serving | Self::Draining, Request::EndNow) => {
                (ending(kill_at), Some(Effect::TerminateCodex))
            }
            (Self::Ending { kill_at, .. }, Request::Wake) if now >= kill_at => {
                (Self::Killed, Some(Effect::KillCodex))
            }
            (Self::Ending { kill_at, .. }, Request::Wake) => {
                (ending(kill_at), Some(Effect::TerminateCodex))
            }
            _ => (self, None),
        }
    }

    pub(super) fn wake_at(self) -> Option<Instant> {
        match self {
            Self::Ending { wake_at, .. } => Some(wake_at),
            _ => None,
        }
    }

    pub(super) fn state(self) -> State {
        match self {
            Self::Serving => State::Running,
            _ => State::Draining,
        }
    }

    pub(super) fn how_ended(self) -> HowEnded {
        match self {
            Self::Serving => HowEnded::ByItself,
            Self::Draining => HowEnded::Drained,
            Self::Ending { .. } | Self::Killed => HowEnded::Stopped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigterm_drains_however_often_and_sigint_ends_and_time_kills() {
        let start = Instant::now();
        let ending = |wake_at, kill_at| Phase::Ending { wake_at, kill_at };
        let (terminate, kill) = (Some(Effect::TerminateCodex), Some(Effect::KillCodex));
        let repeat = start + REPEAT_TERMINATE;
        let limit = start + END_NOW_GRACE;
        let almost = limit - REPEAT_TERMINATE / 2;
        let table = [
            (Phase::Serving, Request::Terminate, start, Phase::Draining, terminate),
            (Phase::Serving, Request::EndNow, start, ending(repeat, limit), terminate),
            (Phase::Draining, Request::Terminate, start, Phase::Draining, None),
            (Phase::Draining, Request::EndNow, start, ending(repeat, limit), terminate),
            (ending(repeat, limit), Request::Terminate, repeat, ending(repeat, limit), None),
            (ending(repeat, limit), Request::Wake, almost, ending(limit, limit), terminate),
            (ending(limit, limit), Request::Wake, limit, Phase::Killed, kill),
            (Phase::Killed, Request::EndNow, limit, Phase::Killed, None),
            (Phase::Serving, Request::Reap, start, Phase::Serving, None),
        ];
        for (phase, request, now, next, effect) in table {
            assert_eq!(phase.step(request, now), (next, effect), "{phase:?} {request:?}");
        }
    }
}
