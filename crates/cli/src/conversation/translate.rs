//! Codex's words as things to show.

use ostler_codex::protocol::item::body::{CommandExecution, FileChange};
use ostler_codex::protocol::turn::Turn;
use ostler_codex::protocol::words::{ItemStatus, TurnStatus};
use ostler_codex::protocol::{Item, ItemBody, Notification};
use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::decision::Remember;
use ostler_model::{Ask, AskKind, Decision};

use super::{FileShown, Shown};

/// What a person sees of a notification; nothing for most of them.
pub(crate) fn notification(notification: &Notification<'_>) -> Option<Shown> {
    Some(match notification {
        Notification::AgentMessageDelta(delta) => Shown::Text {
            item: delta.item_id.clone().into_owned(),
            delta: delta.delta.clone().into_owned(),
        },
        Notification::ItemStarted(event) => return started(&event.item),
        Notification::ItemCompleted(event) => return completed(&event.item),
        Notification::ThreadTokenUsageUpdated(usage) => {
            let last = &usage.token_usage.last;
            Shown::Usage {
                input_tokens: last.input_tokens,
                cached_input_tokens: last.cached_input_tokens,
                output_tokens: last.output_tokens,
            }
        }
        Notification::Error(notice) => Shown::Warning {
            text: match notice.will_retry {
                true => format!("{} (Codex tries again)", notice.error.message),
                false => notice.error.message.clone(),
            },
        },
        Notification::Warning(warning) => Shown::Warning { text: warning.message.clone() },
        Notification::ConfigWarning(warning) => Shown::Warning { text: warning.summary.clone() },
        Notification::TurnCompleted(event) => Shown::TurnDone {
            status: turn_status(&event.turn),
            error: event.turn.error.as_ref().map(|error| error.message.clone()),
        },
        _ => return None,
    })
}

fn started(item: &Item<'_>) -> Option<Shown> {
    let ItemBody::CommandExecution(command) = &item.body else { return None };
    Some(Shown::Command {
        item: item.id.to_string(),
        command: command.command.clone(),
        cwd: command.cwd.clone(),
    })
}

fn completed(item: &Item<'_>) -> Option<Shown> {
    let id = item.id.to_string();
    match &item.body {
        ItemBody::AgentMessage(message) => {
            Some(Shown::TextDone { item: id, text: message.text.clone() })
        }
        ItemBody::Reasoning(reasoning) => {
            let text = reasoning.summary.join("\n");
            (!text.is_empty()).then_some(Shown::Thinking { text })
        }
        ItemBody::CommandExecution(command) => Some(command_done(id, command)),
        ItemBody::FileChange(change) => Some(Shown::FileChange {
            item: id,
            status: item_status(change.status.as_ref()),
            files: files(change),
        }),
        _ => None,
    }
}

fn command_done(item: String, command: &CommandExecution) -> Shown {
    Shown::CommandDone {
        item,
        command: command.command.clone(),
        status: item_status(command.status.as_ref()),
        exit_code: command.exit_code,
        duration_ms: command.duration_ms,
        output: command.aggregated_output.clone().unwrap_or_default(),
    }
}

pub(crate) fn files(change: &FileChange) -> Vec<FileShown> {
    let shown = |file: &ostler_codex::protocol::item::body::FileUpdate| FileShown {
        path: file.path.clone(),
        change: file.kind.kind.clone(),
        diff: file.diff.clone(),
    };
    change.changes.iter().map(shown).collect()
}

/// The same file as the asks know it.
pub(crate) fn file_diff(file: &FileShown) -> FileDiff {
    let change = match file.change.as_str() {
        "add" => FileChangeKind::Add,
        "delete" => FileChangeKind::Delete,
        "update" => FileChangeKind::Update { moved_to: None },
        other => FileChangeKind::Other(other.to_owned()),
    };
    FileDiff { path: file.path.clone(), change, diff: file.diff.clone() }
}

pub(crate) fn ask(ask: &Ask) -> Shown {
    let (what, command, cwd, files) = match &ask.kind {
        AskKind::Command(command) => {
            ("Codex asks to run a command", command.command.clone(), command.cwd.clone(), vec![])
        }
        AskKind::FileChange(change) => {
            let files = change.files.iter().map(file_shown).collect();
            ("Codex asks to change files", None, change.grant_root.clone(), files)
        }
        AskKind::Permissions(wanted) => {
            ("Codex asks for more permissions", None, wanted.cwd.clone(), vec![])
        }
        AskKind::UserInput(_) => ("Codex asks you a question", None, None, vec![]),
        AskKind::Elicitation(_) => ("a tool asks you a question", None, None, vec![]),
        AskKind::ToolCall(_) => ("Codex asks for a tool of ours", None, None, vec![]),
        AskKind::TokenRefresh { .. } => ("Codex asks for fresh tokens", None, None, vec![]),
        AskKind::Other { .. } => ("Codex asks something new", None, None, vec![]),
    };
    Shown::Ask {
        what: what.to_owned(),
        command,
        files,
        cwd,
        reason: ask.reason.clone(),
        choices: ask.offers.iter().map(decision).collect(),
    }
}

fn file_shown(file: &FileDiff) -> FileShown {
    let change = match &file.change {
        FileChangeKind::Add => "add",
        FileChangeKind::Delete => "delete",
        FileChangeKind::Update { .. } => "update",
        FileChangeKind::Other(other) => other,
    };
    FileShown { path: file.path.clone(), change: change.to_owned(), diff: file.diff.clone() }
}

/// A decision in a few words, the same in text and in JSON.
pub(crate) fn decision(decision: &Decision) -> String {
    match decision {
        Decision::Once => "allowed once".to_owned(),
        Decision::Session => "allowed for this session".to_owned(),
        Decision::Always(Remember::CommandPrefix(words)) => {
            format!("always allowed: {}", words.join(" "))
        }
        Decision::Always(Remember::Host { host, allowed: true }) => {
            format!("always allowed: {host}")
        }
        Decision::Always(Remember::Host { host, allowed: false }) => format!("never: {host}"),
        Decision::Always(Remember::Tool) => "always allowed: this tool".to_owned(),
        Decision::Deny => "denied".to_owned(),
        Decision::Cancel => "denied, and the turn cancelled".to_owned(),
        Decision::Grant { .. } => "granted".to_owned(),
        Decision::Answers(_) | Decision::Form(_) | Decision::ToolResult { .. } => {
            "answered".to_owned()
        }
    }
}

pub(crate) fn turn_status(turn: &Turn) -> String {
    match &turn.status {
        Some(TurnStatus::Completed) => "completed".to_owned(),
        Some(TurnStatus::Interrupted) => "interrupted".to_owned(),
        Some(TurnStatus::Failed) => "failed".to_owned(),
        Some(TurnStatus::InProgress) => "in progress".to_owned(),
        Some(TurnStatus::Other(word)) => word.clone(),
        None => "unknown".to_owned(),
    }
}

fn item_status(status: Option<&ItemStatus>) -> String {
    match status {
        Some(ItemStatus::Completed) => "completed".to_owned(),
        Some(ItemStatus::Failed) => "failed".to_owned(),
        Some(ItemStatus::Declined) => "declined".to_owned(),
        Some(ItemStatus::Interrupted) => "interrupted".to_owned(),
        Some(ItemStatus::InProgress) => "in progress".to_owned(),
        Some(ItemStatus::Other(word)) => word.clone(),
        None => "unknown".to_owned(),
    }
}
