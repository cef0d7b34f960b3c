//! What the driver must do, and what watchers are told.

use serde::{Deserialize, Serialize};

use super::signal::{DeltaKind, SeenState};
use crate::ask::Ask;
use crate::auto_review::AutoReview;
use crate::decision::Decision;
use crate::failure::Failure;
use crate::goal::Goal;
use crate::id::{AskId, InputId, ItemId, TurnId};
use crate::item::{Item, ItemEnd};
use crate::plan::Plan;
use crate::turn::TurnResult;
use crate::usage::Usage;

/// Something to be done. `Submit`, `Steer`, `Answer`, `Look` and `Reopen` are answered by a signal, once, also if the
/// connection breaks; `Interrupt` only if it failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Start a turn with this input.
    Submit {
        input: InputId,
    },
    /// Put this input into the running turn.
    Steer {
        input: InputId,
        turn: TurnId,
    },
    Interrupt {
        turn: TurnId,
    },
    /// End the commands that the turn left running. Nothing answers it.
    CleanTerminals,
    /// Bring the ask to whoever decides.
    Put {
        ask: AskId,
    },
    /// Run the tool of ours, or fetch the tokens, that this ask wants.
    Serve {
        ask: AskId,
    },
    Answer {
        ask: AskId,
        decision: Decision,
    },
    /// Answer with an error, so that the turn goes on.
    Refuse {
        ask: AskId,
    },
    /// Ask Codex how the thread stands.
    Look,
    /// Open the thread again.
    Reopen {
        server: ServerWanted,
    },
    Tell(Update),
}

/// Which app-server a thread may be opened in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerWanted {
    /// Only the one it was in: its turn may still run there.
    Same,
    /// Any; a fresh one if need be.
    Any,
    /// Another than before: that one does not obey, and is ended.
    Fresh,
}

/// What watchers of a thread are told, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "update", rename_all = "snake_case")]
pub enum Update {
    TurnBegan {
        turn: TurnId,
    },
    /// It waits for its time.
    InputQueued {
        input: InputId,
    },
    /// Codex has it: the proof is the echo in this turn.
    InputTaken {
        input: InputId,
        turn: TurnId,
    },
    /// It was not, or could not be shown to be, given to Codex; the caller still has it.
    InputRefused {
        input: InputId,
        failure: Failure,
        /// Codex may have got it all the same, and nobody can be asked any more.
        #[serde(default)]
        may_have_run: bool,
    },
    ItemBegan {
        turn: TurnId,
        item: Item,
    },
    Delta {
        turn: TurnId,
        item: ItemId,
        kind: DeltaKind,
        text: String,
    },
    ItemEnded {
        turn: TurnId,
        item: Item,
        how: ItemEnd,
    },
    AskOpened {
        ask: AskId,
        content: Box<Ask>,
    },
    AskClosed {
        ask: AskId,
        how: AskEnd,
    },
    /// A decision that does not count. Nothing was answered by it.
    DecisionRefused {
        ask: AskId,
        by: String,
        why: DecisionRefusal,
    },
    Usage {
        turn: TurnId,
        usage: Usage,
    },
    Plan {
        turn: TurnId,
        plan: Plan,
    },
    Diff {
        turn: TurnId,
        diff: String,
    },
    Compacted {
        turn: TurnId,
    },
    /// How the goal of the thread stands. It comes before the end of the turn that changed it, and once after each opening.
    Goal {
        #[serde(default)]
        goal: Option<Goal>,
    },
    /// What Codex's own reviewer made of what a person would else be asked.
    AutoReview {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
        review: AutoReview,
    },
    Retrying {
        turn: TurnId,
        failure: Failure,
        attempt: u32,
        for_ms: u64,
    },
    /// The turn stands still; this is what was found when looking.
    Stalled {
        turn: TurnId,
        quiet_ms: u64,
        found: Finding,
        retrying: Option<Failure>,
    },
    /// Something that belongs to no step of the running turn. It is kept, and not mixed in.
    Stray {
        why: StrayReason,
        turn: Option<TurnId>,
        item: Option<Item>,
    },
    Disconnected {
        reason: String,
    },
    Reconnected,
    TurnEnded {
        result: Box<TurnResult>,
    },
}

impl Update {
    /// The turn that it is about, where it names one.
    pub fn turn(&self) -> Option<&TurnId> {
        match self {
            Self::TurnBegan { turn }
            | Self::InputTaken { turn, .. }
            | Self::ItemBegan { turn, .. }
            | Self::Delta { turn, .. }
            | Self::ItemEnded { turn, .. }
            | Self::Usage { turn, .. }
            | Self::Plan { turn, .. }
            | Self::Diff { turn, .. }
            | Self::Compacted { turn }
            | Self::Retrying { turn, .. }
            | Self::Stalled { turn, .. } => Some(turn),
            Self::Stray { turn, .. } | Self::AutoReview { turn, .. } => turn.as_ref(),
            Self::TurnEnded { result } => Some(&result.turn),
            Self::AskOpened { content, .. } => content.turn.as_ref(),
            Self::InputQueued { .. }
            | Self::InputRefused { .. }
            | Self::AskClosed { .. }
            | Self::DecisionRefused { .. }
            | Self::Goal { .. }
            | Self::Disconnected { .. }
            | Self::Reconnected => None,
        }
    }
}

/// How an ask came to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum AskEnd {
    Decided {
        decision: Decision,
        by: String,
    },
    /// Nobody decided, so we declined.
    Declined {
        reason: String,
    },
    /// It needs no answer any more.
    Withdrawn {
        reason: Withdrawal,
    },
    /// We have nobody for this kind of ask and said so.
    Refused,
    /// A program of ours gave what was wanted.
    Served,
    /// The answer could not be written; Codex may ask again.
    Lost {
        reason: String,
    },
}

/// Why a decision does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum DecisionRefusal {
    /// The ask does not take it, and is still open.
    NotOffered,
    /// Somebody else was first.
    Decided { by: String },
    /// A program of ours answers this one.
    NotForPeople,
    /// It needs no answer any more, or there never was such an ask.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withdrawal {
    /// Another client answered it, or Codex took it back.
    Elsewhere,
    TurnEnded,
    Disconnected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StrayReason {
    /// Its turn is over.
    Late,
    /// It was told before.
    Duplicate,
    /// It names a turn that is not the running one.
    Foreign,
}

/// What was found when looking at a turn that stands still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Finding {
    /// The app-server answers and says this of the thread.
    Answers { state: SeenState },
    /// The app-server did not answer.
    Silent { reason: String },
}
