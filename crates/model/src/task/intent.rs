//! What we owe: each input, answer and interrupt is written down before it is sent, sent once, and proven.

use serde::{Deserialize, Serialize};

use crate::decision::Decision;
use crate::failure::Failure;
use crate::goal::GoalChange;
use crate::id::{AskId, IntentId, TaskId, TurnId};
use crate::input::Input;
use crate::thread::IfBusy;

/// Something that somebody wants done on a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Also the name under which Codex knows an input.
    pub id: IntentId,
    pub task: TaskId,
    pub wish: Wish,
    /// Who wants it.
    pub by: String,
    /// Unix milliseconds.
    pub at: i64,
    pub state: IntentState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum Wish {
    Send { input: Input, if_busy: IfBusy },
    Interrupt,
    Answer { ask: AskId, decision: Decision, reason: Option<String> },
    Goal { goal: GoalChange },
}

impl Intent {
    /// Who wants what nobody has asked for: to go on with what was cut off.
    pub const OURSELVES: &str = "ostler";
}

impl Wish {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Send { if_busy, .. } if if_busy.is_steer() => "steer",
            Self::Send { .. } => "send",
            Self::Interrupt => "interrupt",
            Self::Answer { .. } => "answer",
            Self::Goal { .. } => "goal",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum IntentState {
    /// Not begun.
    Pending,
    /// It may have reached Codex: from the moment before it was handed over. `after` is the turn that was known last.
    Sent { after: Option<TurnId> },
    /// Proven.
    Done { receipt: Receipt },
    /// Surely not done, and will not be.
    NotDone { why: NotDone },
    /// Nobody can say, and it will not be tried again.
    Unknown { why: String },
}

impl IntentState {
    /// The same word in text, JSON and the database.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent { .. } => "sent",
            Self::Done { .. } => "done",
            Self::NotDone { .. } => "not_done",
            Self::Unknown { .. } => "unknown",
        }
    }

    pub fn is_open(&self) -> bool {
        matches!(self, Self::Pending | Self::Sent { .. })
    }
}

/// The proof that an intent was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "proof", rename_all = "snake_case")]
pub enum Receipt {
    /// Codex echoed the input in this turn.
    Taken { turn: TurnId },
    /// Codex has the answer: it said that the ask is resolved, or went on.
    Answered,
    /// The turn has ended as interrupted.
    Interrupted { turn: TurnId },
    /// Codex has said that its goal stands so.
    GoalChanged,
    /// There was nothing to be done: no turn ran.
    Nothing,
}

/// Why an intent was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NotDone {
    Refused {
        failure: Failure,
    },
    /// Somebody took it back before it was sent.
    Withdrawn {
        by: String,
    },
    /// Somebody else was first.
    Decided {
        by: String,
    },
    /// The ask is closed, or the turn is over.
    TooLate,
    /// The ask does not take this decision.
    NotOffered,
    /// It spoke of an input that Codex turned out not to have; that input was given again instead.
    Needless,
}
