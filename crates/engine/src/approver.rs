//! A program of the operator's that decides asks: the ask as JSON on its stdin, the decision as JSON on its stdout.
//!
//! It never makes anything wider than a person could: what the ask does not take is no decision. If it fails, takes too
//! long, or says nothing, people are asked.

use std::time::Duration;

use ostler_model::Decision;
use ostler_model::ask::{Ask, AskKind};
use ostler_model::task::{AskRecord, DecidedBy, DecisionRecord};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::program;
use crate::shared::now;

/// A decision is one short object.
const MOST_OUTPUT: u64 = 64 * 1024;

#[derive(Debug, Clone)]
pub struct Approver {
    /// The program and its arguments.
    pub command: Vec<String>,
    pub timeout: Duration,
    /// Which kinds of ask it is for; empty: all of them.
    pub kinds: Vec<String>,
}

/// Who asks, as the program is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    /// A task, or the conversation of a host agent.
    pub(crate) task: &'a str,
    pub(crate) title: &'a str,
    pub(crate) cwd: &'a str,
}

#[derive(Serialize)]
struct Question<'a> {
    version: u32,
    ask: &'a str,
    task: &'a str,
    title: &'a str,
    cwd: &'a str,
    kind: &'static str,
    digest: &'a str,
    content: &'a Ask,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Once,
    Session,
    Deny,
    Cancel,
    /// Leave it to people.
    Ask,
}

#[derive(Debug, Deserialize)]
struct Reply {
    decision: Word,
    #[serde(default)]
    reason: Option<String>,
}

impl Approver {
    pub(crate) fn is_for(&self, content: &Ask) -> bool {
        let kind = kind_name(&content.kind);
        self.kinds.is_empty() || self.kinds.iter().any(|known| known == kind)
    }

    /// None if people must decide.
    pub(crate) async fn decide(&self, asker: Asker<'_>, ask: &AskRecord) -> Option<DecisionRecord> {
        let question = Question {
            version: 1,
            ask: ask.id.as_str(),
            task: asker.task,
            title: asker.title,
            cwd: asker.cwd,
            kind: kind_name(&ask.content.kind),
            digest: &ask.digest,
            content: &ask.content,
        };
        let question = serde_json::to_vec(&question).ok()?;
        let reply = match timeout(self.timeout, self.run(&question)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(reason)) => {
                tracing::warn!(ask = %ask.id, reason, "the approver failed; people are asked");
                return None;
            }
            Err(_) => {
                tracing::warn!(ask = %ask.id, "the approver took too long; people are asked");
                return None;
            }
        };
        let decision = match reply.decision {
            Word::Once => Decision::Once,
            Word::Session => Decision::Session,
            Word::Deny => Decision::Deny,
            Word::Cancel => Decision::Cancel,
            Word::Ask => return None,
        };
        if !ask.content.takes(&decision) {
            tracing::warn!(ask = %ask.id, ?decision, "the ask does not take what the approver decided; people are asked");
            return None;
        }
        let program = self.command.first().cloned().unwrap_or_default();
        Some(DecisionRecord {
            decision,
            by: DecidedBy::Approver { program },
            reason: reply.reason,
            at: now(),
        })
    }

    async fn run(&self, question: &[u8]) -> Result<Reply, String> {
        let ran = program::run(&self.command, question, MOST_OUTPUT).await?;
        if !ran.status.success() {
            let program = self.command.first().map_or("", String::as_str);
            return Err(format!("{program} ended with {}", ran.status));
        }
        serde_json::from_slice(&ran.output)
            .map_err(|error| format!("its output is no decision: {error}"))
    }
}

/// The word for a kind of ask, the same in the approver's input and in the configuration.
pub fn kind_name(kind: &AskKind) -> &'static str {
    match kind {
        AskKind::Command(_) => "command",
        AskKind::FileChange(_) => "file_change",
        AskKind::Permissions(_) => "permissions",
        AskKind::UserInput(_) => "user_input",
        AskKind::Elicitation(_) => "elicitation",
        AskKind::ToolCall(_) => "tool_call",
        AskKind::TokenRefresh { .. } => "token_refresh",
        AskKind::Continue { .. } => "continue",
        AskKind::Other { .. } => "other",
    }
}
