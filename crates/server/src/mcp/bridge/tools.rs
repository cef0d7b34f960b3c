//! Each part of the bridge as a tool of its own.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::look::{Diff, List, Log, OfTask};
use super::push::{ChangeGoal, Send, Steer};
use super::respond::Respond;
use super::start::{self, Start};
use super::told::NotifyCompleted;
use super::wait::Wait;
use super::{Bridge, Done, answer, arguments, client, outputs};
use crate::mcp::table::{Call, Hints, McpTool};

/// What a task does is open: Codex may reach the network if it is let.
const STARTS: Hints = Hints { only_reads: false, destroys: true, repeats: false, open_world: true };

/// It changes what a task does, and nothing that was there before.
const PUSHES: Hints =
    Hints { only_reads: false, destroys: false, repeats: false, open_world: true };

/// What was under way is cut off; a second time there is nothing left to end.
const ENDS: Hints = Hints { only_reads: false, destroys: true, repeats: true, open_world: false };

/// It lets Codex do what it asked for.
const DECIDES: Hints = Hints { only_reads: false, destroys: true, repeats: true, open_world: true };

/// Only that it was told.
const NOTES: Hints =
    Hints { only_reads: false, destroys: false, repeats: false, open_world: false };

type Work = fn(Arc<Bridge>, Call) -> BoxFuture<'static, Done>;

struct Row {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    properties: Value,
    required: &'static [&'static str],
    hints: Hints,
    work: Work,
}

pub(super) fn all(bridge: &Arc<Bridge>) -> Vec<McpTool> {
    rows().into_iter().map(|row| tool(row, bridge.clone())).collect()
}

fn tool(row: Row, bridge: Arc<Bridge>) -> McpTool {
    let work = row.work;
    McpTool {
        name: row.name.to_owned(),
        title: Some(row.title.to_owned()),
        description: row.description.to_owned(),
        schema: schema(row.properties, row.required),
        output: outputs::of(row.name),
        hints: row.hints,
        call: Arc::new(move |call| {
            let bridge = bridge.clone();
            Box::pin(async move { answer(work(bridge, call).await) })
        }),
    }
}

pub(super) fn schema(properties: Value, required: &[&str]) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

pub(super) fn task_id() -> Value {
    json!({ "type": "string", "description": "the task; the first letters of its id are enough" })
}

pub(super) fn key() -> Value {
    json!({ "type": "string", "description": "the same call again with the same key is done once" })
}

fn start_properties() -> Value {
    let mut properties = start::fields();
    if let Some(fields) = properties.as_object_mut() {
        let text = "work in a git worktree of its own, so that tasks are not in each other's way";
        fields.insert("worktree".to_owned(), json!({ "type": "boolean", "description": text }));
        let text = "how hard the model thinks: low, medium, high, …";
        fields.insert("effort".to_owned(), json!({ "type": "string", "description": text }));
        let text = "in the first turn Codex asks and plans, and changes nothing";
        fields.insert(
            "plan".to_owned(),
            json!({ "type": "boolean", "default": false, "description": text }),
        );
        fields.insert("key".to_owned(), key());
    }
    properties
}

/// The arguments of the call as the tool wants them, and how the caller calls itself.
macro_rules! with {
    ($method:ident, $wish:ty) => {
        |bridge, call| {
            Box::pin(async move {
                let client = client(&call);
                bridge.$method(arguments::<$wish>(call.arguments)?, &client).await
            })
        }
    };
}

fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "codex_start",
            title: "Start a Codex task",
            description: "Lets Codex do something in the background and returns at once. The task outlives you.",
            properties: start_properties(),
            required: &["prompt"],
            hints: STARTS,
            work: with!(start, Start),
        },
        Row {
            name: "codex_status",
            title: "How a Codex task stands",
            description: "How a task stands: its status, its answer, what it asks of people, and the last events.",
            properties: json!({ "task_id": task_id() }),
            required: &["task_id"],
            hints: Hints::READS,
            work: with!(status, OfTask),
        },
        Row {
            name: "codex_list",
            title: "List Codex tasks",
            description: "Tasks, the one that changed last first.",
            properties: json!({
                "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 10 },
                "status": { "type": "string", "description": "only these, separated by commas: queued, starting, working, waiting_for_approval, waiting_for_user_input, parked, recovering, completed, failed, cancelled" },
                "mine": { "type": "boolean", "default": false, "description": "only those that you started" },
            }),
            required: &[],
            hints: Hints::READS,
            work: with!(list, List),
        },
        Row {
            name: "codex_wait",
            title: "Wait for Codex tasks",
            description: "Waits until tasks are over or need a person, and tells of progress meanwhile. When the time is over it says so, \
                and nothing is lost: call it again.",
            properties: json!({
                "task_id": task_id(),
                "task_ids": { "type": "array", "items": { "type": "string" }, "description": "several at once" },
                "timeout_s": { "type": "integer", "minimum": 0, "maximum": 3600, "default": 50 },
                "any": { "type": "boolean", "default": false, "description": "one of them is enough" },
                "through_asks": { "type": "boolean", "default": false, "description": "go on waiting while a person is asked" },
            }),
            required: &[],
            hints: Hints::READS,
            work: |bridge, call| {
                Box::pin(async move {
                    let client = client(&call);
                    bridge.wait(arguments::<Wait>(call.arguments.clone())?, &call, &client).await
                })
            },
        },
        Row {
            name: "codex_send",
            title: "Give a Codex task more to do",
            description: "Gives a task more to do, in the same conversation, also when it is over.",
            properties: json!({
                "task_id": task_id(),
                "prompt": { "type": "string" },
                "if_busy": { "type": "string", "enum": ["queue", "steer", "interrupt", "fail"], "default": "queue", "description": "if a turn runs: after it, into it, instead of it, or not at all" },
                "model": { "type": "string", "description": "the model for this turn; later turns have the task's own again" },
                "effort": { "type": "string", "description": "how hard the model thinks in this turn" },
                "stays": { "type": "boolean", "default": false, "description": "model and effort hold for later turns, too" },
                "plan": { "type": "boolean", "default": false, "description": "in this turn Codex asks and plans, and changes nothing" },
                "key": key(),
            }),
            required: &["task_id", "prompt"],
            hints: STARTS,
            work: with!(send, Send),
        },
        Row {
            name: "codex_steer",
            title: "Steer a Codex task",
            description: "Says something into the turn that runs. A task that is over is not started anew: use codex_send.",
            properties: json!({ "task_id": task_id(), "instruction": { "type": "string" }, "key": key() }),
            required: &["task_id", "instruction"],
            hints: PUSHES,
            work: with!(steer, Steer),
        },
        Row {
            name: "codex_interrupt",
            title: "End the turn of a Codex task",
            description: "Ends the turn that runs, and says whether it has ended. The task can be given more to do afterwards.",
            properties: json!({ "task_id": task_id() }),
            required: &["task_id"],
            hints: ENDS,
            work: |bridge, call| {
                Box::pin(async move {
                    let client = client(&call);
                    let wish = arguments::<OfTask>(call.arguments.clone())?;
                    bridge.interrupt(&wish.task_id, &call, &client).await
                })
            },
        },
        Row {
            name: "codex_goal",
            title: "Change the goal of a Codex task",
            description: "Sets what Codex works towards over many turns, which it starts by itself until the goal is complete or blocked; or pauses, resumes or clears that.",
            properties: json!({
                "task_id": task_id(),
                "change": { "type": "string", "enum": ["set", "pause", "resume", "clear"] },
                "objective": { "type": "string", "description": "with set: what is to be reached" },
                "token_budget": { "type": "integer", "minimum": 1, "description": "with set: stop when this many tokens are used" },
                "key": key(),
            }),
            required: &["task_id", "change"],
            hints: STARTS,
            work: with!(goal, ChangeGoal),
        },
        Row {
            name: "codex_respond",
            title: "Answer what a Codex task asks",
            description: "Answers a request of a task. A question of a task that you have started you may answer; what needs an approval only those whom \
                the operator lets decide. All others are refused, and told where a person answers.",
            properties: json!({
                "task_id": task_id(),
                "request_id": { "type": "string", "description": "as pending_requests names it; may be left out if the task asks one thing" },
                "decision": { "type": "string", "enum": ["accept", "acceptForSession", "decline", "cancel"], "default": "decline" },
                "answers": answers(),
                "reason": { "type": "string", "description": "why not; Codex is told" },
            }),
            required: &[],
            hints: DECIDES,
            work: with!(respond, Respond),
        },
        Row {
            name: "codex_asks",
            title: "What waits for a person",
            description: "All requests of all tasks that wait for a person.",
            properties: json!({}),
            required: &[],
            hints: Hints::READS,
            work: |bridge, call| {
                Box::pin(async move {
                    let client = client(&call);
                    bridge.asks(&client).await
                })
            },
        },
        Row {
            name: "codex_logs",
            title: "What a Codex task did",
            description: "What a task was told, said and did, from its beginning, page by page.",
            properties: json!({
                "task_id": task_id(),
                "after": { "type": "integer", "default": 0, "description": "the next_after of the page before" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 200, "default": 50 },
            }),
            required: &["task_id"],
            hints: Hints::READS,
            work: with!(log, Log),
        },
        Row {
            name: "codex_diff",
            title: "What a Codex task changed",
            description: "All that a task has changed, as a unified diff.",
            properties: json!({
                "task_id": task_id(),
                "turns": { "type": "string", "enum": ["last", "all"], "default": "all" },
            }),
            required: &["task_id"],
            hints: Hints::READS,
            work: with!(diff, Diff),
        },
        Row {
            name: "codex_notify_completed",
            title: "Which of your tasks have ended",
            description: "Your tasks that have ended and that you were not told of yet, the oldest end first. Each is told once, with who else was told and whether it has arrived.",
            properties: json!({
                "limit": { "type": "integer", "minimum": 1, "default": 10 },
                "notify_target": { "type": "string", "description": "only what was told to this target is shown beside each task" },
                "dry_run": { "type": "boolean", "default": false, "description": "only look: they are told again next time" },
            }),
            required: &[],
            hints: NOTES,
            work: with!(notify_completed, NotifyCompleted),
        },
    ]
}

pub(super) fn answers() -> Value {
    json!({
        "type": "object",
        "description": "answers to questions, by the id of each question",
        "additionalProperties": {
            "type": "object",
            "properties": { "answers": { "type": "array", "items": { "type": "string" } } },
            "required": ["answers"],
            "additionalProperties": false,
        },
    })
}
