//! Opening, finding and closing threads.

use ostler_model::{ThreadId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ClientRequest, Done};
use crate::protocol::approval_policy::ApprovalPolicy;
use crate::protocol::config_overrides::ConfigOverrides;
use crate::protocol::lenient;
use crate::protocol::settings::{SandboxMode, SandboxPolicy};
use crate::protocol::thread::Thread;
use crate::protocol::words::UnsubscribeStatus;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStart {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Together with `permissions` Codex refuses the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// The name of a permission profile of the Codex home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Settings by dotted key, on top of the Codex home's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigOverrides>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
    /// Nothing is written; the thread is lost with its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_mode: Option<HistoryMode>,
    /// Tools that our side runs when the model calls them; needs `experimentalApi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_tools: Option<Vec<DynamicTool>>,
}

impl ClientRequest for ThreadStart {
    const METHOD: &'static str = "thread/start";
    type Reply = ThreadOpened;
}

/// Opens a thread of the past, or joins one that is loaded. Settings are ignored without a word if it is loaded, and
/// Codex up to 0.142.5 does not restore them by itself: send them every time and look at the reply.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResume {
    pub thread_id: ThreadId,
    /// Leaves the history out of the reply; Codex 0.166 calls anything else deprecated.
    pub exclude_turns: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Together with `permissions` Codex refuses the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// The name of a permission profile of the Codex home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Settings by dotted key, on top of the Codex home's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigOverrides>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
}

impl ClientRequest for ThreadResume {
    const METHOD: &'static str = "thread/resume";
    type Reply = ThreadOpened;
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadFork {
    pub thread_id: ThreadId,
    /// Leaves the history out of the reply.
    pub exclude_turns: bool,
    /// The last turn that the fork keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_turn_id: Option<TurnId>,
    pub ephemeral: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Together with `permissions` Codex refuses the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// The name of a permission profile of the Codex home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Settings by dotted key, on top of the Codex home's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigOverrides>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
}

impl ClientRequest for ThreadFork {
    const METHOD: &'static str = "thread/fork";
    type Reply = ThreadOpened;
}

/// The word Codex uses for who answers its questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalsReviewer {
    User,
    AutoReview,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum HistoryMode {
    /// Readable by every version.
    Legacy,
    /// The default of Codex 0.166. Older versions destroy such a thread by opening it.
    Paginated,
}

/// A tool of ours. The tag is ignored by versions before 0.142.5, whose shape is otherwise the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicTool {
    #[serde(rename = "type")]
    kind: DynamicToolKind,
    pub name: String,
    pub description: String,
    /// A JSON schema.
    pub input_schema: Value,
}

impl DynamicTool {
    pub fn new(name: String, description: String, input_schema: Value) -> Self {
        Self { kind: DynamicToolKind::Function, name, description, input_schema }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum DynamicToolKind {
    Function,
}

/// A thread is open, and these settings hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadOpened {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub thread: Thread,
    /// Where early versions put the thread's id. Use [`ThreadOpened::thread_id`].
    #[serde(default, rename = "sessionId", deserialize_with = "lenient::option")]
    bare_session_id: Option<ThreadId>,
    #[serde(default, rename = "threadId", deserialize_with = "lenient::option")]
    bare_thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub model: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub model_provider: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub reasoning_effort: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub service_tier: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub approval_policy: Option<ApprovalPolicy>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub approvals_reviewer: Option<String>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub sandbox: Option<SandboxPolicy>,
}

impl ThreadOpened {
    /// The thread's id under whichever key it came: `thread.id`, `thread.sessionId`, `sessionId`, `threadId`.
    pub fn thread_id(&self) -> Option<&ThreadId> {
        self.thread.thread_id().or(self.bare_session_id.as_ref()).or(self.bare_thread_id.as_ref())
    }
}

/// Takes the thread out of the lists. Ends its turn and unloads it at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchive {
    pub thread_id: ThreadId,
}

impl ClientRequest for ThreadArchive {
    const METHOD: &'static str = "thread/archive";
    type Reply = Done;
}

/// Stops the flow of the thread's events to this connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribe {
    pub thread_id: ThreadId,
}

impl ClientRequest for ThreadUnsubscribe {
    const METHOD: &'static str = "thread/unsubscribe";
    type Reply = Unsubscribed;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Unsubscribed {
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<UnsubscribeStatus>,
}

/// Puts items of the Responses API behind the thread's history, as if they had come up in it. The model sees them from
/// its next call on; nothing else tells of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadInjectItems {
    pub thread_id: ThreadId,
    /// Codex refuses an empty list, and takes items of a kind it does not know without a word.
    pub items: Vec<Value>,
}

impl ClientRequest for ThreadInjectItems {
    const METHOD: &'static str = "thread/inject_items";
    type Reply = Done;
}

/// Replaces the history by a summary. Runs as a turn of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompact {
    pub thread_id: ThreadId,
}

impl ClientRequest for ThreadCompact {
    const METHOD: &'static str = "thread/compact/start";
    type Reply = Done;
}

impl ThreadResume {
    pub fn new(thread_id: ThreadId) -> Self {
        Self {
            thread_id,
            exclude_turns: true,
            cwd: None,
            model: None,
            model_provider: None,
            service_tier: None,
            approval_policy: None,
            approvals_reviewer: None,
            sandbox: None,
            permissions: None,
            config: None,
            base_instructions: None,
            developer_instructions: None,
        }
    }
}

impl ThreadFork {
    pub fn new(thread_id: ThreadId) -> Self {
        Self {
            thread_id,
            exclude_turns: true,
            last_turn_id: None,
            ephemeral: false,
            cwd: None,
            model: None,
            model_provider: None,
            service_tier: None,
            approval_policy: None,
            approvals_reviewer: None,
            sandbox: None,
            permissions: None,
            config: None,
            base_instructions: None,
            developer_instructions: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadOpened;

    #[test]
    fn the_thread_id_is_found_under_every_key_it_has_had() {
        for text in [
            r#"{"thread":{"id":"a","sessionId":"b"},"sessionId":"c","threadId":"d"}"#,
            r#"{"thread":{"sessionId":"a"},"sessionId":"c"}"#,
            r#"{"sessionId":"a","threadId":"d"}"#,
            r#"{"threadId":"a","thread":[]}"#,
        ] {
            let opened: ThreadOpened = serde_json::from_str(text).unwrap();

            assert_eq!(opened.thread_id().map(|id| id.as_str()), Some("a"), "{text}");
        }
    }
}
