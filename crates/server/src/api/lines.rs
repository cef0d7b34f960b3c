//! What streams are made of: one line, or one server-sent event, each.

use std::collections::BTreeMap;

use ostler_model::task::Partial;
use ostler_model::{Event, Task, TaskId, TaskState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AskShown, TaskDetail, Viewer};

/// One line of `GET /v1/tasks/{id}/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// The first one: how the task stands, without the diff of its last turn, and the text that is still growing.
    Now(Box<TaskDetail>),
    Event {
        seq: u64,
        at: i64,
        event: Box<Event>,
    },
    /// Text that has grown since; only the new part.
    Grown(Partial),
    /// The reader was too slow for text that grows: this is all of it.
    Partials {
        partials: Vec<Partial>,
    },
    /// These events are not there any more.
    Gap {
        from: u64,
        to: u64,
        why: String,
    },
    /// Who looks at the task now; only in server-sent events.
    Viewers {
        viewers: Vec<Viewer>,
        /// How many there are beside those who are named.
        #[serde(default, skip_serializing_if = "is_zero")]
        others: usize,
    },
    /// A line of Codex, as it came but for secrets, while somebody looks who has asked for it. `seq` is the last event
    /// that was told before it.
    Wire {
        seq: u64,
        json: Value,
    },
    /// So many lines of Codex came faster than they were read.
    WireLost {
        seq: u64,
        lines: u64,
    },
}

/// One frame of `GET /v1/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum BoardLine {
    /// The first one, and again whenever too much has changed: the tasks that are not over and the newest of the others, all without the
    /// diffs of their last turns, and all that waits for a person.
    Now {
        tasks: Vec<Task>,
        counts: BTreeMap<TaskState, u64>,
        asks: Vec<AskShown>,
    },
    Task {
        task: Box<Task>,
    },
    TaskGone {
        task: TaskId,
    },
    /// All that waits for a person, whenever it has changed.
    Asks {
        asks: Vec<AskShown>,
    },
    /// Who looks at the board, and who at which task; only in server-sent events.
    Lookers {
        board: Vec<Viewer>,
        tasks: BTreeMap<TaskId, Vec<Viewer>>,
    },
    /// So much has changed that it is not told one by one: the next frame is how things stand.
    Many,
    /// A record of a task's log, for whoever wants them all. `place` is its place among all that was ever written.
    Event {
        place: u64,
        task: TaskId,
        seq: u64,
        at: i64,
        event: Box<Event>,
    },
    /// The events of these places are not there any more.
    Gap {
        from: u64,
        to: u64,
        why: String,
    },
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}
