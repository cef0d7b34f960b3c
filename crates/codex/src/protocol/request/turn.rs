//! Working on a thread: turns, steering, interrupting, reviews.

use ostler_model::{ThreadId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::thread::ApprovalsReviewer;
use super::{ClientRequest, Done};
use crate::protocol::approval_policy::ApprovalPolicy;
use crate::protocol::lenient;
use crate::protocol::settings::SandboxPolicy;
use crate::protocol::turn::Turn;
use crate::protocol::user_input::UserInput;

/// Starts a turn. Every setting but `output_schema` also holds for later turns.
///
/// On a thread that is busy it steers instead, and up to 0.142.5 the reply then names a turn that never comes; so a
/// thread gets one at a time, and `turn/started` is what counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStart {
    pub thread_id: ThreadId,
    pub input: Vec<UserInput>,
    /// Comes back as `clientId` of the user's message, by which we find out whether an input arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_user_message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Together with `permissions` Codex refuses the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    /// The name of a permission profile of the Codex home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// An open word since 0.142.5; before, `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<ReasoningSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// A JSON schema that the final answer must follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Counts instead of `model` and `effort`; needs `experimentalApi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collaboration_mode: Option<CollaborationMode>,
}

/// How the model works with the person, and the model to which that applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CollaborationMode {
    pub mode: Mode,
    pub settings: CollaborationSettings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    Default,
    /// The model asks, plans and changes nothing.
    Plan,
}

/// Spelt unlike everything else. Without instructions of its own a mode has Codex's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CollaborationSettings {
    pub model: String,
    /// Without it, the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
}

impl TurnStart {
    pub fn new(thread_id: ThreadId, input: Vec<UserInput>) -> Self {
        Self {
            thread_id,
            input,
            client_user_message_id: None,
            cwd: None,
            approval_policy: None,
            approvals_reviewer: None,
            sandbox_policy: None,
            permissions: None,
            model: None,
            effort: None,
            summary: None,
            service_tier: None,
            output_schema: None,
            collaboration_mode: None,
        }
    }
}

impl ClientRequest for TurnStart {
    const METHOD: &'static str = "turn/start";
    type Reply = TurnStarted;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReasoningSummary {
    Auto,
    Concise,
    Detailed,
    None,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TurnStarted {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub turn: Turn,
}

/// Puts more input into the running turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteer {
    pub thread_id: ThreadId,
    /// Codex refuses if another turn runs, or none.
    pub expected_turn_id: TurnId,
    pub input: Vec<UserInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_user_message_id: Option<String>,
}

impl ClientRequest for TurnSteer {
    const METHOD: &'static str = "turn/steer";
    type Reply = TurnSteered;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteered {
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
}

/// Ends the turn. Commands it started run on; [`super::command::BackgroundTerminalsClean`] ends them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnInterrupt {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
}

impl ClientRequest for TurnInterrupt {
    const METHOD: &'static str = "turn/interrupt";
    type Reply = Done;
}

/// Starts a review as a turn of the thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStart {
    pub thread_id: ThreadId,
    pub target: ReviewTarget,
}

impl ClientRequest for ReviewStart {
    const METHOD: &'static str = "review/start";
    type Reply = ReviewStarted;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ReviewTarget {
    UncommittedChanges,
    BaseBranch {
        branch: String,
    },
    Commit {
        sha: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    Custom {
        instructions: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStarted {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub turn: Turn,
    #[serde(default, deserialize_with = "lenient::option")]
    pub review_thread_id: Option<ThreadId>,
}
