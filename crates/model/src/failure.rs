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
    /// The Codex home that it happened on, where what to do depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_home: Option<Box<str>>,
}

/// The classes. What to do about each is [`FailureClass::advice`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "snake_case")]
pub enum FailureClass {
    /// Nobody is logged in, the login is no longer taken, or the API key is missing.
    Auth,
    /// The plan's allowance, or the budget of the session, is used up.
    UsageLimit {
        /// Unix seconds. None if nobody said when, or if waiting does not help: the plan does not include it, the
        /// credits are gone.
        resets_at: Option<i64>,
    },
    /// Too many requests in a short time.
    RateLimit {
        /// How long the server asked to wait, if it said so.
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
    /// Somebody's rules forbid it: those of the model's provider for what is asked or for who asks from where (HTTP
    /// 403), or those of Codex's automatic reviewer.
    Policy,
    /// The app-server died, or our connection to it did and could not be made again; or this machine could not start one
    /// for the moment.
    ServerGone,
    /// There is no Codex that can be used: none is installed, the one there is does not start, or it is too old for what it
    /// would be used on.
    NoCodex,
    /// The turn used up the time it was given, or stood still for too long.
    TimedOut,
    /// The thread is at work and the input was not to wait.
    Busy,
    /// What the task needs is not there any more: its working folder, or Codex's file of its thread.
    Missing,
    /// Codex said that it failed, and not why; or in a word we do not know.
    Unknown {
        word: Option<String>,
    },
}

impl Failure {
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { class, message, details: None, http_status: None, evidence: None, codex_home: None }
    }
}

impl Failure {
    /// What the person can do, with the names of this failure in it.
    pub fn advice(&self) -> String {
        match (&self.class, &self.codex_home) {
            (FailureClass::Auth, Some(home)) => {
                let home = quoted(home);
                format!(
                    "log in again with `CODEX_HOME={home} codex login`, or with an API key: `printenv OPENAI_API_KEY | \
                     CODEX_HOME={home} codex login --with-api-key`; a provider with an `env_key` needs that variable"
                )
            }
            (class, _) => class.advice().to_owned(),
        }
    }
}

/// As one word of a shell.
fn quoted(path: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-+".contains(it);
    match path.chars().all(is_plain) && !path.is_empty() {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
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
            Self::NoCodex => "no_codex",
            Self::TimedOut => "timed_out",
            Self::Busy => "busy",
            Self::Missing => "missing",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// What the person can do.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Auth => {
                "log in again with `codex login`, or with an API key: `printenv OPENAI_API_KEY | codex login --with-api-key`; \
                 a provider with an `env_key` needs that variable"
            }
            Self::UsageLimit { resets_at: Some(_) } => "wait for the reset, or use another account",
            Self::UsageLimit { resets_at: None } => {
                "look at the message and at the account's plan; add credits or use another account"
            }
            Self::RateLimit { .. } => "wait a little and send the prompt again",
            Self::Overload => {
                "the model is busy; try again in a few minutes, or choose another model"
            }
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
            Self::Policy => {
                "it is not allowed; the message says what. Change the prompt, or use an account and a network that may"
            }
            Self::ServerGone => "send the prompt again: the thread goes on in a fresh app-server",
            Self::NoCodex => {
                "`ostler doctor` shows which Codex is used; `ostler codex install` installs one"
            }
            Self::Busy => "wait for the turn to end, or choose to steer, queue or interrupt",
            Self::Missing => {
                "bring back what is missing and let the task go on, or go on in a new task: `ostler fork TASK --from-log`"
            }
            Self::TimedOut => "give the turn more time, or look at what it was waiting for",
            Self::Unknown { .. } => "look at the message; `ostler doctor` checks the set-up",
        }
    }

    /// Whether the same turn may well work later without anybody changing anything.
    ///
    /// A usage limit passes only if its reset is known: without one it may as well be a plan that does not include
    /// the work, or an empty account, and nobody can say how long to wait.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::UsageLimit { resets_at } => resets_at.is_some(),
            Self::RateLimit { .. }
            | Self::Overload
            | Self::Network
            | Self::ServerError
            | Self::ServerGone
            | Self::Busy => true,
            Self::Auth
            | Self::NoCodex
            | Self::ContextWindow
            | Self::ModelNotFound
            | Self::Sandbox
            | Self::BadRequest
            | Self::Policy
            | Self::TimedOut
            | Self::Missing
            | Self::Unknown { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, FailureClass};

    const ALL: [FailureClass; 19] = [
        FailureClass::Auth,
        FailureClass::UsageLimit { resets_at: None },
        FailureClass::UsageLimit { resets_at: Some(1) },
        FailureClass::RateLimit { retry_after_ms: None },
        FailureClass::Overload,
        FailureClass::ContextWindow,
        FailureClass::ModelNotFound,
        FailureClass::Sandbox,
        FailureClass::Network,
        FailureClass::ServerError,
        FailureClass::BadRequest,
        FailureClass::Policy,
        FailureClass::ServerGone,
        FailureClass::NoCodex,
        FailureClass::TimedOut,
        FailureClass::Busy,
        FailureClass::Missing,
        FailureClass::Unknown { word: None },
        FailureClass::Unknown { word: Some(String::new()) },
    ];

    #[test]
    fn only_a_reset_that_is_known_is_waited_for() {
        let passing: Vec<_> = ALL.into_iter().filter(FailureClass::is_passing).collect();
        let expected = [
            FailureClass::UsageLimit { resets_at: Some(1) },
            FailureClass::RateLimit { retry_after_ms: None },
            FailureClass::Overload,
            FailureClass::Network,
            FailureClass::ServerError,
            FailureClass::ServerGone,
            FailureClass::Busy,
        ];
        assert_eq!(passing, expected);
    }

    #[test]
    fn the_advice_says_how_to_log_in_again_in_words_that_can_be_pasted() {
        let mut failure = Failure::new(FailureClass::Auth, "401");
        assert!(!failure.advice().contains(['<', '>']), "{}", failure.advice());
        failure.codex_home = Some("/home/a/.codex".into());
        for part in [
            "`CODEX_HOME=/home/a/.codex codex login`",
            "| CODEX_HOME=/home/a/.codex codex login --with-api-key`",
        ] {
            assert!(failure.advice().contains(part), "{}", failure.advice());
        }
        failure.codex_home = Some("/home/it's mine".into());
        let quoted = r"`CODEX_HOME='/home/it'\''s mine' codex login`";
        assert!(failure.advice().contains(quoted), "{}", failure.advice());
    }
}
