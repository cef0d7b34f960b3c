//! Codex's items in our own words. Never fails: what we do not know keeps its name and its JSON.

use ostler_model::ask::FileDiff;
use ostler_model::item::{
    AgentMessage, Attachment, Command, FileChange, Item, ItemBody, MessagePhase, Outcome,
    Reasoning, Sender, SubAgent, ToolCall, ToolPlace, UserMessage,
};
use ostler_model::{InputId, ThreadId};

use crate::protocol::item::body;
use crate::protocol::user_input::UserInput;
use crate::protocol::words::{self, CommandSource, ItemStatus};
use crate::protocol::{self, Json};

/// One item of Codex's in our own words.
pub fn translate(item: &protocol::Item<'_>) -> Item {
    use protocol::ItemBody as From;
    let body = match &item.body {
        From::UserMessage(message) => ItemBody::UserMessage(user_message(message)),
        From::AgentMessage(message) => ItemBody::AgentMessage(AgentMessage {
            text: message.text.clone(),
            phase: phase(message.phase.as_ref()),
        }),
        From::Reasoning(reasoning) => ItemBody::Reasoning(Reasoning {
            summary: reasoning.summary.clone(),
            content: reasoning.content.clone(),
        }),
        From::Plan(plan) => ItemBody::Plan { text: plan.text.clone() },
        From::CommandExecution(command) => ItemBody::Command(self::command(command)),
        From::FileChange(change) => ItemBody::FileChange(FileChange {
            files: change.changes.iter().map(FileDiff::from).collect(),
            outcome: outcome(change.status.as_ref()),
        }),
        From::McpToolCall(call) => ItemBody::ToolCall(mcp_call(call)),
        From::DynamicToolCall(call) => ItemBody::ToolCall(dynamic_call(call)),
        From::CollabAgentToolCall(call) => ItemBody::SubAgent(collab_call(call)),
        From::SubAgentActivity(activity) => ItemBody::SubAgent(SubAgent {
            tool: activity.kind.clone(),
            threads: activity.agent_thread_id.iter().cloned().collect(),
            ..SubAgent::default()
        }),
        From::WebSearch(search) => web_search(search),
        From::ImageView(view) => ItemBody::ImageView { path: view.path.clone() },
        From::ImageGeneration(image) => ItemBody::ImageGeneration {
            prompt: image.revised_prompt.clone(),
            saved_path: image.saved_path.clone(),
            status: image.status.clone(),
        },
        From::Sleep(sleep) => ItemBody::Sleep { duration_ms: sleep.duration_ms },
        From::FunctionCallOutput(output) => ItemBody::ToolOutput {
            name: output.name.clone(),
            output: output.output.as_ref().map(output_text).unwrap_or_default(),
        },
        From::HookPrompt(prompt) => {
            let fragments: Vec<_> =
                prompt.fragments.iter().map(|fragment| fragment.text.as_str()).collect();
            ItemBody::HookPrompt { text: fragments.join("\n") }
        }
        From::EnteredReviewMode(mode) => ItemBody::ReviewBegan { review: mode.review.clone() },
        From::ExitedReviewMode(mode) => ItemBody::ReviewEnded { review: mode.review.clone() },
        From::ContextCompaction => ItemBody::Compaction,
        From::Other => {
            ItemBody::Other { name: item.type_name.clone(), json: item.raw.get().to_owned() }
        }
    };
    Item { id: item.id.clone(), body }
}

/// Codex's word for how a step stands, in ours.
pub(crate) fn outcome(status: Option<&ItemStatus>) -> Outcome {
    match status {
        None => Outcome::Unknown,
        Some(ItemStatus::InProgress) => Outcome::Running,
        Some(ItemStatus::Completed) => Outcome::Succeeded,
        Some(ItemStatus::Failed) => Outcome::Failed,
        Some(ItemStatus::Declined) => Outcome::Declined,
        Some(ItemStatus::Interrupted) => Outcome::Interrupted,
        Some(ItemStatus::Other(word)) => Outcome::Other(word.clone()),
    }
}

pub(crate) fn phase(phase: Option<&words::MessagePhase>) -> MessagePhase {
    match phase {
        None | Some(words::MessagePhase::Other(_)) => MessagePhase::Unmarked,
        Some(words::MessagePhase::Commentary) => MessagePhase::Commentary,
        Some(words::MessagePhase::PartialAnswer) => MessagePhase::PartialAnswer,
        Some(words::MessagePhase::FinalAnswer) => MessagePhase::FinalAnswer,
    }
}

pub(crate) fn user_message(message: &body::UserMessage) -> UserMessage {
    let mut texts = Vec::new();
    let mut attachments = Vec::new();
    for part in &message.content {
        match part {
            UserInput::Text(text) => texts.push(text.as_str()),
            UserInput::Image { url } => attachments.push(Attachment::Image {
                // The bytes of an image have no place in a history of texts.
                url: (!url.starts_with("data:")).then(|| url.clone()),
            }),
            UserInput::LocalImage { path } => {
                attachments.push(Attachment::File { path: path.clone() });
            }
            UserInput::Skill { name, .. } => {
                attachments.push(Attachment::Skill { name: name.clone() });
            }
            UserInput::Mention { name, .. } => {
                attachments.push(Attachment::Mention { name: name.clone() });
            }
            UserInput::Other(kind) => attachments.push(Attachment::Other(kind.clone())),
        }
    }
    let input = message.client_id.as_deref().map(InputId::from);
    UserMessage { text: texts.join("\n"), attachments, input, sender: Sender::default() }
}

pub(crate) fn web_search(search: &body::WebSearch) -> ItemBody {
    let action = search.action.as_ref();
    let detail = action.and_then(|action| match (&action.url, &action.pattern) {
        (Some(url), Some(pattern)) => Some(format!("looked for {pattern:?} in {url}")),
        (Some(url), None) => Some(format!("opened {url}")),
        (None, Some(pattern)) => Some(format!("looked for {pattern:?}")),
        // What the action searched for is the query again, unless it was several.
        (None, None) => (action.queries.len() > 1).then(|| action.queries.join("; ")),
    });
    let asked =
        action.and_then(|action| action.query.clone().or_else(|| action.queries.first().cloned()));
    let query =
        if search.query.is_empty() { asked.unwrap_or_default() } else { search.query.clone() };
    ItemBody::WebSearch { query, detail }
}

/// A tool's output for reading: a text as it is, the texts of a list of parts, else the JSON.
pub(crate) fn output_text(output: &Json) -> String {
    if let Ok(text) = serde_json::from_str::<String>(output.text()) {
        return text;
    }
    match serde_json::from_str::<Vec<UserInput>>(output.text()) {
        Ok(parts) if parts.iter().any(|part| matches!(part, UserInput::Text(_))) => {
            let texts: Vec<_> = parts
                .iter()
                .map(|part| match part {
                    UserInput::Text(text) => text.clone(),
                    UserInput::Other(kind) => format!("[{kind}]"),
                    _ => "[attachment]".to_owned(),
                })
                .collect();
            texts.join("\n")
        }
        _ => output.text().to_owned(),
    }
}

fn command(command: &body::CommandExecution) -> Command {
    Command {
        command: command.command.clone(),
        cwd: command.cwd.clone(),
        output: command.aggregated_output.clone().unwrap_or_default(),
        exit_code: command.exit_code,
        duration_ms: command.duration_ms,
        outcome: outcome(command.status.as_ref()),
        by_user: command.source == Some(CommandSource::UserShell),
    }
}

fn mcp_call(call: &body::McpToolCall) -> ToolCall {
    ToolCall {
        place: ToolPlace::Mcp { server: call.server.clone() },
        tool: call.tool.clone(),
        arguments: call.arguments.as_ref().map(|json| json.text().to_owned()),
        result: call.result.as_ref().map(|result| match &result.structured_content {
            Some(structured) => structured.text().to_owned(),
            None => list_text(&result.content),
        }),
        error: call.error.as_ref().map(|error| error.message.clone()),
        succeeded: None,
        duration_ms: call.duration_ms,
        outcome: outcome(call.status.as_ref()),
    }
}

fn dynamic_call(call: &body::DynamicToolCall) -> ToolCall {
    ToolCall {
        place: ToolPlace::Client { namespace: call.namespace.clone() },
        tool: call.tool.clone(),
        arguments: call.arguments.as_ref().map(|json| json.text().to_owned()),
        result: (!call.content_items.is_empty()).then(|| list_text(&call.content_items)),
        error: None,
        succeeded: call.success,
        duration_ms: call.duration_ms,
        outcome: outcome(call.status.as_ref()),
    }
}

fn collab_call(call: &body::CollabAgentToolCall) -> SubAgent {
    let state = |(thread, state): (&String, &body::CollabAgentState)| {
        (ThreadId::from(thread.as_str()), state.status.clone(), state.message.clone())
    };
    SubAgent {
        tool: call.tool.clone(),
        prompt: call.prompt.clone(),
        threads: call.receiver_thread_ids.clone(),
        states: call.agents_states.iter().map(state).collect(),
        outcome: outcome(call.status.as_ref()),
    }
}

/// A list of JSON texts as one JSON text.
pub(crate) fn list_text(parts: &[Json]) -> String {
    let texts: Vec<_> = parts.iter().map(Json::text).collect();
    format!("[{}]", texts.join(","))
}

#[cfg(test)]
mod tests;
