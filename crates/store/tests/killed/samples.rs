//! Values to store.

use ostler_model::task::{Budget, Cause, Spent};
use ostler_model::{Event, Task, TaskSettings, TaskState};
use ostler_store::Write;

pub(crate) fn new(id: &str) -> Write {
    let task = Task {
        id: id.into(),
        state: TaskState::Working,
        cause: Cause::Placed,
        title: String::new(),
        settings: TaskSettings::in_folder("/"),
        started_by: String::new(),
        thread: None,
        keeper: None,
        codex_version: None,
        turn: None,
        last_result: None,
        spent: Spent::default(),
        budget: Budget::default(),
        wake_at: None,
        limit_streak: 0,
        goal: None,
        tally: ostler_model::task::Tally::default(),
        created_at: 0,
        updated_at: 0,
        ended_at: None,
        last_seq: 0,
        forked_from: None,
    };
    Write::NewTask { task: Box::new(task), key: None }
}

pub(crate) fn event(task: &str, number: i64, bytes: usize) -> Write {
    let json = "x".repeat(bytes);
    let event = Box::new(Event::Notice { name: number.to_string(), json, agent: None });
    Write::Event { task: task.into(), at: number, event }
}
