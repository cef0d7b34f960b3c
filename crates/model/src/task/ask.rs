//! An ask of a task, as it outlives every process.

use serde::{Deserialize, Serialize};

use super::Agent;
use crate::ask::Ask;
use crate::decision::Decision;
use crate::id::{AskId, ItemId, RuleId, TaskId, ThreadId, TurnId};
use crate::thread::Withdrawal;

/// An ask and all that became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskRecord {
    /// Our own name for it, the same in every process.
    pub id: AskId,
    pub task: TaskId,
    /// The sub-agent that asks.
    pub agent: Option<Agent>,
    /// None if Ostler itself asks.
    pub source: Option<AskSource>,
    pub content: Ask,
    /// Of what a person decides on. The same question asked again has the same.
    pub digest: String,
    /// Unix milliseconds.
    pub opened_at: i64,
    pub state: AskState,
    pub decision: Option<DecisionRecord>,
    pub closed: Option<AskClosed>,
}

/// Where a question of Codex came from. One that comes again on another connection is known by this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskSource {
    pub keeper: String,
    pub thread: ThreadId,
    pub turn: Option<TurnId>,
    pub item: Option<ItemId>,
    /// Codex's request id as JSON text.
    pub request: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskState {
    /// It waits for somebody.
    Open,
    /// The app-server that asked is gone. An answer waits for the same question.
    Parked,
    /// Somebody decided, and Codex may not know yet.
    Decided,
    Closed,
}

impl AskState {
    pub const ALL: [Self; 4] = [Self::Open, Self::Parked, Self::Decided, Self::Closed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Parked => "parked",
            Self::Decided => "decided",
            Self::Closed => "closed",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Somebody may still decide.
    pub fn takes_a_decision(self) -> bool {
        matches!(self, Self::Open | Self::Parked)
    }
}

/// A decision, with all that an audit asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecord {
    pub decision: Decision,
    pub by: DecidedBy,
    /// Told to the model with a refusal.
    pub reason: Option<String>,
    /// Unix milliseconds.
    pub at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum DecidedBy {
    Person {
        name: String,
        surface: String,
    },
    Rule {
        rule: RuleId,
    },
    /// A program of the operator's.
    Approver {
        program: String,
    },
    /// Nobody was there, and the task was not to wait.
    Nobody,
    /// The decision on the same question, asked before.
    Earlier {
        ask: AskId,
    },
}

impl DecidedBy {
    /// In a few words, for whoever comes second.
    pub fn describe(&self) -> String {
        match self {
            Self::Person { name, surface } => format!("{name} ({surface})"),
            Self::Rule { rule } => format!("rule {rule}"),
            Self::Approver { program } => format!("the approver {program}"),
            Self::Nobody => "nobody: the task does not wait for people".to_owned(),
            Self::Earlier { ask } => format!("the answer to ask {ask}"),
        }
    }
}

/// How an ask came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum AskClosed {
    /// Codex has the decision.
    Answered,
    Withdrawn {
        reason: Withdrawal,
    },
    /// We declined it without a decision of anybody, for this reason.
    Declined {
        reason: String,
    },
    /// We have nobody for this kind of ask and said so.
    Refused,
    /// A program of ours gave what was wanted.
    Served,
    /// The task has gone on without it: what Codex asks now is another question.
    Overtaken,
}
