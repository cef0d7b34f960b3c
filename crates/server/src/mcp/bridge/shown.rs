//! A task as a model is shown it.

use jiff::Timestamp;
use ostler_model::ask::{AskKind, ElicitationWant};
use ostler_model::task::{AskRecord, Cause, Running};
use ostler_model::turn::TurnEnd;
use ostler_model::{Failure, Task};
use serde_json::{Value, json};

use crate::api::TaskDetail;

/// Of an answer that is still being written.
const PROGRESS_CHARACTERS: usize = 300;

/// Of a command or a diff that somebody is asked about.
const ASK_CHARACTERS: usize = 4000;

/// How a task stands, with all that it asks.
pub(super) fn snapshot(detail: &TaskDetail) -> Value {
    let mut shown = line(&detail.task);
    if let Some(fields) = shown.as_object_mut() {
        let asks: Vec<Value> = detail.asks.iter().map(pending).collect();
        if !asks.is_empty() {
            let next = "a person answers with `ostler answer ID` or on the page; then wait for the task again";
            fields.insert("next".to_owned(), json!(next));
        }
        fields.insert("pending_requests".to_owned(), json!(asks));
        let open = detail.intents.iter().map(|intent| {
            json!({ "id": intent.id, "wish": intent.wish, "state": intent.state.name(), "by": intent.by })
        });
        fields.insert("unsettled".to_owned(), json!(open.collect::<Vec<_>>()));
        let growing =
            detail.partials.last().map(|partial| tail(&partial.text, PROGRESS_CHARACTERS));
        fields.insert("progress".to_owned(), json!(growing));
    }
    shown
}

/// One task in a list.
pub(super) fn line(task: &Task) -> Value {
    let result = task.last_result.as_ref();
    let failure = failure(task);
    let usual = task.tally.usual.as_ref();
    json!({
        "task_id": task.id,
        "status": task.state.name(),
        "why": task.cause,
        "is_over": task.state.is_over(),
        "needs_a_person": task.state.waits_for_a_person(),
        "prompt_summary": task.title,
        "started_by": task.started_by,
        "codex_thread_id": task.thread,
        "codex_turn_id": task.turn,
        "cwd": task.settings.cwd,
        "model": task.settings.model.as_ref().or(usual.and_then(|usual| usual.model.as_ref())),
        "effort": task.settings.effort.as_ref().or(usual.and_then(|usual| usual.effort.as_ref())),
        "sandbox": task.settings.sandbox.mode,
        "approval_policy": task.settings.approval,
        "final_answer": result.and_then(|result| result.final_answer.clone()),
        "error": failure.map(|failure| failure.message.clone()),
        "error_advice": failure.map(Failure::advice),
        "goal": task.goal,
        "turns": task.spent.turns,
        "tokens": task.spent.tokens,
        "model_of_this_turn": task.tally.chosen.as_ref().filter(|_| task.tally.running.is_some()),
        "running": task.tally.running.as_ref().map(running),
        "created_at": time(task.created_at),
        "updated_at": time(task.updated_at),
        "completed_at": task.ended_at.map(time),
        "log": format!("ostler://tasks/{}/log", task.id),
        "diff": format!("ostler://tasks/{}/diff", task.id),
    })
}

/// How far the turn has come, and since when Codex tries to reach the model without success.
fn running(running: &Running) -> Value {
    let retrying = running.retrying.as_ref().map(|retrying| {
        let (attempts, failure) = (retrying.attempts, &retrying.failure.message);
        json!({ "since": time(retrying.since), "attempts": attempts, "error": failure })
    });
    let (began_at, tokens) = (time(running.began_at), running.tokens);
    json!({ "began_at": began_at, "tokens": tokens, "retrying_model": retrying })
}

/// Why it went wrong, if it did.
fn failure(task: &Task) -> Option<&Failure> {
    match &task.cause {
        Cause::TurnFailed { failure }
        | Cause::StartFailed { failure }
        | Cause::LimitReached { failure, .. }
        | Cause::Waiting { failure, .. }
        | Cause::WaitedTooLong { failure, .. }
        | Cause::LimitAgain { failure, .. }
        | Cause::ServerLost { failure } => return Some(failure),
        _ => {}
    }
    match &task.last_result.as_ref()?.end {
        TurnEnd::Failed { failure } if task.state.is_over() => Some(failure),
        _ => None,
    }
}

/// A question, short enough for a model.
pub(super) fn pending(ask: &AskRecord) -> Value {
    let (kind, what) = match &ask.content.kind {
        AskKind::Command(command) => {
            let line = command.command.clone();
            let host = command.network.as_ref().map(|network| network.host.clone());
            ("command", json!({ "command": line, "cwd": command.cwd, "host": host }))
        }
        AskKind::FileChange(change) => {
            let file = |file: &ostler_model::ask::FileDiff| json!({ "path": file.path, "diff": head(&file.diff, ASK_CHARACTERS) });
            ("file_change", json!(change.files.iter().map(file).collect::<Vec<_>>()))
        }
        AskKind::Permissions(wanted) => ("permissions", json!(wanted.wanted)),
        AskKind::UserInput(input) => ("user_input", json!(input.questions)),
        AskKind::Elicitation(elicitation) => {
            let what = match &elicitation.want {
                ElicitationWant::ToolApproval { tool, arguments, .. } => {
                    json!({ "tool": tool, "arguments": arguments })
                }
                ElicitationWant::Form(fields) => json!({ "form": fields }),
                ElicitationWant::Url(url) => json!({ "url": url }),
                ElicitationWant::Other(name) => json!({ "mode": name }),
            };
            let (server, message) = (&elicitation.server, &elicitation.message);
            ("elicitation", json!({ "server": server, "message": message, "wants": what }))
        }
        AskKind::Continue { why } => ("continue", json!({ "why": why })),
        AskKind::ToolCall(call) => ("tool_call", json!({ "tool": call.tool })),
        AskKind::TokenRefresh { .. } => ("token_refresh", Value::Null),
        AskKind::Other { name } => ("other", json!({ "name": name })),
    };
    json!({
        "request_id": ask.id,
        "task_id": ask.task,
        "agent": ask.agent,
        "kind": kind,
        "what": what,
        "reason": ask.content.reason,
        "offers": ask.content.offers,
        "asked_at": time(ask.opened_at),
        "answer_with": format!("ostler answer {}", ask.id),
    })
}

pub(super) fn time(at: i64) -> String {
    Timestamp::from_millisecond(at).map_or_else(|_| at.to_string(), |time| time.to_string())
}

/// The first so many characters.
pub(super) fn head(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}… [cut]", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The last so many characters.
pub(super) fn tail(text: &str, most: usize) -> String {
    let count = text.chars().count();
    match count > most {
        true => format!("…{}", text.chars().skip(count - most).collect::<String>()),
        false => text.to_owned(),
    }
}
