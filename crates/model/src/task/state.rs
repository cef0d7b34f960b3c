//! Where a task stands, and why it came there.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::{AskId, IntentId, TurnId};
use crate::task::Edge;
use crate::turn::Interrupter;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It has something to do and waits for its time.
    Queued,
    /// Its thread is being opened.
    Starting,
    Working,
    WaitingForApproval,
    WaitingForUserInput,
    /// It stands until a limit has passed or somebody has decided.
    Parked,
    /// Its app-server or our daemon was lost; it is being found out what became of it.
    Recovering,
    Completed,
    Failed,
    Cancelled,
}

impl TaskState {
    pub const ALL: [Self; 10] = [
        Self::Queued,
        Self::Starting,
        Self::Working,
        Self::WaitingForApproval,
        Self::WaitingForUserInput,
        Self::Parked,
        Self::Recovering,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The same word in text, JSON and the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Working => "working",
            Self::WaitingForApproval => "waiting_for_approval",
            Self::WaitingForUserInput => "waiting_for_user_input",
            Self::Parked => "parked",
            Self::Recovering => "recovering",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Nothing happens any more unless somebody sends something.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Nothing goes on before a person has done something.
    pub fn waits_for_a_person(self) -> bool {
        matches!(self, Self::WaitingForApproval | Self::WaitingForUserInput)
    }

    /// A turn of it runs, or is about to.
    pub fn is_at_work(self) -> bool {
        matches!(
            self,
            Self::Starting
                | Self::Working
                | Self::WaitingForApproval
                | Self::WaitingForUserInput
                | Self::Recovering
        )
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What a task waits for before it tries again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// An app-server that could not be started or reached for the moment.
    AppServer,
    /// A Codex that can be used.
    Codex,
    /// The model's server.
    Model,
    /// Another login than the one that was refused.
    Login,
}

impl Awaited {
    /// Follows "waiting for".
    pub fn describe(self) -> &'static str {
        match self {
            Self::AppServer => "an app-server",
            Self::Codex => "a Codex that can be used",
            Self::Model => "the model",
            Self::Login => "a login",
        }
    }

    /// Whether a person has to do something about it, after so many tries.
    fn needs_a_person(self, tries: u32) -> bool {
        match self {
            Self::AppServer | Self::Model => false,
            // One that is being upgraded, or that a busy machine killed, is there again after some seconds.
            Self::Codex => tries >= TRIES_OF_A_CODEX,
            Self::Login => true,
        }
    }
}

/// The last of them comes 14 seconds after the first.
const TRIES_OF_A_CODEX: u32 = 4;

/// Why a task changed its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// Somebody gave it something to do.
    Submitted {
        intent: IntentId,
    },
    /// There is room for it now.
    Placed,
    /// Codex has taken the input, or started a turn by itself.
    TurnBegan {
        turn: TurnId,
    },
    AskOpened {
        ask: AskId,
    },
    /// The last of its asks is answered or needs no answer any more.
    AsksClosed,
    TurnCompleted {
        turn: TurnId,
    },
    /// A turn is complete, and Codex starts the next one for its goal.
    GoalGoesOn {
        turn: TurnId,
    },
    TurnFailed {
        failure: Failure,
    },
    /// It could not be started.
    StartFailed {
        failure: Failure,
    },
    Interrupted {
        by: Interrupter,
    },
    /// Unix milliseconds.
    LimitReached {
        failure: Failure,
        until: i64,
    },
    LimitPassed,
    /// What it needs is not there. Times are unix milliseconds.
    Waiting {
        on: Awaited,
        failure: Failure,
        since: i64,
        /// When it tries again by itself; without it, a person has to act.
        until: Option<i64>,
        /// Failed tries in a row.
        tries: u32,
    },
    /// It tries again what failed.
    TriesAgain {
        on: Awaited,
    },
    /// It was waited for as long as the settings say.
    WaitedTooLong {
        on: Awaited,
        failure: Failure,
        since: i64,
    },
    /// The limit was reached this often in a row without any work done between.
    LimitAgain {
        failure: Failure,
        times: u32,
    },
    /// The app-server died under it.
    ServerLost {
        failure: Failure,
    },
    /// Somebody is to decide whether it goes on.
    ContinueAsked {
        ask: AskId,
    },
    BudgetUsed {
        edge: Edge,
    },
    /// Somebody let it go on.
    GoesOn {
        by: String,
    },
    /// Somebody did not.
    Stopped {
        by: String,
    },
    /// Our daemon was started anew and found it at work.
    DaemonStarted,
    /// What became of it meanwhile is known now.
    Rejoined,
    /// All that was left to do was taken back.
    Withdrawn {
        by: String,
    },
}

impl Cause {
    /// Whether it goes on only after a person has done something, though it tries by itself.
    pub fn needs_a_person(&self) -> bool {
        matches!(self, Self::Waiting { on, tries, .. } if on.needs_a_person(*tries))
    }

    /// In one line, without times of day: those depend on who reads it.
    pub fn describe(&self) -> String {
        match self {
            Self::Submitted { .. } => "it was given something to do".to_owned(),
            Self::Placed => "there is room for it".to_owned(),
            Self::TurnBegan { .. } => "Codex has begun a turn".to_owned(),
            Self::AskOpened { ask } => format!("Codex asks (ask {ask})"),
            Self::AsksClosed => "nothing is asked any more".to_owned(),
            Self::TurnCompleted { .. } => "the turn is complete".to_owned(),
            Self::GoalGoesOn { .. } => "Codex goes on with its goal".to_owned(),
            Self::TurnFailed { failure } => {
                format!("the turn failed ({}): {}", failure.class.name(), failure.message)
            }
            Self::StartFailed { failure } => {
                format!("it could not be started ({}): {}", failure.class.name(), failure.message)
            }
            Self::Interrupted { by } => format!("interrupted by {}", by.describe()),
            Self::LimitReached { failure, .. } => failure.message.clone(),
            Self::LimitPassed => "the limit has passed".to_owned(),
            Self::Waiting { on, failure, .. } => {
                format!("waiting for {}: {}", on.describe(), failure.message)
            }
            Self::TriesAgain { on } => {
                format!("it has waited for {} and tries again", on.describe())
            }
            Self::WaitedTooLong { on, failure, .. } => {
                format!("it waited too long for {}: {}", on.describe(), failure.message)
            }
            Self::LimitAgain { failure, times } => {
                format!("{} ({times} times in a row, and no work done between)", failure.message)
            }
            Self::ServerLost { failure } => format!("Codex was lost: {}", failure.message),
            Self::ContinueAsked { ask } => {
                format!("somebody is to say whether it goes on (ask {ask})")
            }
            Self::BudgetUsed { .. } => "its budget is used".to_owned(),
            Self::GoesOn { by } => format!("{by} let it go on"),
            Self::Stopped { by } => format!("{by} did not let it go on"),
            Self::DaemonStarted => "the daemon was started anew and looks for it".to_owned(),
            Self::Rejoined => "it was found again, and what it did meanwhile is known".to_owned(),
            Self::Withdrawn { by } => format!("{by} took back what was left to do"),
        }
    }
}
