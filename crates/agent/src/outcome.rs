//! What a turn comes to: one contract for both runtimes.

use ostler_model::usage::Usage;
use ostler_model::{Failure, Message, ThreadId, TurnId};
use serde::{Deserialize, Serialize};

/// Exactly one of `completed` and `partial` is true. Nothing is reported as completed that was cut, failed or interrupted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnOutcome {
    /// What the user reads. After a failure it says what happened and what to do.
    pub final_response: String,
    /// Those of this turn, beginning with the user's own, in their order.
    pub messages: Vec<Message>,
    /// Calls of the model.
    pub api_calls: u32,
    pub completed: bool,
    pub partial: bool,
    pub failed: bool,
    /// The class by its name, and when to try again, where that is known.
    pub failure: Option<Failure>,
    pub interrupted: bool,
    /// For people; none if all went well.
    pub error: Option<String>,
    pub usage: Usage,
    pub last_reasoning: Option<String>,
    /// Only on Codex.
    pub thread: Option<ThreadId>,
    pub turn: Option<TurnId>,
    pub tool_iterations: u32,
    /// What the user said during the turn and no model has seen: the next turn begins with it.
    pub pending_steer: Vec<String>,
    /// All messages are in the conversation; nobody needs to write them again.
    pub persisted: bool,
}

impl TurnOutcome {
    /// The name of the failure's class, as exit codes and programs know it.
    pub fn failure_reason(&self) -> Option<&'static str> {
        self.failure.as_ref().map(|failure| failure.class.name())
    }
}

impl TurnOutcome {
    /// A turn that came to nothing. What the user reads says why, and what to do.
    pub(crate) fn failed(failure: Failure, advice: &str) -> Self {
        let error = failure.message.clone();
        Self {
            final_response: format!("{error}\n\nWhat to do: {advice}."),
            partial: true,
            failed: true,
            failure: Some(failure),
            error: Some(error),
            ..Self::default()
        }
    }

    pub(crate) fn failed_on_codex(failure: Failure) -> Self {
        let advice =
            format!("{}; `/codex-runtime auto` goes on without Codex", failure.class.advice());
        Self::failed(failure, &advice)
    }
}
