//! What a transport delivers and takes, whatever its framing.

use std::io;

use bytes::Bytes;
use thiserror::Error;

/// The longest message we keep: 64 MiB. Codex allows itself 128 MiB, its longest line seen is 30 MB (a pasted input);
/// what is longer is skipped and reported as [`Frame::TooLong`].
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// One thing read from a transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The bytes of one message, not yet known to be JSON.
    Message(Bytes),
    /// A message over the limit was skipped: its size, and how it began.
    TooLong { bytes: u64, head: Bytes },
    /// A WebSocket ping that wants a pong with the same payload.
    Ping(Bytes),
    /// The other side said goodbye; end of stream follows.
    Goodbye(String),
}

/// One thing to write to a transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outgoing {
    Message(Bytes),
    Pong(Bytes),
    Goodbye,
}

/// Why a byte stream cannot be read any further.
#[derive(Debug, Error)]
pub enum FrameError {
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
    #[error("the byte stream is not WebSocket any more: {0}")]
    NotWebSocket(String),
}
