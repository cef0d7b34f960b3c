//! Finished items as the file records them, in our own words.

use std::path::Path;

use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::item::{
    AgentMessage, Command, FileChange, Item, ItemBody, Outcome, Reasoning, SubAgent, ToolCall,
    ToolPlace,
};

use super::exec;
use super::line::{Change, Recorded, ToolResult};
use crate::protocol::item::body;
use crate::protocol::user_input::UserInput;
use crate::protocol::{Json, lenient};
use crate::thread::item as live;

/// The item of an `item_completed`. A kind we do not know keeps its name and its JSON.
pub(super) fn item(json: &Json) -> Item {
    let recorded: Recorded = lenient::message(json.as_raw()).unwrap_or_default();
    let body = body(&recorded).unwrap_or_else(|| ItemBody::Other {
        name: lower_first(&recorded.kind),
        json: json.text().to_owned(),
    });
    Item { id: recorded.id.into(), body }
}

/// The item that an event of an older version tells the end of; none for any other event.
pub(super) fn event(payload: &Recorded) -> Option<Item> {
    let id = if payload.call_id.is_empty() { &payload.id } else { &payload.call_id };
    Some(Item { id: id.as_str().into(), body: body(payload)? })
}

fn body(recorded: &Recorded) -> Option<ItemBody> {
    Some(match recorded.kind.as_str() {
        "UserMessage" => ItemBody::UserMessage(live::user_message(&body::UserMessage {
            content: recorded.content.clone(),
            client_id: recorded.client_id.clone(),
        })),
        "AgentMessage" => ItemBody::AgentMessage(AgentMessage {
            text: recorded.content.iter().filter_map(text).collect(),
            phase: live::phase(recorded.phase.as_ref()),
        }),
        "Reasoning" => ItemBody::Reasoning(Reasoning {
            summary: recorded.summary_text.clone(),
            content: recorded.raw_content.clone(),
        }),
        "Plan" => ItemBody::Plan { text: recorded.text.clone() },
        "CommandExecution" | "exec_command_end" => ItemBody::Command(Command {
            command: exec::join(&recorded.command),
            cwd: recorded.cwd.as_deref().map(path),
            output: recorded.aggregated_output.clone(),
            exit_code: recorded.exit_code,
            duration_ms: duration_ms(recorded),
            outcome: live::outcome(recorded.status.as_ref()),
            by_user: recorded.source == "user_shell",
        }),
        "FileChange" | "patch_apply_end" => ItemBody::FileChange(FileChange {
            files: recorded.changes.iter().map(file).collect(),
            outcome: match (&recorded.status, recorded.success) {
                (None, Some(true)) => Outcome::Succeeded,
                (None, Some(false)) => Outcome::Failed,
                (status, _) => live::outcome(status.as_ref()),
            },
        }),
        "McpToolCall" | "mcp_tool_call_end" => ItemBody::ToolCall(mcp_call(recorded)),
        "DynamicToolCall" | "dynamic_tool_call_response" => ItemBody::ToolCall(ToolCall {
            place: ToolPlace::Client { namespace: recorded.namespace.clone() },
            tool: recorded.tool.clone(),
            arguments: recorded.arguments.as_ref().map(|json| json.text().to_owned()),
            result: (!recorded.content_items.is_empty())
                .then(|| live::list_text(&recorded.content_items)),
            error: None,
            succeeded: recorded.success,
            duration_ms: duration_ms(recorded),
            outcome: match (&recorded.status, recorded.success) {
                (None, Some(true)) => Outcome::Succeeded,
                (None, Some(false)) => Outcome::Failed,
                (status, _) => live::outcome(status.as_ref()),
            },
        }),
        "CollabAgentToolCall" => ItemBody::SubAgent(SubAgent {
            tool: recorded.tool.clone(),
            prompt: recorded.prompt.clone(),
            threads: recorded.receiver_thread_ids.iter().map(|id| id.as_str().into()).collect(),
            states: recorded
                .agents_states
                .iter()
                .map(|(id, state)| {
                    (id.as_str().into(), state.status.clone(), state.message.clone())
                })
                .collect(),
            outcome: live::outcome(recorded.status.as_ref()),
        }),
        "SubAgentActivity" | "sub_agent_activity" => ItemBody::SubAgent(SubAgent {
            tool: recorded.activity.clone(),
            threads: recorded.agent_thread_id.iter().map(|id| id.as_str().into()).collect(),
            ..SubAgent::default()
        }),
        "WebSearch" | "web_search_end" => live::web_search(&body::WebSearch {
            query: recorded.query.clone(),
            action: recorded.action.clone(),
        }),
        "ImageView" | "view_image_tool_call" => ItemBody::ImageView { path: path(&recorded.path) },
        "ImageGeneration" | "image_generation_end" => ItemBody::ImageGeneration {
            prompt: recorded.revised_prompt.clone(),
            saved_path: recorded.saved_path.clone(),
            status: match &recorded.status {
                Some(status) => status_word(status),
                None => String::new(),
            },
        },
        "Sleep" => ItemBody::Sleep { duration_ms: duration_ms(recorded) },
        "HookPrompt" => {
            let texts: Vec<_> =
                recorded.fragments.iter().map(|fragment| fragment.text.as_str()).collect();
            ItemBody::HookPrompt { text: texts.join("\n") }
        }
        "EnteredReviewMode" | "entered_review_mode" => {
            ItemBody::ReviewBegan { review: recorded.user_facing_hint.clone() }
        }
        "ExitedReviewMode" | "exited_review_mode" => {
            ItemBody::ReviewEnded { review: recorded.review_output.overall_explanation.clone() }
        }
        "ContextCompaction" | "context_compacted" => ItemBody::Compaction,
        _ => return None,
    })
}

fn text(part: &UserInput) -> Option<&str> {
    match part {
        UserInput::Text(text) => Some(text),
        _ => None,
    }
}

fn mcp_call(recorded: &Recorded) -> ToolCall {
    let invocation = recorded.invocation.as_ref();
    let server = invocation.map_or(&recorded.server, |invocation| &invocation.server);
    let tool = invocation.map_or(&recorded.tool, |invocation| &invocation.tool);
    let arguments = match invocation {
        Some(invocation) => invocation.arguments.as_ref(),
        None => recorded.arguments.as_ref(),
    };
    let result = recorded.result.as_ref();
    let refused = result.and_then(|result| result.err.clone());
    let error = refused.or_else(|| recorded.error.as_ref().map(error_text));
    let result = result.filter(|result| result.err.is_none());
    let result = result.map(|result| result.ok.as_deref().unwrap_or(result));
    let is_error = error.is_some() || result.is_some_and(|result| result.is_error);
    ToolCall {
        place: ToolPlace::Mcp { server: server.clone() },
        tool: tool.clone(),
        arguments: arguments.map(|json| json.text().to_owned()),
        result: result.map(result_text),
        error,
        succeeded: None,
        duration_ms: duration_ms(recorded),
        outcome: match &recorded.status {
            Some(status) => live::outcome(Some(status)),
            None if is_error => Outcome::Failed,
            None => Outcome::Succeeded,
        },
    }
}

fn result_text(result: &ToolResult) -> String {
    match &result.structured_content {
        Some(structured) => structured.text().to_owned(),
        None => live::list_text(&result.content),
    }
}

fn error_text(error: &Json) -> String {
    let read = lenient::message::<body::McpToolError>(error.as_raw());
    read.map_or_else(|_| live::output_text(error), |error| error.message)
}

fn file((path, change): (&String, &Change)) -> FileDiff {
    let (change, diff) = match change.kind.as_str() {
        "add" => (FileChangeKind::Add, change.content.clone()),
        "delete" => (FileChangeKind::Delete, change.content.clone()),
        "update" => {
            // The live stream says it in the diff as well.
            let moved = change.move_path.iter().map(|path| format!("\n\nMoved to: {path}"));
            let diff = std::iter::once(change.unified_diff.clone()).chain(moved).collect();
            (FileChangeKind::Update { moved_to: change.move_path.clone() }, diff)
        }
        other => (FileChangeKind::Other(other.to_owned()), change.unified_diff.clone()),
    };
    FileDiff { path: path.clone(), change, diff }
}

/// 0.166 writes some paths as `file:` URLs; those it percent-encodes stay as they are, which is readable and true.
fn path(text: &str) -> String {
    let plain = text.strip_prefix("file://").filter(|path| !path.contains('%'));
    plain.filter(|path| Path::new(path).is_absolute()).unwrap_or(text).to_owned()
}

fn duration_ms(recorded: &Recorded) -> Option<u64> {
    let told = recorded.duration.as_ref();
    told.map(|duration| duration.secs * 1000 + duration.nanos / 1_000_000).or(recorded.duration_ms)
}

fn status_word(status: &crate::protocol::words::ItemStatus) -> String {
    use crate::protocol::words::ItemStatus;
    match status {
        ItemStatus::InProgress => "inProgress",
        ItemStatus::Completed => "completed",
        ItemStatus::Failed => "failed",
        ItemStatus::Declined => "declined",
        ItemStatus::Interrupted => "interrupted",
        ItemStatus::Other(word) => word,
    }
    .to_owned()
}

/// The live stream writes the same names with a small first letter.
fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
