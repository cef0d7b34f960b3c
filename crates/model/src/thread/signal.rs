//! Everything that can happen to a thread: what callers want, what Codex says, what became of our effects, and time.

use crate::ask::{Ask, FileDiff};
use crate::auto_review::AutoReview;
use crate::decision::Decision;
use crate::failure::Failure;
use crate::goal::Goal;
use crate::id::{AskId, InputId, ItemId, TurnId};
use crate::item::Item;
use crate::plan::Plan;
use crate::usage::Tokens;

#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// A caller has something for Codex.
    Send {
        input: InputId,
        kind: InputKind,
        if_busy: IfBusy,
    },
    Interrupt {
        by: String,
    },
    Decide {
        ask: AskId,
        decision: Decision,
        by: String,
    },
    /// Whoever should have decided could not.
    DeciderFailed {
        ask: AskId,
        reason: String,
    },
    /// Nobody of ours knows this kind of ask.
    NoHandler {
        ask: AskId,
    },
    Deciders(Deciders),
    Codex(Said),

    /// Codex took the input as a turn of this id; up to 0.142.5 the id may be one that never begins.
    Submitted {
        input: InputId,
        turn: Option<TurnId>,
    },
    Steered {
        input: InputId,
    },
    GiveFailed {
        input: InputId,
        why: GiveFailure,
    },
    InterruptFailed {
        turn: TurnId,
    },
    Answered {
        ask: AskId,
    },
    /// The answer could not be written.
    AnswerLost {
        ask: AskId,
        reason: String,
    },
    /// What Codex says of the thread when asked. Fed without a question it is how the thread stood when it was opened,
    /// before any of its events.
    Looked(Result<View, String>),
    /// A step of the running turn that ended while nobody listened; told before `Reopened`.
    Missed {
        turn: TurnId,
        item: Item,
    },
    /// The events of the new connection may come before this. If that connection is gone again before this is fed, the
    /// opening failed.
    Reopened(View),
    ReopenFailed {
        failure: Failure,
    },

    /// Whether a sub-agent of this thread waits for a person; any such signal shows that the thread lives.
    ChildSpoke {
        waiting: bool,
    },
    /// After all that was said on the connection, and before another one is made.
    Closed {
        reason: String,
    },
    /// We listen to Codex again after a while in which we did not; what it said meanwhile is still to come.
    Listening,
    /// Time has passed.
    Tick,
}

/// What a caller wants of Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputKind {
    /// An answer to this. The text only serves to know it again where Codex keeps no ids of ours.
    Message { text: String },
    /// A turn that Codex fills by itself: a review, or the compaction of the history. Nothing of it is echoed.
    Order,
}

/// What to do with an input while a turn runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfBusy {
    /// Put it into the running turn.
    Steer,
    /// Answer it after the running turn.
    #[default]
    Queue,
    /// End the running turn, then answer it.
    Interrupt,
    /// Refuse it.
    Fail,
    /// Put it into the running turn, and refuse it if the task is at rest.
    SteerOnly,
}

impl IfBusy {
    /// Whether it belongs into a turn that runs.
    pub fn is_steer(self) -> bool {
        matches!(self, Self::Steer | Self::SteerOnly)
    }
}

/// Who can decide asks at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Deciders {
    /// Nobody yet; asks wait.
    #[default]
    Awaited,
    Present,
    /// Nobody, and nobody will come; asks are declined.
    Nobody,
}

/// Why an input could not be given to Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GiveFailure {
    /// It never left us.
    NotSent,
    /// It may have arrived or not.
    InDoubt,
    /// Codex does not have the thread loaded.
    ThreadGone,
    /// There is no such turn to steer any more.
    NoSuchTurn,
    /// This kind of turn takes no input.
    NotSteerable,
    Refused(Failure),
}

/// Something Codex said about the thread, with the turn it named.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub turn: Option<TurnId>,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    TurnStarted,
    TurnCompleted(SaidEnd),
    ItemStarted(Item),
    ItemCompleted(Item),
    Delta {
        item: ItemId,
        kind: DeltaKind,
        text: String,
    },
    /// The files of a change that is still being worked out.
    Files {
        item: ItemId,
        files: Vec<FileDiff>,
    },
    Usage {
        last: Tokens,
        thread: Tokens,
        context_window: Option<u64>,
    },
    Plan(Plan),
    Diff(String),
    Compacted,
    /// How the thread's goal stands; none if it has none.
    Goal(Option<Goal>),
    /// Codex's own reviewer has begun or decided.
    AutoReview(AutoReview),
    /// An attempt failed; Codex repeats it by itself or gives the turn up.
    Failing {
        failure: Failure,
        will_retry: bool,
    },
    Asked {
        ask: AskId,
        content: Box<Ask>,
    },
    /// Somebody answered it, or Codex took it back.
    AskResolved {
        ask: AskId,
    },
    /// Anything else; it shows that the thread lives.
    Sign,
}

/// Which text of an item grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    Message,
    Reasoning,
    Plan,
    Output,
}

/// How a turn ended, in Codex's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaidEnd {
    Completed,
    Interrupted,
    Failed(Option<Failure>),
    /// A word this version of ours does not know.
    Other(String),
}

/// What Codex says of a thread when asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    pub state: SeenState,
    /// The last few turns, oldest first.
    pub turns: Vec<SeenTurn>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenState {
    Active,
    /// It waits for an answer of a person.
    Waiting,
    Idle,
    NotLoaded,
    #[default]
    Unknown,
}

impl SeenState {
    /// A turn runs.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Active | Self::Waiting)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SeenTurn {
    pub id: TurnId,
    /// None while it runs.
    pub end: Option<SaidEnd>,
    pub inputs: Vec<SeenInput>,
    /// Its steps as far as they are over, without the inputs.
    pub items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenInput {
    pub input: Option<InputId>,
    pub text: String,
}
