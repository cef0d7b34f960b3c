//! What an error on the way from a queued task to a working one means: the one table of them.
//!
//! Every error is named, so that a new one has to be judged. What passes by itself is tried again; what a Codex that is
//! installed or mended would change is waited for; only what the caller must change ends anything.

use std::io;

use rustix::io::Errno;

use crate::app_server::{CallError, HandshakeError};
use crate::binary::{NativeError, Probe, Unfit};
use crate::keeper::{Exit, KeeperError};
use crate::peer::{RequestError, RpcError};
use crate::thread::open::OpenError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFault {
    /// The machine is busy, something was killed, a disk is full: the same may work in a moment.
    Passing,
    /// The Codex that is there cannot be used, or there is none.
    NoCodex,
    /// What was asked for cannot be done.
    Lasting,
}

use StartFault::{Lasting, NoCodex, Passing};

/// Errors of the system that say nothing of what was asked: no process, memory, file, room on the disk for the moment, or
/// a program file that is being written.
const PASSING: [Errno; 16] = [
    Errno::INTR,
    Errno::IO,
    Errno::AGAIN,
    Errno::NOMEM,
    Errno::BUSY,
    Errno::NFILE,
    Errno::MFILE,
    Errno::TXTBSY,
    Errno::NOSPC,
    Errno::PIPE,
    Errno::CONNRESET,
    Errno::NOBUFS,
    Errno::TIMEDOUT,
    Errno::CONNREFUSED,
    Errno::DQUOT,
    Errno::STALE,
];

/// Errors of the system that only a person can change.
const LASTING: [Errno; 8] = [
    Errno::PERM,
    Errno::ACCESS,
    Errno::NOTDIR,
    Errno::ISDIR,
    Errno::INVAL,
    Errno::ROFS,
    Errno::NAMETOOLONG,
    Errno::LOOP,
];

/// What Codex says to every request after its first SIGTERM, while turns still run (0.166.0 and 0.169.0). Its code is that of a
/// request that makes no sense.
const DRAINING: &str = "Server is draining";

impl StartFault {
    /// A Codex that was looked at and passed over.
    pub fn of_unfit(unfit: &Unfit) -> Self {
        match unfit {
            Unfit::Probe { probe, .. } => Self::of_probe(probe),
            Unfit::NoNative { reason: NativeError::Unreadable { reason }, .. } => in_text(reason),
            Unfit::NoNative {
                reason:
                    NativeError::NotFound
                    | NativeError::PlatformPackageMissing { .. }
                    | NativeError::Script,
                ..
            } => NoCodex,
            Unfit::Damaged { reason } => in_text(reason),
            Unfit::NotInstalled { .. } | Unfit::Platform(_) => NoCodex,
        }
    }

    /// `codex --version`.
    pub fn of_probe(probe: &Probe) -> Self {
        match probe {
            Probe::TimedOut { .. } => Passing,
            Probe::NotExecutable { reason } => in_text(reason),
            // A child that was killed has no exit code.
            Probe::Failed { status, .. } if status.starts_with("signal") => Passing,
            Probe::Failed { stderr, .. } => in_text(stderr),
            Probe::Fits { .. }
            | Probe::TooOld { .. }
            | Probe::NotFound
            | Probe::Unparsable { .. } => NoCodex,
        }
    }

    /// The start of a keeper and of the Codex below it.
    pub fn of_keeper(error: &KeeperError) -> Self {
        match error {
            KeeperError::SocketPathTooLong { .. } | KeeperError::UnusablePath { .. } => Lasting,
            KeeperError::File { source, .. } | KeeperError::System { source, .. } => {
                of_system(source)
            }
            KeeperError::NotRunnable { reason, .. } => in_text(reason),
            KeeperError::CodexEnded { exit: Exit::Code(_), said, .. } => in_text(said),
            KeeperError::CodexEnded { exit: Exit::Signal(_) | Exit::Unknown, .. }
            | KeeperError::KeeperFailed { .. }
            | KeeperError::NotReady { .. }
            | KeeperError::BrokenRecord { .. }
            | KeeperError::AlreadyKept { .. }
            | KeeperError::NotFound { .. }
            | KeeperError::Ambiguous { .. }
            | KeeperError::StillDraining { .. }
            | KeeperError::LeftOver { .. } => Passing,
        }
    }

    pub fn of_handshake(error: &HandshakeError) -> Self {
        match error {
            HandshakeError::Refused(error) => match Self::of_request(error) {
                Lasting => NoCodex,
                fault => fault,
            },
            HandshakeError::Ended(_) => Passing,
            HandshakeError::Unreadable(_)
            | HandshakeError::NoVersion { .. }
            | HandshakeError::TooOld { .. } => NoCodex,
        }
    }

    /// The opening of a thread.
    pub fn of_open(error: &OpenError) -> Self {
        match error {
            OpenError::NoServer(error) => error.fault,
            OpenError::Connection(error) => Self::of_request(error),
            OpenError::Refused(error) => Self::of_answer(error),
            OpenError::BusyElsewhere { .. }
            | OpenError::Closing { .. }
            | OpenError::AlreadyDriven { .. } => Passing,
            OpenError::NewerHome { .. } => NoCodex,
            OpenError::Unreadable(CallError::Request { source, .. }) => Self::of_request(source),
            OpenError::Unreadable(CallError::Prepare(_) | CallError::Unreadable { .. })
            | OpenError::Invalid(_)
            | OpenError::Wider { .. }
            | OpenError::NotFound { .. }
            | OpenError::Archived { .. }
            | OpenError::Unsupported(_)
            | OpenError::NoThreadId => Lasting,
        }
    }

    pub fn of_request(error: &RequestError) -> Self {
        match error {
            RequestError::TimedOut { .. } | RequestError::Closed { .. } => Passing,
            RequestError::Rpc(error) => Self::of_answer(error),
            RequestError::AnswerTooLong { .. }
            | RequestError::NotJson { .. }
            | RequestError::Unreadable { .. } => Lasting,
        }
    }

    /// Codex answers that its queue is full, that it is about to end, or what the system told it.
    pub fn of_answer(error: &RpcError) -> Self {
        let is_ending = error.message.contains(DRAINING);
        match error.is_overload() || is_ending || in_text(&error.message) == Passing {
            true => Passing,
            false => Lasting,
        }
    }
}

fn of_system(error: &io::Error) -> StartFault {
    match Errno::from_io_error(error) {
        Some(number) if LASTING.contains(&number) => Lasting,
        _ => Passing,
    }
}

/// Where only the words of an error are left: Rust ends those of the system with `(os error 11)`, in Codex and in us.
fn in_text(text: &str) -> StartFault {
    let numbers = text.split("os error ").skip(1);
    let mut numbers = numbers.filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().map(Errno::from_raw_os_error)
    });
    match numbers.any(|number| PASSING.contains(&number)) {
        true => Passing,
        false => NoCodex,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_probe_that_was_killed_passes_and_one_that_says_no_does_not() {
        let failed = |status: &str, stderr: &str| Probe::Failed {
            status: status.to_owned(),
            stderr: stderr.to_owned(),
        };
        let table = [
            (failed("signal: 9 (SIGKILL)", ""), Passing),
            (failed("exit status: 1", "spawn: Out of memory (os error 12)"), Passing),
            (failed("exit status: 1", "no glibc"), NoCodex),
            (Probe::TimedOut { after: Duration::from_secs(10) }, Passing),
            (Probe::NotExecutable { reason: "Text file busy (os error 26)".into() }, Passing),
            (
                Probe::NotExecutable {
                    reason: "Resource temporarily unavailable (os error 11)".into(),
                },
                Passing,
            ),
            (Probe::NotExecutable { reason: "Permission denied (os error 13)".into() }, NoCodex),
            (Probe::NotFound, NoCodex),
        ];
        for (probe, expected) in table {
            assert_eq!(StartFault::of_probe(&probe), expected, "{probe:?}");
        }
    }

    #[test]
    fn a_full_disk_passes_and_a_folder_that_may_not_be_written_does_not() {
        let file = |number| KeeperError::File {
            action: "create",
            path: PathBuf::from("/x"),
            source: io::Error::from_raw_os_error(number),
        };
        for (number, expected) in [(28, Passing), (24, Passing), (11, Passing), (13, Lasting)] {
            assert_eq!(StartFault::of_keeper(&file(number)), expected, "{number}");
        }
    }

    #[test]
    fn codex_that_is_full_or_out_of_files_is_asked_again() {
        let answer = |code, message: &str| RpcError { code, message: message.into(), data: None };
        let table = [
            (answer(-32001, "overloaded"), Passing),
            (answer(-32603, "Too many open files (os error 24)"), Passing),
            (answer(-32600, "Server is draining; retry after reconnecting"), Passing),
            (answer(-32600, "no such model"), Lasting),
        ];
        for (error, expected) in table {
            assert_eq!(StartFault::of_answer(&error), expected, "{error:?}");
        }
    }
}
