//! Waiting for tasks, with a word whenever something changes.

use std::time::Duration;

use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::shown::snapshot;
use super::{Bridge, Done, bad, id};
use crate::api::{Change, TaskDetail};
use crate::mcp::daemon::{Errand, Verb};
use crate::mcp::table::Call;
use crate::problem::{Problem, Trouble};

/// Most clients give a call a minute; a bit less leaves room for the answer.
const USUAL_S: u64 = 50;

/// Nobody holds a call longer.
const MOST_S: u64 = 3600;

/// A word at least this often, so that the caller knows that somebody is there.
const WORD_EVERY: Duration = Duration::from_secs(10);

/// Between the wish of somebody and what it does to the task are some commits, and sometimes Codex.
const SETTLING: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Wait {
    pub(super) task_id: String,
    pub(super) task_ids: Vec<String>,
    pub(super) timeout_s: Option<u64>,
    pub(super) any: bool,
    pub(super) through_asks: bool,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The end, or a person's turn.
    OverOrAsked,
    Over,
}

pub(super) struct Waiting {
    pub(super) tasks: Vec<String>,
    pub(super) until: Until,
    /// So many of them.
    pub(super) enough: usize,
    pub(super) patience: Duration,
}

pub(super) struct Waited {
    /// All of them, as they stand.
    pub(super) details: Vec<TaskDetail>,
    pub(super) timed_out: bool,
}

impl Bridge {
    pub(super) async fn wait(&self, wish: Wait, call: &Call, client: &str) -> Done {
        let mut tasks = wish.task_ids;
        if !wish.task_id.is_empty() {
            tasks.push(wish.task_id);
        }
        if tasks.is_empty() {
            return Err(bad("task_id is missing").hint("codex_list shows the tasks"));
        }
        let waiting = Waiting {
            enough: if wish.any { 1 } else { tasks.len() },
            tasks,
            until: if wish.through_asks { Until::Over } else { Until::OverOrAsked },
            patience: Duration::from_secs(wish.timeout_s.unwrap_or(USUAL_S).min(MOST_S)),
        };
        let waited = self.wait_for(&waiting, call, client).await?;
        let shown: Vec<Value> = waited.details.iter().map(snapshot).collect();
        let note = "not over yet, and nothing is lost: wait again";
        let note = waited.timed_out.then_some(note);
        Ok(json!({ "timed_out": waited.timed_out, "tasks": shown, "note": note }))
    }

    pub(super) async fn wait_for(
        &self,
        waiting: &Waiting,
        call: &Call,
        client: &str,
    ) -> Result<Waited, Problem> {
        for task in &waiting.tasks {
            id(task, "task_id")?;
        }
        let deadline = Instant::now() + waiting.patience;
        let mut step = 0;
        loop {
            // Before the tasks are looked at: what changes from now on is told.
            let errand = Errand {
                verb: Verb::Get,
                path: "/v1/changes".to_owned(),
                body: Value::Null,
                client: client.to_owned(),
            };
            let mut changes = self.daemon.lines(errand).await?;
            loop {
                let details = self.look(&waiting.tasks, client).await?;
                let done = details.iter().filter(|detail| is_done(detail, waiting.until)).count();
                let settling = details.iter().any(|it| is_settling(it, waiting.until));
                let timed_out = Instant::now() >= deadline;
                if done >= waiting.enough || timed_out {
                    return Ok(Waited { timed_out: done < waiting.enough, details });
                }
                step += 1;
                call.progress.tell(step, words(&details)).await;
                let patience = if settling { SETTLING } else { WORD_EVERY };
                let next = deadline.min(Instant::now() + patience);
                let ids: Vec<&str> = details.iter().map(|it| it.task.id.as_str()).collect();
                tokio::select! {
                    () = call.stop.cancelled() => return Err(given_up()),
                    () = sleep_until(next) => {}
                    told = ours(&mut changes, &ids) => if !told { break },
                }
            }
        }
    }

    async fn look(&self, tasks: &[String], client: &str) -> Result<Vec<TaskDetail>, Problem> {
        let mut details = Vec::new();
        for task in tasks {
            details.push(self.detail(task, client).await?);
        }
        Ok(details)
    }
}

/// Waits until one of these has changed; false if nothing more is told.
async fn ours(changes: &mut crate::mcp::Lines, tasks: &[&str]) -> bool {
    loop {
        let Some(change) = changes.next().await else { return false };
        match serde_json::from_value(change) {
            Ok(Change::Task { task, .. }) if !tasks.contains(&task.as_str()) => {}
            _ => return true,
        }
    }
}

fn is_done(detail: &TaskDetail, until: Until) -> bool {
    let state = detail.task.state;
    let is_there = match until {
        Until::Over => state.is_over(),
        Until::OverOrAsked => state.is_over() || state.waits_for_a_person(),
    };
    is_there && !detail.is_about_to_move()
}

fn is_settling(detail: &TaskDetail, until: Until) -> bool {
    let state = detail.task.state;
    detail.is_about_to_move()
        && (state.is_over() || (until == Until::OverOrAsked && state.waits_for_a_person()))
}

fn words(details: &[TaskDetail]) -> String {
    let one = |detail: &TaskDetail| format!("{} {}", detail.task.id, detail.task.state.name());
    details.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn given_up() -> Problem {
    Problem::new(Trouble::Conflict, "the caller waits no longer; the task goes on")
}
