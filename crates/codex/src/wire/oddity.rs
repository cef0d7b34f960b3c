//! What we did not understand: kept, counted and passed on, never fatal.

use std::fmt;

use bytes::Bytes;

/// How much of an unreadable message is kept, after the systems we replace: enough to recognise it in a log.
pub(crate) const HEAD_BYTES: usize = 200;

/// A message that could not be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    pub kind: OddityKind,
    /// Size of the whole message.
    pub bytes: u64,
    /// How it began, at most 200 bytes.
    pub head: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OddityKind {
    NotUtf8,
    NotJson(String),
    NotAnObject,
    /// JSON, an object, but not a JSON-RPC message: no method and no answer, or a field of the wrong type.
    NotRpc(String),
    TooLong,
    /// A reply to a request that we never sent.
    UnknownReply,
    /// A reply to a request that was answered already or that nobody waits for any more.
    LateReply,
    /// A server request whose id is still open. It is delivered all the same: Codex repeats a pending request on resume.
    RepeatedRequest,
}

impl Oddity {
    pub(crate) fn of(kind: OddityKind, message: &Bytes) -> Self {
        Self { kind, bytes: message.len() as u64, head: head(message) }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({} bytes): ", self.kind, self.bytes)?;
        write!(formatter, "{}", String::from_utf8_lossy(&self.head).escape_debug())
    }
}

impl fmt::Display for OddityKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => formatter.write_str("not UTF-8"),
            Self::NotJson(reason) => write!(formatter, "not JSON: {reason}"),
            Self::NotAnObject => formatter.write_str("JSON, but not an object"),
            Self::NotRpc(reason) => write!(formatter, "not a JSON-RPC message: {reason}"),
            Self::TooLong => formatter.write_str("over the size limit"),
            Self::UnknownReply => formatter.write_str("reply to a request never sent"),
            Self::LateReply => formatter.write_str("reply that nobody waits for"),
            Self::RepeatedRequest => formatter.write_str("request id still open"),
        }
    }
}

/// The first bytes, copied so that a short head does not keep a long message in memory.
pub(crate) fn head(message: &[u8]) -> Bytes {
    Bytes::copy_from_slice(message.get(..HEAD_BYTES).unwrap_or(message))
}
