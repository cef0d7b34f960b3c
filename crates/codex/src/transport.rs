//! How messages travel: over a child's pipes, or over a unix socket. Never over TCP, where others could listen or speak.

mod pace;
mod reader;
mod stdio;
mod unix;
mod write_half;

pub use stdio::{Stdio, StdioChild, StdioStart};
pub use unix::{ConnectError, UnixSocket};

use std::io;
use std::os::fd::OwnedFd;

use futures_util::{Sink, Stream};

use crate::wire::{Frame, FrameError, Outgoing};

/// Nearly as much as Codex's pipes hold, so that one read takes a whole burst. The C library tidies up all its memory whenever
/// 64 KiB are given back.
const READ_BYTES: usize = 60 * 1024;

/// Two halves of one connection: frames to read, frames to write.
///
/// After an error or an end of the reading half nothing more is read; a frame that could not be understood is an
/// item of it and ends nothing.
pub trait Transport {
    /// A second handle on what is read from, by which a hang-up can be seen while nobody reads. `None` where there is
    /// none: then the end is noticed when reading goes on.
    fn hang_up(&self) -> Option<OwnedFd> {
        None
    }

    fn split(
        self,
    ) -> (
        impl Stream<Item = Result<Frame, FrameError>> + Send + Unpin + 'static,
        impl Sink<Outgoing, Error = io::Error> + Send + Unpin + 'static,
    );
}
