//! What each kind of item carries, as far as we show it.

use std::collections::BTreeMap;

use ostler_model::ThreadId;
use ostler_model::ask::{FileChangeKind, FileDiff};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::protocol::json::Json;
use crate::protocol::lenient;
use crate::protocol::user_input::UserInput;
use crate::protocol::words::{CommandSource, ItemStatus, MessagePhase};

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub content: Vec<UserInput>,
    /// The `clientUserMessageId` it was sent with; Codex 0.142.5 and later.
    #[serde(default, deserialize_with = "lenient::option")]
    pub client_id: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentMessage {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub text: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub phase: Option<MessagePhase>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reasoning {
    #[serde(default, deserialize_with = "lenient::texts")]
    pub summary: Vec<String>,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub content: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecution {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub command: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub process_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub source: Option<CommandSource>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<ItemStatus>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub command_actions: Vec<CommandAction>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub aggregated_output: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub exit_code: Option<i64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub duration_ms: Option<u64>,
}

/// What Codex thinks a part of a command does: `read`, `listFiles`, `search` or `unknown`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandAction {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub kind: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub command: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub path: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub query: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub changes: Vec<FileUpdate>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<ItemStatus>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileUpdate {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub path: String,
    #[serde(default, deserialize_with = "kind_or_word")]
    pub kind: FileUpdateKind,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub diff: String,
}

/// `add`, `delete` or `update`; only an update may move the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct FileUpdateKind {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub kind: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub move_path: Option<String>,
}

/// Older lines name the kind by a word alone.
fn kind_or_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FileUpdateKind, D::Error> {
    let raw = <&'de RawValue>::deserialize(deserializer)?;
    let word = |kind| FileUpdateKind { kind, move_path: None };
    let read = lenient::message(raw).or_else(|_| serde_json::from_str(raw.get()).map(word));
    Ok(read.unwrap_or_default())
}

impl From<&FileUpdate> for FileDiff {
    fn from(update: &FileUpdate) -> Self {
        let change = match update.kind.kind.as_str() {
            "add" => FileChangeKind::Add,
            "delete" => FileChangeKind::Delete,
            // Without a word it is the most common kind, as Codex's own readers take it.
            "update" | "" => FileChangeKind::Update { moved_to: update.kind.move_path.clone() },
            other => FileChangeKind::Other(other.to_owned()),
        };
        Self { path: update.path.clone(), change, diff: update.diff.clone() }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolCall {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub server: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub tool: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub arguments: Option<Json>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<ItemStatus>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub result: Option<McpToolResult>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub error: Option<McpToolError>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub duration_ms: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolResult {
    #[serde(default, deserialize_with = "lenient::list")]
    pub content: Vec<Json>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub structured_content: Option<Json>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct McpToolError {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub message: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCall {
    #[serde(default, deserialize_with = "lenient::option")]
    pub namespace: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub tool: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub arguments: Option<Json>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<ItemStatus>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub content_items: Vec<Json>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub success: Option<bool>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub duration_ms: Option<u64>,
}

/// A call that starts, addresses or ends a sub-agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CollabAgentToolCall {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub tool: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<ItemStatus>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub sender_thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub receiver_thread_ids: Vec<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub prompt: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub model: Option<String>,
    /// Keyed by the sub-agent's thread id.
    #[serde(default, deserialize_with = "lenient::object_map")]
    pub agents_states: BTreeMap<String, CollabAgentState>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct CollabAgentState {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgentActivity {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub kind: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub agent_thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub agent_path: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebSearch {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub query: String,
    #[serde(default, deserialize_with = "lenient::object")]
    pub action: Option<WebSearchAction>,
}

/// `search`, `openPage`, `findInPage` or `other`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct WebSearchAction {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub kind: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub query: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub queries: Vec<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub url: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub pattern: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ImageView {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub path: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageGeneration {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub revised_prompt: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub saved_path: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sleep {
    #[serde(default, deserialize_with = "lenient::option")]
    pub duration_ms: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionCallOutput {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub namespace: Option<String>,
    /// A text, or a list of content parts.
    #[serde(default, deserialize_with = "lenient::option")]
    pub output: Option<Json>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct HookPrompt {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub fragments: Vec<HookPromptFragment>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookPromptFragment {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub text: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub hook_run_id: Option<String>,
}

/// The start or the end of a review; at the end `review` holds the findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ReviewMode {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub review: String,
}
