//! What can go wrong in a conversation, as values.

use std::time::Duration;

use thiserror::Error;

use crate::wire::ErrorBody;

/// JSON-RPC code by which Codex says that its queue is full. The request was not looked at.
const OVERLOADED: i64 = -32001;

#[derive(Debug, Error)]
pub enum RequestError {
    /// Codex answered with an error.
    #[error("{0}")]
    Rpc(RpcError),
    #[error(
        "{method} was not answered within {} s{}", timeout.as_secs_f32(),
        if *events_unread { "; the queue of events is full, read it while you wait" } else { "" }
    )]
    TimedOut {
        method: String,
        timeout: Duration,
        /// False: it never left us and may be sent again without looking.
        may_have_arrived: bool,
        /// The answer may be stuck behind events that nobody reads.
        events_unread: bool,
    },
    #[error("the connection to the app-server ended: {reason}")]
    Closed { reason: Closed, may_have_arrived: bool },
    #[error("the answer to {method} has {bytes} bytes, more than we read; ask for less at a time")]
    AnswerTooLong { method: String, bytes: u64 },
    #[error("{method} cannot be written as JSON: {error}")]
    NotJson { method: String, error: serde_json::Error },
    #[error("the answer to {method} cannot be read: {error}")]
    Unreadable { method: String, error: serde_json::Error },
}

#[derive(Debug, Error)]
pub enum AnswerError {
    #[error("the connection to the app-server ended before this was written: {0}")]
    Closed(Closed),
    #[error("the answer cannot be written as JSON: {0}")]
    NotJson(serde_json::Error),
}

/// An error that Codex sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("codex answered with error {code}: {message}")]
pub struct RpcError {
    pub code: i64,
    /// Cut in its middle: Codex lists every method it knows, several kilobytes, when it does not know ours. What was
    /// wrong with a file it says at the end, after paths of any length.
    pub message: String,
    /// JSON text.
    pub data: Option<String>,
}

impl RpcError {
    /// Long enough for every message that says something, short enough for a log line.
    const HEAD: usize = 400;
    const TAIL: usize = 100;

    pub fn is_overload(&self) -> bool {
        self.code == OVERLOADED
    }
}

impl From<ErrorBody> for RpcError {
    fn from(body: ErrorBody) -> Self {
        let text = &body.message;
        let head = text.char_indices().nth(Self::HEAD).and_then(|(at, _)| text.get(..at));
        let tail = text.char_indices().rev().nth(Self::TAIL - 1);
        let tail = tail.and_then(|(at, _)| text.get(at..));
        let message = match (head, tail) {
            (Some(head), Some(tail)) if head.len() + tail.len() < text.len() => {
                format!("{head}…{tail}")
            }
            _ => body.message,
        };
        Self { code: body.code, message, data: body.data }
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Closed {
    #[error("end of stream")]
    Eof,
    #[error("it said goodbye: {0}")]
    Goodbye(String),
    #[error("{0}")]
    ReadFailed(String),
    #[error("writing failed: {0}")]
    WriteFailed(String),
    #[error("it took no bytes for {} s", .0.as_secs())]
    WriteStalled(Duration),
    #[error("closed by us")]
    ByUs,
}

#[cfg(test)]
mod tests {
    use super::{ErrorBody, RpcError};

    fn message(text: &str) -> String {
        let body = ErrorBody { code: 1, message: text.to_owned(), data: None };
        RpcError::from(body).message
    }

    #[test]
    fn a_long_message_keeps_its_beginning_and_its_end() {
        let long = format!("failed: {} is empty", "ä".repeat(3_000));
        let cut = message(&long);
        assert_eq!(cut.chars().count(), 501);
        assert!(cut.starts_with("failed: ä") && cut.ends_with("ä is empty"), "{cut}");
        let whole = "ä".repeat(500);
        assert_eq!(message(&whole), whole);
    }
}
