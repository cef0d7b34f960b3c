//! What happened besides words and calls, in a sentence each. They stand in brackets, so that nobody, a model least of
//! all, takes them for what the model said.

use ostler_model::item::{ItemBody, ItemEnd, Outcome, SubAgent};

use super::{cut, json, parts, tool};

pub(crate) fn sentence(body: &ItemBody, end: ItemEnd) -> String {
    match body {
        ItemBody::Plan { text } => format!("[plan]\n{text}"),
        ItemBody::SubAgent(agent) => sub_agent(agent, end),
        ItemBody::WebSearch { query, detail } => match (query.as_str(), detail) {
            ("", Some(detail)) => format!("[web search: {detail}]"),
            (query, None) => format!("[searched the web for {query:?}]"),
            (query, Some(detail)) => format!("[searched the web for {query:?}: {detail}]"),
        },
        ItemBody::ImageView { path } => format!("[looked at the image {path}]"),
        ItemBody::ImageGeneration { prompt, saved_path, status } => {
            let done = matches!(status.as_str(), "completed" | "generating" | "");
            let mut text =
                if done { "[made an image".to_owned() } else { format!("[image {status}") };
            text.extend(saved_path.as_ref().map(|path| format!(" at {path}")));
            text.extend(prompt.as_ref().map(|prompt| format!(": {prompt}")));
            text + "]"
        }
        ItemBody::Sleep { duration_ms: None } => "[waited]".to_owned(),
        ItemBody::Sleep { duration_ms: Some(duration) } => {
            format!("[waited {}.{:03} s]", duration / 1000, duration % 1000)
        }
        ItemBody::ToolOutput { name, output } => {
            format!("[output of {name}]\n{}", cut::text(output, cut::RESULT))
        }
        ItemBody::HookPrompt { text } => format!("[a hook added]\n{text}"),
        ItemBody::ReviewBegan { review } => format!("[review began: {review}]"),
        ItemBody::ReviewEnded { review } => format!("[review ended]\n{review}"),
        ItemBody::Compaction => "[the history was compacted to make room]".to_owned(),
        ItemBody::Other { name, json } => {
            format!("[codex {name}] {}", json::write(&json::read(json), cut::OPAQUE))
        }
        // These have messages of their own; their name is better than nothing if one ever comes here.
        ItemBody::UserMessage(_) => "[user message]".to_owned(),
        ItemBody::AgentMessage(_) => "[agent message]".to_owned(),
        ItemBody::Reasoning(_) => "[reasoning]".to_owned(),
        ItemBody::Command(_) => "[command]".to_owned(),
        ItemBody::FileChange(_) => "[file change]".to_owned(),
        ItemBody::ToolCall(_) => "[tool call]".to_owned(),
    }
}

fn sub_agent(agent: &SubAgent, end: ItemEnd) -> String {
    let mut text = format!("[sub-agent {}", agent.tool);
    let outcome = parts::outcome(&agent.outcome, end);
    if !matches!(outcome, Outcome::Succeeded | Outcome::Unknown) {
        text += &format!(" {}", tool::word(&outcome));
    }
    let threads: Vec<_> = agent.threads.iter().map(|thread| thread.as_str()).collect();
    if !threads.is_empty() {
        text += &format!(", thread {}", threads.join(", "));
    }
    text += "]";
    if let Some(prompt) = &agent.prompt {
        text += &format!("\n{}", cut::text(prompt, cut::RESULT));
    }
    for (thread, state, message) in &agent.states {
        text += &format!("\n{thread}: {state}");
        if let Some(message) = message {
            text += &format!(": {}", cut::text(message, cut::RESULT));
        }
    }
    text
}
