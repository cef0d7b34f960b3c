//! What can happen to a task, and what is to be done about it.

use crate::failure::Failure;
use crate::goal::{Goal, GoalChange};
use crate::id::{AskId, IntentId, ThreadId, TurnId};
use crate::task::Edge;
use crate::task::intent::IntentState;
use crate::task::state::{Cause, TaskState};
use crate::thread::{IfBusy, Update};

#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// An input that is written down.
    Submit {
        intent: IntentId,
        if_busy: IfBusy,
    },
    Interrupt {
        intent: IntentId,
        by: String,
    },
    /// There is room, for the want of this number; see [`Machine::wants`](super::Machine::wants).
    Placed {
        want: u64,
    },
    Opened,
    /// An input was not given to the thread, because what it needs is missing.
    CannotGive {
        intent: IntentId,
        failure: Failure,
    },
    OpenFailed {
        failure: Failure,
    },
    /// The thread is no longer driven, and nobody closed it.
    ThreadLost,
    /// The thread was looked through; these inputs it does not hold.
    Looked {
        missing: Vec<IntentId>,
    },
    LookFailed {
        failure: Failure,
    },
    Told(Box<Update>),
    /// An ask for people is open.
    Asked {
        ask: AskId,
        of: AskedOf,
    },
    /// It needs nobody any more.
    AskGone {
        ask: AskId,
    },
    /// Somebody decided whether the task goes on.
    MayContinue {
        answer: MayContinue,
        by: String,
    },
    /// Somebody wants the goal changed; it is written down.
    ChangeGoal {
        intent: IntentId,
        change: GoalChange,
    },
    /// How the goal stands after a change, or when it was asked for.
    GoalChanged {
        /// The wish that is fulfilled by it.
        intent: Option<IntentId>,
        outcome: Result<Option<Goal>, Failure>,
    },
    /// The tokens that a sub-agent has used in its turn so far.
    AgentUsed {
        agent: ThreadId,
        tokens: u64,
    },
    /// The login on disk is another than the one that was refused.
    LoginChanged,
    Tick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedOf {
    Approval,
    UserInput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayContinue {
    Yes,
    No,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The task has changed its state.
    Moved {
        from: TaskState,
        to: TaskState,
        cause: Cause,
    },
    /// What became of an intent.
    Settle {
        intent: IntentId,
        to: IntentState,
    },
    WantPlace,
    /// It runs already, and counts whether there is room or not.
    KeepPlace,
    LeavePlace,
    /// Open the thread: a new one, or the one that it has.
    Open,
    /// Hand an input to the thread; it is written down as sent before.
    Give {
        intent: IntentId,
        if_busy: IfBusy,
    },
    Interrupt {
        by: String,
    },
    /// See whether the thread holds these inputs, of which it was said that it took them in this turn.
    LookFor {
        turn: TurnId,
        inputs: Vec<IntentId>,
    },
    /// Change the goal; of a thread that is not open, too. Answered by [`Signal::GoalChanged`].
    ChangeGoal {
        intent: Option<IntentId>,
        change: GoalChange,
    },
    /// Ask Codex how the goal stands. Answered by [`Signal::GoalChanged`].
    ReadGoal,
    /// An input that was taken waits again, because the thread has lost it.
    GiveBack {
        intent: IntentId,
    },
    /// Write an input of our own down, and submit it ahead of what waits.
    Owe(Owed),
    /// Ask whether the task shall go on.
    AskToContinue(WhyAsk),
    /// Close the thread, and give its app-server no further ones: it keeps a login that is refused.
    Retire,
}

/// Inputs that we give by ourselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owed {
    AfterLimit,
    AfterCrash,
    AfterPause,
    AfterOutage,
    AfterLogin,
}

impl Owed {
    pub const ALL: [Self; 3] = [Self::AfterLimit, Self::AfterCrash, Self::AfterPause];

    /// Whether these are the words of one of them.
    pub fn reads(text: &str) -> bool {
        Self::ALL.iter().any(|owed| owed.text() == text)
    }

    /// What Codex is told. It must look before it repeats anything: some of the work may be done.
    pub fn text(self) -> &'static str {
        match self {
            Self::AfterLimit => {
                "The last turn was cut off by a limit of the account, which has passed now. Go on with the task where it \
                 stopped. Look first at what has been done already; do not repeat it."
            }
            Self::AfterCrash => {
                "The last turn was cut off because its process died. Go on with the task where it stopped. Look first at \
                 what has been done already; commands that were running may have been done in part."
            }
            Self::AfterOutage => {
                "The last turn was cut off because the model could not be reached. Go on with the task where it stopped. Look \
                 first at what has been done already; do not repeat it."
            }
            Self::AfterLogin => {
                "The last turn was cut off because the login was refused, which has been mended. Go on with the task where it \
                 stopped. Look first at what has been done already; do not repeat it."
            }
            Self::AfterPause => {
                "The last turn was paused, and may go on now. Go on with the task where it stopped. Look first at what has \
                 been done already; do not repeat it."
            }
        }
    }
}

/// Why somebody is asked whether the task goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyAsk {
    Crash(Failure),
    Budget(Edge),
    /// A limit of the account that does not say when it passes.
    Limit(Failure),
    /// Its folder or its thread is gone.
    Missing(Failure),
    /// The login was refused.
    Login(Failure),
    /// The model could not be reached in the middle of a turn.
    Outage(Failure),
}
