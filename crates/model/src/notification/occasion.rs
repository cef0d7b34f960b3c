//! Which event of a task is told, and what it is called.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::id::{AskId, DeliveryId, TaskId};
use crate::task::machine::AskedOf;
use crate::task::{Awaited, Cause, TaskState};

/// An app-server that could not be started so often was not there for half a minute.
const LONG_WAIT: u32 = 6;

/// What is told of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Finished,
    Failed,
    NeedsApproval,
    NeedsInput,
    /// A limit was reached; it goes on by itself.
    Parked,
    /// Somebody or something ended it before it was done.
    Cancelled,
}

impl Kind {
    pub const ALL: [Self; 6] = [
        Self::Finished,
        Self::Failed,
        Self::NeedsApproval,
        Self::NeedsInput,
        Self::Parked,
        Self::Cancelled,
    ];

    /// The same word in text, JSON, the configuration and the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::NeedsApproval => "needs_approval",
            Self::NeedsInput => "needs_input",
            Self::Parked => "parked",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::NeedsApproval => "needs your approval",
            Self::NeedsInput => "needs your answer",
            Self::Parked => "is parked",
            Self::Cancelled => "was stopped",
        }
    }

    /// Nothing goes on before a person has done something.
    pub fn is_urgent(self) -> bool {
        matches!(self, Self::NeedsApproval | Self::NeedsInput)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What is told when a task comes to stand so. A task that is parked until somebody decides asks for that decision, and the ask
/// is told instead.
pub fn kind_of_move(to: TaskState, cause: &Cause) -> Option<Kind> {
    match (to, cause) {
        (TaskState::Completed, _) => Some(Kind::Finished),
        (TaskState::Failed, _) => Some(Kind::Failed),
        (TaskState::Cancelled, _) => Some(Kind::Cancelled),
        (TaskState::Parked, Cause::LimitReached { .. }) => Some(Kind::Parked),
        // Once, and only if it does not pass at once.
        (TaskState::Parked, Cause::Waiting { on, until: Some(_), tries, .. }) => {
            let told_at = match on {
                Awaited::AppServer => LONG_WAIT,
                Awaited::Codex | Awaited::Model | Awaited::Login => 1,
            };
            (*tries == told_at).then_some(Kind::Parked)
        }
        _ => None,
    }
}

/// What is told when people are asked.
pub fn kind_of_ask(of: AskedOf) -> Kind {
    match of {
        AskedOf::Approval => Kind::NeedsApproval,
        AskedOf::UserInput => Kind::NeedsInput,
    }
}

/// What happened, so that the same is told once whoever is killed when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
    /// The task changed its state. It is written down with the change, so it comes once; the nonce tells it from others.
    Moved { nonce: String },
    /// People are asked. The same ask may come again from another app-server, and is told again only on purpose: each round is
    /// an occasion of its own.
    Asked { ask: AskId, round: u32 },
}

impl Occasion {
    /// The name of what one target is told. The same occasion and target have the same name in every process.
    pub fn delivery(&self, task: &TaskId, target: &str) -> DeliveryId {
        let what = match self {
            Self::Moved { nonce } => format!("moved\n{nonce}"),
            Self::Asked { ask, round } => format!("asked\n{ask}\n{round}"),
        };
        let hash = Sha256::digest(format!("{task}\n{what}\n{target}"));
        // 80 bits: no two of a trillion are alike, and the first few can be typed.
        let digits: String = hash.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        DeliveryId::new(digits)
    }
}
