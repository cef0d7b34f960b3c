//! What a turn came to.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::{InputId, TurnId};
use crate::plan::Plan;
use crate::usage::Usage;

/// The outcome of one turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnResult {
    pub turn: TurnId,
    /// The inputs it answered, in the order they were taken. None if Codex started it by itself.
    pub inputs: Vec<InputId>,
    /// Those of them that a completed turn took in when the model had finished: it was not asked again, and sees them
    /// with the next turn. Steers in the last moment end so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<InputId>,
    pub end: TurnEnd,
    /// The message marked as the answer, or else the last unmarked one.
    pub final_answer: Option<String>,
    /// Commands, file changes and tool calls.
    pub tool_iterations: u32,
    pub usage: Usage,
    pub plan: Option<Plan>,
    /// The whole change of the turn as a unified diff.
    pub diff: Option<String>,
    /// Files were changed while nobody listened to Codex, so the diff may lack them. Its items have them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen_changes: bool,
    /// The history was summed up during this turn.
    pub compacted: bool,
    /// Attempts that failed and that Codex repeated.
    pub retries: u32,
    /// A host agent should begin its next turn in a fresh session: the app-server is gone or does not obey, the login was
    /// refused, or the turn used up its time.
    pub retire: bool,
    pub elapsed_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum TurnEnd {
    Completed,
    Interrupted { by: Interrupter },
    Failed { failure: Failure },
}

/// Who ended a turn before its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum Interrupter {
    /// Someone who asked us to.
    Caller { name: String },
    /// Someone who answered an ask with `cancel`.
    Decision { by: String },
    /// Our own rule for turns that stand still.
    Stall,
    /// Another client, or Codex itself.
    Codex,
}

impl Interrupter {
    pub fn describe(&self) -> String {
        match self {
            Self::Caller { name } => name.clone(),
            Self::Decision { by } => format!("the answer of {by}"),
            Self::Stall => "ostler, because it stood still".to_owned(),
            Self::Codex => "Codex or another client".to_owned(),
        }
    }
}

impl TurnEnd {
    /// Interrupted, and by nobody of ours.
    pub fn is_by_codex(&self) -> bool {
        matches!(self, Self::Interrupted { by: Interrupter::Codex })
    }
}

impl TurnResult {
    pub fn failure(&self) -> Option<&Failure> {
        match &self.end {
            TurnEnd::Failed { failure } => Some(failure),
            TurnEnd::Completed | TurnEnd::Interrupted { .. } => None,
        }
    }
}
