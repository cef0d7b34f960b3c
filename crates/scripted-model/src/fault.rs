//! Everything that can go wrong on purpose.

use serde::Deserialize;

/// How one answer fails. `after` counts deltas of reasoning and text; past the last one it means
/// "just before the terminal event".
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// An HTTP error instead of a stream.
    Status {
        status: u16,
        #[serde(default)]
        code: Option<String>,
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        retry_after_s: Option<u64>,
        /// Replaces the whole body, for errors that are not JSON.
        #[serde(default)]
        body: Option<String>,
    },
    /// HTTP 429 with the body that tells Codex the plan's limit is used up.
    UsageLimit {
        #[serde(default)]
        plan_type: Option<String>,
        #[serde(default)]
        resets_in_s: Option<u64>,
    },
    /// The listening socket is closed, so that connections are refused: for a time, or until
    /// `accept_connections` is called. The request's own connection is reset.
    Refuse {
        #[serde(default)]
        for_ms: Option<u64>,
    },
    /// The connection ends before any header.
    DropBeforeHeaders {
        #[serde(default)]
        how: Cut,
    },
    /// The connection ends mid-stream.
    Drop {
        #[serde(default)]
        after: u64,
        #[serde(default)]
        how: Cut,
    },
    /// Nothing comes, not even headers: for a time, or until the client leaves.
    HangBeforeHeaders {
        #[serde(default)]
        for_ms: Option<u64>,
    },
    /// The stream stops: for a time, or until the client leaves.
    Hang {
        #[serde(default)]
        after: u64,
        #[serde(default)]
        for_ms: Option<u64>,
    },
    /// Something else comes before `response.created`.
    FirstFrame { frame: FirstFrame },
    /// An `error` event, then the end of the stream.
    ErrorEvent {
        #[serde(default)]
        after: u64,
        code: String,
        message: String,
    },
    /// `response.failed`, then the end of the stream.
    Failed {
        #[serde(default)]
        after: u64,
        code: String,
        message: String,
    },
    /// `response.incomplete` in place of `response.completed`.
    Incomplete { reason: String },
    /// `response.completed` with nothing in its `output`.
    EmptyOutput,
    /// The stream ends properly, but without its terminal event.
    MissingTerminal,
    /// The stream is not what the format says; see [`Malformed`].
    Malformed {
        how: Malformed,
        #[serde(default)]
        after: u64,
    },
}

/// How a connection is cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// An orderly end of the connection in the middle of the chunked body.
    #[default]
    Close,
    /// A TCP reset.
    Reset,
}

/// What comes in place of `response.created` as the first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum FirstFrame {
    /// Then the stream goes on as usual.
    #[serde(rename = "codex.rate_limits")]
    RateLimits,
    /// Then the stream goes on, and `response.created` never comes.
    #[serde(rename = "response.in_progress")]
    InProgress,
    /// Then the stream ends.
    #[serde(rename = "error")]
    Error,
}

/// How a stream breaks the format of server-sent events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Malformed {
    /// One extra event whose data is half a JSON object.
    BrokenJson,
    /// One event is not closed by a blank line and runs into the next.
    NoBlankLine,
    /// One block of control characters that is no field at all.
    Garbage,
    /// One extra event whose data is not UTF-8.
    InvalidUtf8,
    /// Every line ends with CR LF, which the format allows.
    Crlf,
    /// Every character of several bytes is cut in two by a chunk boundary, which HTTP allows.
    SplitUtf8,
}

impl Fault {
    /// The name that a script uses, for records and messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::UsageLimit { .. } => "usage_limit",
            Self::Refuse { .. } => "refuse",
            Self::DropBeforeHeaders { .. } => "drop_before_headers",
            Self::Drop { .. } => "drop",
            Self::HangBeforeHeaders { .. } => "hang_before_headers",
            Self::Hang { .. } => "hang",
            Self::FirstFrame { .. } => "first_frame",
            Self::ErrorEvent { .. } => "error_event",
            Self::Failed { .. } => "failed",
            Self::Incomplete { .. } => "incomplete",
            Self::EmptyOutput => "empty_output",
            Self::MissingTerminal => "missing_terminal",
            Self::Malformed { .. } => "malformed",
        }
    }
}
