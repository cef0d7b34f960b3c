//! What the front end needs of the agent, and nothing else. The agent stands behind it; tests put their own there.

use std::path::PathBuf;
use std::pin::Pin;

use ostler_agent::runtime::{Asked, Runtime, Switch, Turn};
use ostler_agent::{Controls, Hear, TurnOutcome};
use ostler_model::AskId;
use ostler_model::usage::Tokens;
use ostler_server::api::AnswerRequest;
use serde::Serialize;

use crate::failure::Failure;

pub(crate) type Work<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    New,
    /// An id, or its beginning.
    Resume(String),
    Last,
}

/// What the person says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UserInput {
    pub(crate) text: String,
    /// Absolute.
    pub(crate) images: Vec<PathBuf>,
}

/// A conversation as it is listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ConversationShown {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    pub(crate) cwd: String,
    /// Unix milliseconds.
    pub(crate) updated_at: i64,
    pub(crate) messages: u64,
}

/// What a conversation has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConversationUsage {
    pub(crate) tokens: Tokens,
    /// Its input is how full the context is.
    pub(crate) last_call: Tokens,
    pub(crate) context_window: Option<u64>,
    pub(crate) calls: u64,
    pub(crate) turns: u64,
}

/// Who answers: shown in the banner and in the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manner {
    /// The one that turns really have.
    pub(crate) runtime: Runtime,
    /// None if the runtime has its own choice.
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
}

/// One open conversation. Everything but a turn happens between turns.
pub(crate) trait Session: Send {
    fn conversation(&self) -> ConversationShown;

    fn manner(&self) -> Manner;

    /// Follows a turn that was under way when the program died to its end. None if there is none.
    fn take_up<'a>(
        &'a mut self,
        controls: &'a Controls,
        hear: Hear<'a>,
    ) -> Work<'a, Option<TurnOutcome>>;

    fn turn<'a>(
        &'a mut self,
        input: UserInput,
        controls: &'a Controls,
        hear: Hear<'a>,
    ) -> Work<'a, TurnOutcome>;

    /// What it came to, in a line for people.
    fn compress<'a>(
        &'a mut self,
        controls: &'a Controls,
        hear: Hear<'a>,
    ) -> Work<'a, Result<String, String>>;

    /// The names of models that can be chosen. The error is for people.
    fn models(&self) -> Work<'static, Result<Vec<String>, String>>;

    fn set_model(&mut self, model: String);

    fn set_effort(&mut self, effort: Option<String>);

    /// From the next turn on, as far as it has an effect for the provider.
    fn set_runtime(&mut self, runtime: Runtime) -> Work<'_, Result<(), String>>;

    fn usage(&self) -> ConversationUsage;

    fn memory_shown(&self) -> String;

    fn skills_shown(&self) -> String;

    /// No review changes it from now on, and nobody deletes it. The error is for people.
    fn pin_skill(&mut self, name: &str) -> Result<(), String>;

    fn unpin_skill(&mut self, name: &str) -> Result<(), String>;

    /// Lets go of the conversation at once; then what is learnt in the background may come to its end, up to a bound.
    fn close(self: Box<Self>) -> Work<'static, ()>;
}

/// Where sessions come from, and who is told what a person has decided.
pub(crate) trait House: Send + Sync {
    fn open<'a>(
        &'a self,
        which: Which,
        opening: &'a Opening,
    ) -> Work<'a, Result<Box<dyn Session>, Failure>>;

    /// The newest first.
    fn list(&self) -> Work<'_, Result<Vec<ConversationShown>, Failure>>;

    /// Does what `/codex-runtime` asks, on the settings.
    fn switch(&self, asked: Asked, turn: Turn) -> Work<'_, Switch>;

    /// To the daemon. The error is for people.
    fn answer<'a>(
        &'a self,
        ask: &'a AskId,
        answer: &'a AnswerRequest,
    ) -> Work<'a, Result<(), String>>;
}

/// What the command line says about a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Opening {
    /// For a new conversation; one that is taken up has its own, unless another is named.
    pub(crate) cwd: PathBuf,
    pub(crate) is_cwd_named: bool,
    /// Else the settings hold.
    pub(crate) runtime: Option<Runtime>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
}
