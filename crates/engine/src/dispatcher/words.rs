//! What the dispatcher is told.

use ostler_model::policy::Rule;
use ostler_model::{Task, TaskId, TaskState};
use tokio::sync::oneshot;

use crate::engine::pool_name;
use crate::refusal::Refusal;
use crate::runner::Order;

/// What a runner tells.
#[derive(Debug)]
pub(crate) enum FromRunner {
    /// The number is that of the runner's want, and comes back with the place.
    WantPlace(Waiting, u64),
    KeepPlace(Waiting),
    LeavePlace {
        task: TaskId,
    },
    Moved {
        task: TaskId,
        state: TaskState,
    },
    /// It has nothing to do any more and may be let go.
    AtRest {
        task: TaskId,
    },
    NewRule(Box<Rule>),
}

/// What doors want.
#[derive(Debug)]
pub(crate) enum FromDoor {
    /// A new task, or one that has got something to do, which is written down.
    Do {
        task: TaskId,
        order: Order,
    },
    /// A new task that waits for its time.
    Queue(Waiting),
    /// Nothing more is sent to it for now.
    Release {
        task: TaskId,
        done: oneshot::Sender<bool>,
    },
    Remove {
        task: TaskId,
        done: oneshot::Sender<Result<(), Refusal>>,
    },
    /// How many may work at once, from now on.
    Room {
        most: usize,
        most_per_pool: usize,
    },
    /// Somebody wants to read all that was told of the task.
    Settle {
        task: TaskId,
        done: oneshot::Sender<()>,
    },
    /// Somebody wants to know whether we are alive.
    Knock {
        done: oneshot::Sender<()>,
    },
}

/// A task in line.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(super) task: TaskId,
    /// Those who start tasks take turns.
    pub(super) starter: String,
    pub(super) pool: String,
}

impl Waiting {
    pub(crate) fn of(task: &Task) -> Self {
        let (starter, pool) = (task.started_by.clone(), pool_name(&task.settings));
        Self { task: task.id.clone(), starter, pool }
    }
}
