//! How a model is asked. Two clients stand behind one trait: the Responses API, and Chat Completions for providers that have only that.

mod attempt;
mod chat;
mod client;
pub mod credentials;
pub(crate) mod http;
mod models;
pub mod patience;
mod preflight;
pub mod provider;
mod proxy;
mod reading;
mod recovery;
mod report;
mod responses;
mod sse;
mod watch;

use futures_util::future::BoxFuture;
use ostler_model::usage::Tokens;
use ostler_model::{Failure, Message};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

pub use credentials::{KeySource, Secret};
pub(crate) use http::describe as described;
pub use models::{list_models, models_in};
pub use patience::Patience;
pub use provider::{Provider, Wire};
pub use proxy::ThroughProxy;

use crate::tool::ToolDefinition;

/// One question to a model, whatever the API.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    pub model: String,
    /// `minimal`, `low`, `medium`, `high` and what else the provider has. Without one the Responses API is told `medium` and
    /// Chat Completions nothing; `none` tells neither, for models that do not reason.
    pub effort: Option<String>,
    /// The system prompt.
    pub instructions: String,
    pub history: Vec<Entry>,
    pub tools: Vec<ToolDefinition>,
    /// The conversation, for caches and for the provider's log.
    pub session: String,
    /// How full the context was after the last call, for patience.
    pub context_tokens: u64,
}

/// One message of a conversation, with what only an API needs to be told again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub message: Message,
    /// Of a user's message: `data:` or other URLs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// The model was cut off, filtered or interrupted, or had no steps left: this is not its whole answer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_cut: bool,
    /// What the call of the model cost that this is the answer of: a turn that is taken up after a kill counts it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Items that a provider wants back as it gave them, above all encrypted reasoning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// Who gave them: nobody else can read them.
    pub issuer: String,
    /// JSON of each item.
    pub items: Vec<serde_json::Value>,
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub id: String,
    pub tool: String,
    /// JSON text, or what the model took for it.
    pub arguments: String,
}

/// A whole answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub text: String,
    /// Messages that are not the answer.
    pub commentary: Vec<String>,
    pub reasoning: Option<String>,
    /// Whole ones only, also in an answer that was cut.
    pub calls: Vec<Call>,
    pub finish: Finish,
    /// None if the provider did not say.
    pub tokens: Option<Tokens>,
    pub replay: Option<Replay>,
    pub response_id: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Finish {
    /// The model had nothing more to say.
    #[default]
    Stop,
    ToolCalls,
    /// It was cut: by a limit, by a stream without its end. The caller asks for the rest.
    Incomplete {
        reason: String,
    },
    ContentFilter,
}

/// A piece of an answer that is on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Reasoning(String),
    Commentary(String),
    /// All pieces so far are void: the question is asked again, for this reason.
    Again {
        reason: String,
    },
    /// Nothing has come for this long.
    Waiting {
        seconds: u64,
    },
}

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("interrupted")]
    Interrupted {
        /// What had come by then. Its calls are never run.
        partial: Box<Answer>,
    },
    #[error("{}", failure.message)]
    Failed {
        failure: Failure,
        /// The provider's own words.
        code: Option<String>,
        param: Option<String>,
        partial: Option<Box<Answer>>,
    },
    /// The question itself is wrong; nothing was sent.
    #[error("the question cannot be asked: {0}")]
    BadQuestion(String),
}

/// Two users: the Responses API and Chat Completions.
pub trait ModelApi: Send + Sync {
    /// Asks, with all the retries that are safe. Pieces are told as they come.
    fn ask<'a>(
        &'a self,
        question: &'a Question,
        hear: &'a (dyn Fn(Piece) + Send + Sync),
        stop: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, ApiError>>;
}

impl Answer {
    /// Nothing in it is worth keeping.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
            && self.commentary.is_empty()
            && self.reasoning.is_none()
            && self.calls.is_empty()
    }
}
