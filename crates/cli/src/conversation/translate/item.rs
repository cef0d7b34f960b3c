//! Steps of a turn as things to show.

use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::item::{Command, FileChange, ItemEnd, Outcome, Sender, SubAgent, ToolCall};
use ostler_model::{Item, ItemBody};

use super::super::shown::{FileShown, Shown};
use super::super::words;

pub(super) fn began(item: &Item) -> Option<Shown> {
    let id = item.id.to_string();
    match &item.body {
        ItemBody::Command(command) => Some(Shown::Command {
            item: id,
            command: command.command.clone(),
            cwd: command.cwd.clone(),
        }),
        ItemBody::ToolCall(call) => Some(Shown::Tool {
            item: id,
            tool: words::tool(call),
            arguments: call.arguments.clone(),
        }),
        _ => None,
    }
}

pub(super) fn ended(item: &Item, how: ItemEnd) -> Option<Shown> {
    let id = item.id.to_string();
    Some(match &item.body {
        ItemBody::UserMessage(message) if message.sender == Sender::Elsewhere => {
            Shown::PromptElsewhere { text: message.text.clone() }
        }
        // It was shown when it was given.
        ItemBody::UserMessage(_) => return None,
        ItemBody::AgentMessage(message) => Shown::TextDone {
            item: id,
            text: message.text.clone(),
            phase: words::phase(message.phase).to_owned(),
            how: words::item_end(how).to_owned(),
        },
        ItemBody::Plan { text } => Shown::TextDone {
            item: id,
            text: text.clone(),
            phase: "plan".to_owned(),
            how: words::item_end(how).to_owned(),
        },
        ItemBody::Reasoning(reasoning) => {
            let parts = [&reasoning.summary, &reasoning.content];
            let text = parts.into_iter().find(|part| !part.is_empty())?.join("\n");
            Shown::ThinkingDone { item: id, text }
        }
        ItemBody::Command(command) => command_done(id, command),
        ItemBody::FileChange(change) => file_change(id, change),
        ItemBody::ToolCall(call) => tool_done(id, call),
        ItemBody::SubAgent(agent) => sub_agent(id, agent),
        other => doing(id, other)?,
    })
}

/// A step of another turn, or one that is told after its turn's end.
pub(super) fn stray(item: &Item) -> Option<Shown> {
    match &item.body {
        ItemBody::Command(_) | ItemBody::FileChange(_) | ItemBody::ToolCall(_) => {
            ended(item, ItemEnd::Reported)
        }
        _ => None,
    }
}

fn command_done(item: String, command: &Command) -> Shown {
    Shown::CommandDone {
        item,
        command: command.command.clone(),
        status: words::outcome(&command.outcome).to_owned(),
        exit_code: command.exit_code,
        duration_ms: command.duration_ms,
        output: command.output.clone(),
    }
}

fn file_change(item: String, change: &FileChange) -> Shown {
    Shown::FileChange {
        item,
        status: words::outcome(&change.outcome).to_owned(),
        files: files(&change.files),
    }
}

pub(super) fn files(files: &[FileDiff]) -> Vec<FileShown> {
    let shown = |file: &FileDiff| FileShown {
        path: file.path.clone(),
        change: words::change(&file.change).to_owned(),
        moved_to: match &file.change {
            FileChangeKind::Update { moved_to } => moved_to.clone(),
            _ => None,
        },
        diff: file.diff.clone(),
    };
    files.iter().map(shown).collect()
}

fn tool_done(item: String, call: &ToolCall) -> Shown {
    Shown::ToolDone {
        item,
        tool: words::tool(call),
        arguments: call.arguments.clone(),
        status: match call.succeeded {
            Some(false) => "failed".to_owned(),
            _ => words::outcome(&call.outcome).to_owned(),
        },
        duration_ms: call.duration_ms,
        result: call.result.clone(),
        error: call.error.clone(),
    }
}

fn sub_agent(item: String, agent: &SubAgent) -> Shown {
    Shown::SubAgent {
        item,
        action: agent.tool.clone(),
        prompt: agent.prompt.clone(),
        threads: agent.threads.iter().map(ToString::to_string).collect(),
        // Codex tells of some things that agents do without a word for how they ended.
        status: match &agent.outcome {
            Outcome::Unknown => String::new(),
            outcome => words::outcome(outcome).to_owned(),
        },
    }
}

/// Steps that a sentence is enough for.
fn doing(item: String, body: &ItemBody) -> Option<Shown> {
    let (kind, text) = match body {
        ItemBody::WebSearch { query, detail } => {
            let detail = detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
            ("web_search", format!("searched the web: {query}{detail}"))
        }
        ItemBody::ImageView { path } => ("image_view", format!("looked at {path}")),
        ItemBody::ImageGeneration { saved_path, status, .. } => {
            let place = saved_path.as_deref().map(|path| format!(" into {path}"));
            ("image_generation", format!("made an image{}: {status}", place.unwrap_or_default()))
        }
        ItemBody::Sleep { duration_ms } => {
            let long = duration_ms.map(|ms| format!(" for {} s", ms.div_ceil(1000)));
            ("sleep", format!("waited{}", long.unwrap_or_default()))
        }
        ItemBody::ToolOutput { name, output } => ("tool_output", format!("{name}: {output}")),
        ItemBody::HookPrompt { text } => ("hook", format!("a hook said: {text}")),
        ItemBody::ReviewBegan { review } => ("review_began", format!("reviewing: {review}")),
        ItemBody::ReviewEnded { review } => ("review_ended", format!("review: {review}")),
        ItemBody::Other { name, .. } => ("other", format!("did something new: {name}")),
        // Told by an update of its own.
        ItemBody::Compaction => return None,
        _ => return None,
    };
    Some(Shown::Doing { item, kind: kind.to_owned(), text })
}
