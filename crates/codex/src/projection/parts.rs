//! What one item contributes to the messages.

use ostler_model::item::{
    Attachment, Command, FileChange, Item, ItemBody, ItemEnd, Outcome, ToolCall, ToolPlace,
    UserMessage,
};

use super::{sentence, tool};

pub(crate) enum Part {
    Nothing,
    User(String),
    /// The model's own words.
    Said(String),
    /// Our words for what happened.
    Note(String),
    Thought(String),
    Call(Call),
}

/// A call of a tool with what it gave back.
pub(crate) struct Call {
    /// What its id begins with.
    pub(crate) stem: String,
    pub(crate) name: String,
    /// JSON text of an object.
    pub(crate) arguments: String,
    pub(crate) content: String,
}

pub(crate) fn part(item: &Item, end: ItemEnd) -> Part {
    match &item.body {
        ItemBody::UserMessage(message) => Part::User(user_text(message)),
        ItemBody::AgentMessage(message) => Part::Said(message.text.clone()),
        ItemBody::Reasoning(reasoning) => {
            let parts: Vec<_> =
                reasoning.summary.iter().chain(&reasoning.content).map(String::as_str).collect();
            if parts.is_empty() { Part::Nothing } else { Part::Thought(parts.join("\n")) }
        }
        ItemBody::Command(command) => Part::Call(self::command(command, end)),
        ItemBody::FileChange(change) => Part::Call(file_change(change, end)),
        ItemBody::ToolCall(call) => Part::Call(tool_call(call, end)),
        _ => Part::Note(sentence::sentence(&item.body, end)),
    }
}

/// How a step ended: a step that was running when its turn ended was interrupted.
pub(crate) fn outcome(outcome: &Outcome, end: ItemEnd) -> Outcome {
    match (end, outcome) {
        (ItemEnd::Interrupted, Outcome::Running | Outcome::Unknown) => Outcome::Interrupted,
        _ => outcome.clone(),
    }
}

/// The name under which a tool call is projected.
pub(crate) fn tool_name(call: &ToolCall) -> String {
    let tool = named(&call.tool, "unknown");
    match &call.place {
        ToolPlace::Mcp { server } => format!("mcp.{}.{tool}", named(server, "mcp")),
        ToolPlace::Client { .. } => tool.to_owned(),
    }
}

fn command(command: &Command, end: ItemEnd) -> Call {
    Call {
        stem: "codex_exec_".to_owned(),
        name: "exec_command".to_owned(),
        arguments: tool::command_arguments(command),
        content: tool::command_content(command, &outcome(&command.outcome, end)),
    }
}

fn file_change(change: &FileChange, end: ItemEnd) -> Call {
    Call {
        stem: "codex_apply_patch_".to_owned(),
        name: "apply_patch".to_owned(),
        arguments: tool::patch_arguments(change),
        content: tool::patch_content(change, &outcome(&change.outcome, end)),
    }
}

fn tool_call(call: &ToolCall, end: ItemEnd) -> Call {
    let tool = named(&call.tool, "unknown");
    Call {
        stem: match &call.place {
            ToolPlace::Mcp { server } => format!("codex_mcp__{}__{tool}_", named(server, "mcp")),
            ToolPlace::Client { .. } => format!("codex_dyn_{tool}_"),
        },
        name: tool_name(call),
        arguments: tool::call_arguments(call),
        content: tool::call_content(call, &outcome(&call.outcome, end)),
    }
}

fn named<'a>(name: &'a str, otherwise: &'a str) -> &'a str {
    if name.is_empty() { otherwise } else { name }
}

fn user_text(message: &UserMessage) -> String {
    let attachments = message.attachments.iter().map(|attachment| match attachment {
        Attachment::Image { url: None } => "[image attached]".to_owned(),
        Attachment::Image { url: Some(url) } => format!("[image attached: {url}]"),
        Attachment::File { path } => format!("[file attached: {path}]"),
        Attachment::Skill { name } => format!("[skill: {name}]"),
        Attachment::Mention { name } => format!("[mention: {name}]"),
        Attachment::Other(kind) => format!("[attached: {kind}]"),
    });
    let text = Some(message.text.clone()).filter(|text| !text.is_empty());
    text.into_iter().chain(attachments).collect::<Vec<_>>().join("\n")
}
