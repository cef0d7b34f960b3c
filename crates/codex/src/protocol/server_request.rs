//! What Codex asks and waits for. Every one must be answered; an unknown one with an error, so that the turn goes on.

use ostler_model::{ItemId, QuestionId, ThreadId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::item::body::CommandAction;
use super::json::Json;
use super::legacy::{LegacyCommandApproval, LegacyPatchApproval};
use super::lenient;
use super::permission::PermissionProfile;

/// One request of the server, by method.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerRequest<'a> {
    CommandApproval(CommandApproval),
    FileChangeApproval(FileChangeApproval),
    PermissionsApproval(PermissionsApproval),
    UserInput(UserInputRequest),
    Elicitation(Elicitation),
    ToolCall(ToolCall),
    TokenRefresh(TokenRefresh),
    /// Codex wants proof of the device it runs on; only clients that offered it are asked.
    Attestation,
    CurrentTime(CurrentTimeRequest),
    LegacyPatchApproval(LegacyPatchApproval),
    LegacyCommandApproval(LegacyCommandApproval),
    /// A method we know with params that are no object.
    Unreadable {
        method: &'a str,
        reason: String,
    },
    Other {
        method: &'a str,
    },
}

/// Reads one server request. Never fails: the raw message stays with the caller whatever comes out.
pub fn parse_server_request<'a>(method: &'a str, params: &'a RawValue) -> ServerRequest<'a> {
    let parsed = match method {
        "item/commandExecution/requestApproval" => read(params).map(ServerRequest::CommandApproval),
        "item/fileChange/requestApproval" => read(params).map(ServerRequest::FileChangeApproval),
        "item/permissions/requestApproval" => read(params).map(ServerRequest::PermissionsApproval),
        "item/tool/requestUserInput" => read(params).map(ServerRequest::UserInput),
        "mcpServer/elicitation/request" => read(params).map(ServerRequest::Elicitation),
        "item/tool/call" => read(params).map(ServerRequest::ToolCall),
        "account/chatgptAuthTokens/refresh" => read(params).map(ServerRequest::TokenRefresh),
        "attestation/generate" => Ok(ServerRequest::Attestation),
        "currentTime/read" => read(params).map(ServerRequest::CurrentTime),
        "applyPatchApproval" => read(params).map(ServerRequest::LegacyPatchApproval),
        "execCommandApproval" => read(params).map(ServerRequest::LegacyCommandApproval),
        _ => return ServerRequest::Other { method },
    };
    parsed.unwrap_or_else(|reason| ServerRequest::Unreadable { method, reason })
}

fn read<'a, T: Deserialize<'a>>(params: &'a RawValue) -> Result<T, String> {
    lenient::message(params).map_err(|error| error.to_string())
}

/// May this command run, or this connection be opened?
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandApproval {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub item_id: Option<ItemId>,
    /// Set if one item asks more than once, as for a second connection of the same command.
    #[serde(default, deserialize_with = "lenient::option")]
    pub approval_id: Option<String>,
    /// `command` or `writeStdin`; Codex 0.166.0 and later.
    #[serde(default, deserialize_with = "lenient::option")]
    pub kind: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub command: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub command_actions: Vec<CommandAction>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub network_approval_context: Option<NetworkApprovalContext>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub additional_permissions: Option<PermissionProfile>,
    /// The words a command must begin with to be allowed from now on.
    #[serde(default, deserialize_with = "lenient::list")]
    pub proposed_execpolicy_amendment: Vec<String>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub proposed_network_policy_amendments: Vec<NetworkPolicyAmendment>,
    /// `None` if Codex does not say; decisions we do not know are left out.
    #[serde(default, deserialize_with = "lenient::option_list")]
    pub available_decisions: Option<Vec<CommandDecision>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct NetworkApprovalContext {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub host: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub protocol: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPolicyAmendment {
    pub host: String,
    pub action: NetworkPolicyAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NetworkPolicyAction {
    Allow,
    Deny,
}

/// An answer to [`CommandApproval`], as Codex spells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandDecision {
    Accept,
    AcceptForSession,
    AcceptWithExecpolicyAmendment { execpolicy_amendment: Vec<String> },
    ApplyNetworkPolicyAmendment { network_policy_amendment: NetworkPolicyAmendment },
    Decline,
    Cancel,
}

/// May these files be changed? The diff is in the item of the same id, which began just before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeApproval {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub item_id: Option<ItemId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub grant_root: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionsApproval {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub item_id: Option<ItemId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub permissions: PermissionProfile,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInputRequest {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub item_id: Option<ItemId>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub questions: Vec<UserInputQuestion>,
    /// Codex goes on by itself after this time; Codex 0.142.5 and later.
    #[serde(default, deserialize_with = "lenient::option")]
    pub auto_resolution_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInputQuestion {
    pub id: QuestionId,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub header: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub question: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub is_other: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub is_secret: bool,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub options: Vec<UserInputOption>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct UserInputOption {
    pub label: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub description: String,
}

/// A question of an MCP server, or Codex's own whether a tool of it may be called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Elicitation {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    /// Absent if the question came outside of a turn.
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub server_name: String,
    /// `form`, `url`, `openai/form` and others.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub mode: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub message: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub requested_schema: Option<Json>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub url: Option<String>,
    #[serde(default, rename = "_meta", deserialize_with = "lenient::object")]
    pub meta: Option<ElicitationMeta>,
}

/// What Codex adds when the question is its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ElicitationMeta {
    /// `mcp_tool_call` if Codex asks whether a tool may be called.
    #[serde(default, deserialize_with = "lenient::option")]
    pub codex_approval_kind: Option<String>,
    /// For how long an answer may be remembered: `session`, `always`.
    #[serde(default, deserialize_with = "lenient::list")]
    pub persist: Vec<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub tool_description: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub tool_params: Option<Json>,
}

/// The model called a tool that our side offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub call_id: Option<ItemId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub namespace: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub tool: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub arguments: Option<Json>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRefresh {
    #[serde(default, deserialize_with = "lenient::option")]
    pub reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub previous_account_id: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrentTimeRequest {
    #[serde(default, deserialize_with = "lenient::option")]
    pub thread_id: Option<ThreadId>,
}
