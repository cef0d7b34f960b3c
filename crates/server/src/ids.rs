//! Ids as people type them: the first letters are enough as long as they mean one thing.

use ostler_engine::Store;
use ostler_model::task::AskRecord;
use ostler_model::{AskId, DeliveryId, Notification, Task, TaskId};
use serde_json::json;

use crate::problem::{Problem, Trouble};

/// How many of those that begin alike are named.
const NAMED: usize = 5;

pub(crate) async fn task(store: &Store, typed: &str) -> Result<Task, Problem> {
    check(typed)?;
    if let Some(task) = store.task(&TaskId::new(typed)).await? {
        return Ok(task);
    }
    let mut found = store.tasks_by_prefix(typed, NAMED).await?;
    match (found.pop(), found.is_empty()) {
        (Some(task), true) => Ok(task),
        (Some(task), false) => {
            found.push(task);
            let ids: Vec<&str> = found.iter().map(|task| task.id.as_str()).collect();
            Err(ambiguous("task", typed, &ids))
        }
        (None, _) => Err(Problem::new(Trouble::NotFound, format!("there is no task {typed}"))
            .hint("`ostler ls --all` lists them")),
    }
}

pub(crate) async fn ask(store: &Store, typed: &str) -> Result<AskRecord, Problem> {
    check(typed)?;
    if let Some(ask) = store.ask(&AskId::new(typed)).await? {
        return Ok(ask);
    }
    if let Some(row) = store.host_ask(&AskId::new(typed)).await? {
        return Ok(row.ask);
    }
    let mut found = store.asks_by_prefix(typed, NAMED).await?;
    found.extend(store.host_asks_by_prefix(typed, NAMED).await?.into_iter().map(|row| row.ask));
    match (found.pop(), found.is_empty()) {
        (Some(ask), true) => Ok(ask),
        (Some(ask), false) => {
            found.push(ask);
            let ids: Vec<&str> = found.iter().map(|ask| ask.id.as_str()).collect();
            Err(ambiguous("ask", typed, &ids))
        }
        (None, _) => Err(Problem::new(Trouble::NotFound, format!("there is no ask {typed}"))
            .hint("`ostler asks` lists those that are open")),
    }
}

pub(crate) async fn notification(store: &Store, typed: &str) -> Result<Notification, Problem> {
    check(typed)?;
    if let Some(found) = store.notification(&DeliveryId::new(typed)).await? {
        return Ok(found);
    }
    let mut found = store.notifications_by_prefix(typed, NAMED).await?;
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            let ids: Vec<&str> = found.iter().map(|row| row.id.as_str()).collect();
            Err(ambiguous("notification", typed, &ids))
        }
        (None, _) => {
            Err(Problem::new(Trouble::NotFound, format!("there is no notification {typed}"))
                .hint("`ostler notify` lists them"))
        }
    }
}

/// An empty prefix would mean everything, and whatever else stands in an id must be able to stand in a path.
pub(crate) fn check(typed: &str) -> Result<(), Problem> {
    let is_fine =
        !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    match is_fine {
        true => Ok(()),
        false => Err(Problem::new(Trouble::BadRequest, format!("{typed:?} is no id"))
            .hint("an id has letters and digits only")),
    }
}

fn ambiguous(kind: &str, typed: &str, ids: &[&str]) -> Problem {
    let detail = format!("{typed} can be {}", ids.join(", "));
    Problem::new(Trouble::Conflict, format!("several {kind}s begin so: {detail}"))
        .hint("type more of the id")
        .data(json!({ "candidates": ids }))
}
