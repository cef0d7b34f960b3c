//! What each notification carries, as far as we use it.

use std::borrow::Cow;

use ostler_model::{ItemId, ThreadId, TurnId};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocol::approval_policy::ApprovalPolicy;
use crate::protocol::error::TurnError;
use crate::protocol::goal::ThreadGoal;
use crate::protocol::item::Item;
use crate::protocol::item::body::FileUpdate;
use crate::protocol::lenient;
use crate::protocol::limits::{RateLimits, TokenUsage};
use crate::protocol::settings::SandboxPolicy;
use crate::protocol::thread::{Thread, ThreadStatus};
use crate::protocol::turn::{PlanStep, Turn};
use crate::protocol::words::McpServerState;
use crate::wire::RequestId;

/// A piece of text that belongs to an item. `Cow`, because text with escapes cannot be borrowed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delta<'a> {
    #[serde(borrow)]
    pub thread_id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient::borrowed_text")]
    pub turn_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub item_id: Cow<'a, str>,
    #[serde(borrow)]
    pub delta: Cow<'a, str>,
}

/// A piece of one part of a reasoning item: of its raw content, or of its summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartDelta<'a> {
    pub thread_id: Cow<'a, str>,
    pub turn_id: Option<Cow<'a, str>>,
    pub item_id: Cow<'a, str>,
    pub delta: Cow<'a, str>,
    pub part_index: Option<u64>,
}

impl<'a> PartDelta<'a> {
    pub(super) fn parse(params: &'a RawValue) -> Result<Self, String> {
        let Delta { thread_id, turn_id, item_id, delta } = super::read(params)?;
        let index: PartIndex = super::read(params)?;
        let part_index = index.content_index.or(index.summary_index);
        Ok(Self { thread_id, turn_id, item_id, delta, part_index })
    }
}

/// Each of the two methods has its own name for the index.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartIndex {
    #[serde(default, deserialize_with = "lenient::option")]
    content_index: Option<u64>,
    #[serde(default, deserialize_with = "lenient::option")]
    summary_index: Option<u64>,
}

/// An item began or ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemEvent<'a> {
    pub thread_id: ThreadId,
    pub turn_id: Option<TurnId>,
    pub item: Item<'a>,
    /// When it began or ended, in Unix milliseconds; Codex 0.130.0 and later.
    pub at_ms: Option<i64>,
}

impl<'a> ItemEvent<'a> {
    pub(super) fn parse(params: &'a RawValue) -> Result<Self, String> {
        let fields: ItemEventFields<'a> = super::read(params)?;
        Ok(Self {
            thread_id: fields.thread_id,
            turn_id: fields.turn_id,
            item: Item::parse(fields.item).map_err(|error| error.to_string())?,
            at_ms: fields.started_at_ms.or(fields.completed_at_ms),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemEventFields<'a> {
    thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    turn_id: Option<TurnId>,
    #[serde(borrow)]
    item: &'a RawValue,
    #[serde(default, deserialize_with = "lenient::option")]
    started_at_ms: Option<i64>,
    #[serde(default, deserialize_with = "lenient::option")]
    completed_at_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStarted {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub thread: Thread,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStatusChanged {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::object")]
    pub status: Option<ThreadStatus>,
}

/// Something happened to a thread and nothing more is said.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadOnly {
    pub thread_id: ThreadId,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageUpdated {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub token_usage: TokenUsage,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettingsUpdated {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub thread_settings: ThreadSettings,
}

/// What later turns of a thread will run with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettings {
    #[serde(default, deserialize_with = "lenient::option")]
    pub cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub model: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub model_provider: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub effort: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub summary: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub service_tier: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub approval_policy: Option<ApprovalPolicy>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub approvals_reviewer: Option<String>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub sandbox_policy: Option<SandboxPolicy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompacted {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadNamed {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoalUpdated {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub goal: ThreadGoal,
}

/// Codex's own reviewer has begun to look at something, or has decided.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoReviewEvent {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    pub review_id: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub target_item_id: Option<ItemId>,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub review: ReviewState,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub action: ReviewedAction,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewState {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub rationale: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub risk_level: Option<String>,
}

/// What is reviewed. Read as a whole: one of an unexpected shape reads as unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ReviewedAction {
    Command {
        #[serde(default)]
        command: String,
    },
    Execve {
        #[serde(default)]
        argv: Vec<String>,
    },
    WriteStdin {
        #[serde(default)]
        stdin: String,
    },
    ApplyPatch {
        #[serde(default)]
        files: Vec<String>,
    },
    NetworkAccess {
        #[serde(default)]
        target: String,
    },
    McpToolCall {
        #[serde(default)]
        server: String,
        #[serde(default)]
        tool_name: String,
    },
    RequestPermissions {
        #[serde(default)]
        reason: Option<String>,
    },
    #[default]
    #[serde(other)]
    Unknown,
}

/// A turn began or ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEvent {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub turn: Turn,
}

/// The whole diff of the turn so far; Codex repeats it several times per patch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiff<'a> {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(borrow)]
    pub diff: Cow<'a, str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlan {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub explanation: Option<String>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub plan: Vec<PlanStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryPartAdded {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    pub item_id: ItemId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub summary_index: Option<u64>,
}

/// The model wrote to a command that runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalInteraction {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    pub item_id: ItemId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub process_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub stdin: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChangePatch {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    pub item_id: ItemId,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub changes: Vec<FileUpdate>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolCallProgress {
    pub thread_id: ThreadId,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    pub item_id: ItemId,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub message: String,
}

/// The start of an MCP server went on. Servers start once per thread; Codex before 0.142.5 does not say for which.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServerStatus {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    pub name: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<McpServerState>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub error: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub failure_reason: Option<String>,
}

/// A server request was answered by somebody, or withdrawn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestResolved {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    pub request_id: RequestId,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorNotice {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub error: TurnError,
    /// Codex tries again by itself; the turn has not failed.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub will_retry: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigWarning {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub summary: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub details: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeprecationNotice {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub summary: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub details: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitsUpdated {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub rate_limits: RateLimits,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountUpdated {
    #[serde(default, deserialize_with = "lenient::option")]
    pub auth_mode: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub plan_type: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginCompleted {
    #[serde(default, deserialize_with = "lenient::option")]
    pub login_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub success: bool,
    #[serde(default, deserialize_with = "lenient::option")]
    pub error: Option<String>,
}

/// Codex answers with another model than the one asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRerouted {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub from_model: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub to_model: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub reason: Option<String>,
}
