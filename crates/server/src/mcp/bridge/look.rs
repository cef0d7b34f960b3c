//! What there is to see of tasks: how they stand, what they did, what they changed.

use futures_util::StreamExt;
use ostler_engine::TaskDiff;
use ostler_model::TaskState;
use ostler_model::item::{Item, ItemBody};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shown::{head, line, pending, snapshot, time};
use super::{Bridge, Done, bad, id};
use crate::api::{AskList, Items, Line, TaskList};
use crate::mcp::daemon::{Errand, Verb};
use crate::problem::Problem;

/// Events that a status shows.
const RECENT: u64 = 20;

/// Of one event.
const EVENT_CHARACTERS: usize = 1200;

/// Of the output of one command in a log.
const OUTPUT_CHARACTERS: usize = 4000;

/// Tasks that a list shows, if nobody says how many.
const LISTED: usize = 10;
const MOST_LISTED: usize = 100;

/// Steps that a log shows, if nobody says how many.
const STEPS: usize = 50;
const MOST_STEPS: usize = 200;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OfTask {
    pub(super) task_id: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct List {
    pub(super) limit: Option<usize>,
    pub(super) status: Option<String>,
    pub(super) mine: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Log {
    pub(super) task_id: String,
    pub(super) after: i64,
    pub(super) limit: Option<usize>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Diff {
    pub(super) task_id: String,
    pub(super) turns: Option<String>,
}

impl Bridge {
    /// How a task stands, and what happened last, the oldest first.
    pub(super) async fn status(&self, wish: OfTask, client: &str) -> Done {
        let detail = self.detail(&wish.task_id, client).await?;
        let mut shown = snapshot(&detail);
        let events = self.recent(&detail.task, client).await?;
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("events".to_owned(), json!(events));
        }
        Ok(shown)
    }

    async fn recent(&self, task: &ostler_model::Task, client: &str) -> Result<Vec<Value>, Problem> {
        let after = task.last_seq.saturating_sub(RECENT);
        let errand = Errand {
            verb: Verb::Get,
            path: format!("/v1/tasks/{}/events?after={after}", task.id),
            body: Value::Null,
            client: client.to_owned(),
        };
        let lines = self.daemon.lines(errand).await?;
        let events = lines.filter_map(|line| async {
            match serde_json::from_value(line).ok()? {
                Line::Event { seq, at, event } => {
                    let text = serde_json::to_string(&event).ok()?;
                    let event = match text.chars().count() > EVENT_CHARACTERS {
                        true => json!(head(&text, EVENT_CHARACTERS)),
                        false => json!(event),
                    };
                    Some(json!({ "seq": seq, "at": time(at), "event": event }))
                }
                _ => None,
            }
        });
        Ok(events.collect().await)
    }

    /// The one that changed last first.
    pub(super) async fn list(&self, wish: List, client: &str) -> Done {
        let limit = wish.limit.unwrap_or(LISTED).clamp(1, MOST_LISTED);
        let mut path = format!("/v1/tasks?limit={limit}&mine={}", wish.mine);
        if let Some(state) = wish.status.as_deref().map(str::trim).filter(|it| !it.is_empty()) {
            for word in state.split(',') {
                if TaskState::from_name(word).is_none() {
                    let known = TaskState::ALL.map(TaskState::name).join(", ");
                    return Err(bad(format!("{word:?} is no status; there are {known}")));
                }
            }
            path = format!("{path}&state={state}");
        }
        let found: TaskList = self.get(path, client).await?;
        let tasks: Vec<Value> = found.tasks.iter().map(line).collect();
        Ok(json!({ "tasks": tasks, "counts": found.counts }))
    }

    /// All that waits for a person.
    pub(super) async fn asks(&self, client: &str) -> Done {
        let found: AskList = self.get("/v1/asks".to_owned(), client).await?;
        let shown: Vec<Value> = found.asks.iter().map(|shown| pending(&shown.ask)).collect();
        Ok(json!({ "pending_requests": shown }))
    }

    pub(super) async fn log(&self, wish: Log, client: &str) -> Done {
        let task = id(&wish.task_id, "task_id")?.to_owned();
        let limit = wish.limit.unwrap_or(STEPS).clamp(1, MOST_STEPS);
        let path = format!("/v1/tasks/{task}/items?after={}&limit={limit}", wish.after);
        let found: Items = self.get(path, client).await?;
        let steps: Vec<String> = found.items.iter().map(|shown| step(&shown.item)).collect();
        Ok(json!({ "task_id": found.task, "log": steps.join("\n\n"), "next_after": found.next }))
    }

    pub(super) async fn diff(&self, wish: Diff, client: &str) -> Done {
        let task = id(&wish.task_id, "task_id")?;
        let turns = match wish.turns.as_deref() {
            None | Some("all") => "all",
            Some("last") => "last",
            Some(other) => return Err(bad(format!("{other:?}: turns is `last` or `all`"))),
        };
        let path = format!("/v1/tasks/{task}/diff?turns={turns}");
        let found: TaskDiff = self.get(path, client).await?;
        Ok(json!({ "task_id": found.task, "from": found.from, "diff": found.diff }))
    }
}

/// One step of a task, for a reader.
fn step(item: &Item) -> String {
    match &item.body {
        ItemBody::UserMessage(message) => format!("[user] {}", message.text),
        ItemBody::AgentMessage(message) => format!("[codex] {}", message.text),
        ItemBody::Reasoning(reasoning) => format!("[thinks] {}", reasoning.summary.join("\n")),
        ItemBody::Plan { text } => format!("[plan] {text}"),
        ItemBody::Command(command) => {
            let code = command.exit_code.map_or_else(String::new, |code| format!(" (exit {code})"));
            let output = head(&command.output, OUTPUT_CHARACTERS);
            format!("[command{code}] {}\n{output}", command.command)
        }
        ItemBody::FileChange(change) => {
            let files: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).collect();
            format!("[changes files] {}", files.join(", "))
        }
        other => {
            let text = serde_json::to_string(other).unwrap_or_default();
            format!("[step] {}", head(&text, EVENT_CHARACTERS))
        }
    }
}
