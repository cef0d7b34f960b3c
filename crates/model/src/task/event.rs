//! One record in the log of a task.

use serde::{Deserialize, Serialize};

use super::Agent;
use super::ask::{AskClosed, DecisionRecord};
use super::intent::{Intent, IntentState};
use super::settings::TaskSettings;
use super::state::{Cause, TaskState};
use crate::ask::Ask;
use crate::auto_review::AutoReview;
use crate::id::{AskId, IntentId, ItemId, RuleId, ThreadId, TurnId};
use crate::thread::{DeltaKind, Update};

/// What happened. Stored as JSON, so a variant or field keeps its name and meaning for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Created {
        settings: Box<TaskSettings>,
        by: String,
    },
    State {
        from: TaskState,
        to: TaskState,
        cause: Cause,
    },
    Intended {
        intent: Box<Intent>,
    },
    /// What became of an intent.
    IntentMoved {
        intent: IntentId,
        to: IntentState,
    },
    /// Where it runs now.
    Placed {
        keeper: String,
        codex_version: String,
        thread: ThreadId,
    },
    /// The thread's own news. Pieces of text are not among them: they are kept as a [`Partial`] until their item ends.
    Thread {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Agent>,
        update: Box<Update>,
    },
    /// Something to know that belongs to no turn, as JSON text.
    Notice {
        name: String,
        json: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Agent>,
    },
    AskOpened {
        ask: AskId,
        content: Box<Ask>,
        digest: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Agent>,
    },
    /// Codex asks again what it asked before; it is the same ask.
    AskReturned {
        ask: AskId,
    },
    /// The app-server that asked is gone. An answer is kept for the same question.
    AskParked {
        ask: AskId,
    },
    AskDecided {
        ask: AskId,
        decision: Box<DecisionRecord>,
    },
    AskClosed {
        ask: AskId,
        how: AskClosed,
    },
    /// Nobody has answered for long.
    AskEscalated {
        ask: AskId,
    },
    /// A program under an app-server tried to decide. It was refused.
    SelfApprovalRefused {
        ask: Option<AskId>,
        who: String,
        why: String,
    },
    /// Codex's own reviewer looks at what a person would else be asked, or has decided it.
    AutoReview {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Agent>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
        review: AutoReview,
    },
    RuleMade {
        rule: RuleId,
        text: String,
        by: String,
    },
    /// What we could not keep: the log has less than happened, and this is how much less.
    Lost {
        events: u64,
        why: String,
    },
}

impl Event {
    /// The name of its kind, by which the log is searched.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "created",
            Self::State { .. } => "state",
            Self::Intended { .. } => "intended",
            Self::IntentMoved { .. } => "intent_moved",
            Self::Placed { .. } => "placed",
            Self::Thread { .. } => "thread",
            Self::Notice { .. } => "notice",
            Self::AskOpened { .. } => "ask_opened",
            Self::AskReturned { .. } => "ask_returned",
            Self::AskParked { .. } => "ask_parked",
            Self::AskDecided { .. } => "ask_decided",
            Self::AskClosed { .. } => "ask_closed",
            Self::AskEscalated { .. } => "ask_escalated",
            Self::SelfApprovalRefused { .. } => "self_approval_refused",
            Self::AutoReview { .. } => "auto_review",
            Self::RuleMade { .. } => "rule_made",
            Self::Lost { .. } => "lost",
        }
    }
}

/// The text of an item that has not ended, as far as it has come. It is no event: the end of the item replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partial {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    pub turn: TurnId,
    pub item: ItemId,
    pub kind: DeltaKind,
    pub text: String,
}
