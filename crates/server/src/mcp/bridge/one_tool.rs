//! `codex_bridge`: the whole bridge in one tool, with an `action`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::look::{List, OfTask};
use super::push::Steer;
use super::respond::{Answers, Respond};
use super::start::{self, Start};
use super::told::NotifyCompleted;
use super::tools::{answers, key, schema, task_id};
use super::{Bridge, Done, answer, arguments, bad, client, given, outputs};
use crate::mcp::table::{Call, Hints, McpTool};

const ACTIONS: [&str; 8] =
    ["start", "status", "list", "notify_completed", "steer", "interrupt", "cancel", "respond"];

/// It can do all that the other tools can.
const HINTS: Hints = Hints { only_reads: false, destroys: true, repeats: false, open_world: true };

/// What any action may be given. What an action has no use for is passed over, because models fill in all that there is.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wish {
    action: String,
    prompt: String,
    task_id: String,
    instruction: String,
    decision: Option<String>,
    answers: Option<std::collections::BTreeMap<String, Answers>>,
    cwd: Option<String>,
    model: Option<String>,
    sandbox: Option<String>,
    approval_policy: Option<String>,
    codex_home: Option<String>,
    developer_instructions: Option<String>,
    notify_target: Option<String>,
    key: Option<String>,
    limit: Option<usize>,
    dry_run: bool,
}

pub(super) fn tool(bridge: &Arc<Bridge>) -> McpTool {
    let bridge = bridge.clone();
    McpTool {
        name: "codex_bridge".to_owned(),
        title: Some("Codex in the background".to_owned()),
        description: "Runs Codex tasks in the background. start: prompt, and where (cwd, model, sandbox, approval_policy, codex_home), developer_instructions. status: task_id. \
            list: limit. steer: task_id, instruction. interrupt or cancel: task_id. respond: task_id, the request id as instruction, decision or answers; \
            answers to questions of your own tasks, decisions only for those whom the operator lets decide. notify_completed: which of your tasks have ended, each told once; dry_run only looks. \
            key: the same start or steer again with the same key is done once."
            .to_owned(),
        schema: schema(properties(), &["action"]),
        output: outputs::of("codex_bridge"),
        hints: HINTS,
        call: Arc::new(move |call| {
            let bridge = bridge.clone();
            Box::pin(async move { answer(act(&bridge, call).await) })
        }),
    }
}

fn properties() -> Value {
    let mut fields = Map::new();
    fields.insert("action".to_owned(), json!({ "type": "string", "enum": ACTIONS }));
    fields.insert("key".to_owned(), key());
    if let Value::Object(start) = start::fields() {
        fields.extend(start);
    }
    let instruction = "for steer what to say, for respond the id of the request";
    let more = json!({
        "task_id": task_id(),
        "instruction": { "type": "string", "description": instruction },
        "decision": { "type": "string", "enum": ["accept", "acceptForSession", "decline", "cancel"], "default": "decline" },
        "answers": answers(),
        "limit": { "type": "integer", "minimum": 1, "default": 10 },
        "dry_run": { "type": "boolean", "default": false },
    });
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    Value::Object(fields)
}

async fn act(bridge: &Bridge, call: Call) -> Done {
    let client = client(&call);
    let wish: Wish = arguments(call.arguments.clone())?;
    let key = wish.key.and_then(given);
    match wish.action.trim().to_lowercase().as_str() {
        "start" => {
            let start = Start {
                prompt: wish.prompt,
                cwd: wish.cwd,
                model: wish.model,
                sandbox: wish.sandbox,
                approval_policy: wish.approval_policy,
                codex_home: wish.codex_home,
                developer_instructions: wish.developer_instructions,
                notify_target: wish.notify_target,
                key,
                ..Start::default()
            };
            bridge.start(start, &client).await
        }
        "status" => bridge.status(OfTask { task_id: wish.task_id }, &client).await,
        "list" => bridge.list(List { limit: wish.limit, ..List::default() }, &client).await,
        "notify_completed" => {
            let ask = NotifyCompleted {
                limit: wish.limit,
                notify_target: wish.notify_target.and_then(given),
                dry_run: wish.dry_run,
            };
            bridge.notify_completed(ask, &client).await
        }
        "steer" => {
            let steer = Steer { task_id: wish.task_id, instruction: wish.instruction, key };
            bridge.steer(steer, &client).await
        }
        // Two words for one thing: the turn ends, and the task can be given more to do.
        "interrupt" | "cancel" => bridge.interrupt(&wish.task_id, &call, &client).await,
        "respond" => {
            let respond = Respond {
                task_id: wish.task_id,
                request_id: wish.instruction,
                decision: wish.decision,
                answers: wish.answers.filter(|answers| !answers.is_empty()),
                reason: None,
            };
            bridge.respond(respond, &client).await
        }
        "" => Err(bad("action is missing").hint(format!("the actions are {}", ACTIONS.join(", ")))),
        other => Err(bad(format!("{other:?} is no action"))
            .hint(format!("the actions are {}", ACTIONS.join(", ")))),
    }
}
