//! Our words for what the model room knows, the same in text and in JSON.

use ostler_model::Decision;
use ostler_model::ask::FileChangeKind;
use ostler_model::decision::{GrantHolds, Remember};
use ostler_model::item::{ItemEnd, MessagePhase, Outcome, ToolCall, ToolPlace};
use ostler_model::plan::PlanStatus;
use ostler_model::thread::{AskEnd, DecisionRefusal, Finding, SeenState, Withdrawal};

pub(crate) fn outcome(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Running => "running",
        Outcome::Succeeded => "completed",
        Outcome::Failed => "failed",
        Outcome::Declined => "declined",
        Outcome::Interrupted => "interrupted",
        Outcome::Unknown => "unknown",
        Outcome::Other(word) => word,
    }
}

pub(crate) fn item_end(how: ItemEnd) -> &'static str {
    match how {
        ItemEnd::Reported => "completed",
        ItemEnd::Interrupted => "interrupted",
        ItemEnd::Superseded => "superseded",
    }
}

pub(crate) fn phase(phase: MessagePhase) -> &'static str {
    match phase {
        MessagePhase::Unmarked => "unmarked",
        MessagePhase::Commentary => "commentary",
        MessagePhase::PartialAnswer => "partial_answer",
        MessagePhase::FinalAnswer => "final_answer",
    }
}

pub(crate) fn plan_status(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Pending => "pending",
        PlanStatus::InProgress => "in_progress",
        PlanStatus::Completed => "completed",
    }
}

pub(crate) fn change(change: &FileChangeKind) -> &str {
    match change {
        FileChangeKind::Add => "add",
        FileChangeKind::Delete => "delete",
        FileChangeKind::Update { .. } => "update",
        FileChangeKind::Other(other) => other,
    }
}

/// The tool with the place it lives in.
pub(crate) fn tool(call: &ToolCall) -> String {
    match &call.place {
        ToolPlace::Mcp { server } => format!("{server}.{}", call.tool),
        ToolPlace::Client { namespace: Some(namespace) } => format!("{namespace}.{}", call.tool),
        ToolPlace::Client { namespace: None } => call.tool.clone(),
    }
}

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
        Decision::Grant { holds: GrantHolds::Turn, .. } => "granted for this turn".to_owned(),
        Decision::Grant { holds: GrantHolds::Session, .. } => "granted for this session".to_owned(),
        Decision::Answers(_) | Decision::Form(_) | Decision::ToolResult { .. } => {
            "answered".to_owned()
        }
    }
}

/// Why an answer does not count.
pub(crate) fn decision_refusal(why: &DecisionRefusal) -> String {
    match why {
        DecisionRefusal::NotOffered => "the question does not take that answer".to_owned(),
        DecisionRefusal::Decided { by } => format!("{by} was first"),
        DecisionRefusal::NotForPeople => "a program answers that question".to_owned(),
        DecisionRefusal::Closed => "that question needs no answer any more".to_owned(),
    }
}

/// Why an ask needs no answer any more, where nobody here decided it.
pub(crate) fn ask_end(how: &AskEnd) -> String {
    match how {
        AskEnd::Decided { decision: decided, by } => format!("{} by {by}", decision(decided)),
        AskEnd::Declined { reason } => format!("declined: {reason}"),
        AskEnd::Withdrawn { reason: Withdrawal::Elsewhere } => {
            "answered elsewhere, or taken back by Codex".to_owned()
        }
        AskEnd::Withdrawn { reason: Withdrawal::TurnEnded } => {
            "taken back: the turn is over".to_owned()
        }
        AskEnd::Withdrawn { reason: Withdrawal::Disconnected } => {
            "taken back: the connection to Codex broke".to_owned()
        }
        AskEnd::Refused => "refused: this version of ostler cannot answer it".to_owned(),
        AskEnd::Served => "served".to_owned(),
        AskEnd::Lost { reason } => format!("the answer was lost: {reason}"),
    }
}

pub(crate) fn finding(found: &Finding) -> String {
    match found {
        Finding::Answers { state } => {
            let state = match state {
                SeenState::Active => "the turn is at work",
                SeenState::Waiting => "the turn waits for an answer",
                SeenState::Idle => "the thread is idle",
                SeenState::NotLoaded => "the thread is not loaded",
                SeenState::Unknown => "not how the thread stands",
            };
            format!("the app-server answers and says: {state}")
        }
        Finding::Silent { reason } => format!("the app-server does not answer: {reason}"),
    }
}
