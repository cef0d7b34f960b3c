//! Why a turn failed, in classes that a caller can act on.

use serde::{Deserialize, Serialize};

/// A failure of a turn, or of an attempt that Codex repeats by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    /// What was said about it, in Codex's or the model's words.
    pub message: String,
    /// More of the same, where Codex gives it.
    pub details: Option<String>,
    pub http_status: Option<u16>,
    /// The last lines of the app-server's stderr, redacted. Never a reason for the class.
    pub evidence: Option<String>,
}

/// The classes. What to do about each is [`FailureClass::advice`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "snake_case")]
pub enum FailureClass {
    /// Nobody is logged in, or the login is no longer taken.
    Auth,
    /// The plan's allowance is used up.
    UsageLimit {
        /// Unix seconds.
        resets_at: Option<i64>,
    },
    /// Too many requests in a short time.
    RateLimit {
        retry_after_ms: Option<u64>,
    },
    /// The model's servers are full.
    Overload,
    /// The conversation no longer fits.
    ContextWindow,
    ModelNotFound,
    /// The sandbox could not be set up.
    Sandbox,
    /// The model's server could not be reached, or the connection broke and retries did not help.
    Network,
    /// The model's server failed by itself.
    ServerError,
    /// The request was refused as it is; sending it again changes nothing.
    BadRequest,
    /// A policy of the model's provider forbids it.
    Policy,
    /// The app-server died, or our connection to it did and could not be made again.
    ServerGone,
    /// The turn used up the time it was given, or stood still for too long.
    TimedOut,
    /// The thread is at work and the input was not to wait.
    Busy,
    /// Codex said that it failed, and not why; or in a word we do not know.
    Unknown {
        word: Option<String>,
    },
}

impl Failure {
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { class, message, details: None, http_status: None, evidence: None }
    }
}

impl FailureClass {
    /// A short name, the same in text, JSON and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::UsageLimit { .. } => "usage_limit",
            Self::RateLimit { .. } => "rate_limit",
            Self::Overload => "overload",
            Self::ContextWindow => "context_window",
            Self::ModelNotFound => "model_not_found",
            Self::Sandbox => "sandbox",
            Self::Network => "network",
            Self::ServerError => "server_error",
            Self::BadRequest => "bad_request",
            Self::Policy => "policy",
            Self::ServerGone => "server_gone",
            Self::TimedOut => "timed_out",
            Self::Busy => "busy",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// What the person can do.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Auth => "log in again with `codex login`, then send the prompt again",
            Self::UsageLimit { .. } => "wait for the reset, or use another account",
            Self::RateLimit { .. } => "wait a little and send the prompt again",
            Self::Overload => "the model is busy; try again in a few minutes",
            Self::ContextWindow => "compact the thread or start a new one",
            Self::ModelNotFound => "choose another model; `model` in the settings names it",
            Self::Sandbox => "run `ostler doctor` to see what the sandbox is missing",
            Self::Network => {
                "look at the connection to the model's server, then send the prompt again"
            }
            Self::ServerError => "the model's server failed; try again in a few minutes",
            Self::BadRequest => {
                "change the prompt or the settings; the same request will fail again"
            }
            Self::Policy => "the provider's policy forbids it; change the prompt",
            Self::ServerGone => "send the prompt again: the thread goes on in a fresh app-server",
            Self::Busy => "wait for the turn to end, or choose to steer, queue or interrupt",
            Self::TimedOut => "give the turn more time, or look at what it was waiting for",
            Self::Unknown { .. } => "look at the message; `ostler doctor` checks the set-up",
        }
    }

    /// Whether the same turn may well work later without anybody changing anything.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::UsageLimit { .. }
                | Self::RateLimit { .. }
                | Self::Overload
                | Self::Network
                | Self::ServerError
                | Self::ServerGone
        )
    }
}
