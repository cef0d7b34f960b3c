//! What Codex takes as the answer to each of its requests. Each has its own shape.

use std::collections::BTreeMap;
use std::fmt;

use ostler_model::QuestionId;
use ostler_model::decision::ToolOutput;
use serde::Serialize;
use serde_json::Value;

use super::legacy::LegacyDecision;
use super::permission::PermissionProfile;
use super::server_request::CommandDecision;

/// Answers `item/commandExecution/requestApproval`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandReply {
    pub decision: CommandDecision,
}

/// Answers `item/fileChange/requestApproval`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChangeReply {
    pub decision: FileChangeDecision,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeDecision {
    Accept,
    AcceptForSession,
    Decline,
    Cancel,
}

/// Answers `item/permissions/requestApproval`: what is granted. An empty profile grants nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PermissionsReply {
    pub permissions: PermissionProfile,
    pub scope: PermissionScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionScope {
    Turn,
    Session,
}

/// Answers `item/tool/requestUserInput`. A question without an entry counts as not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserInputReply {
    pub answers: BTreeMap<QuestionId, UserInputAnswer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserInputAnswer {
    pub answers: Vec<String>,
}

/// Answers `mcpServer/elicitation/request`. `content` and `_meta` are always sent, as null where there is nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ElicitationReply {
    pub action: ElicitationAction,
    pub content: Option<Value>,
    #[serde(rename = "_meta")]
    pub meta: Option<ElicitationReplyMeta>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ElicitationAction {
    Accept,
    Decline,
    Cancel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ElicitationReplyMeta {
    pub persist: Persist,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Persist {
    Session,
    Always,
}

/// Answers `item/tool/call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallReply {
    pub content_items: Vec<ToolCallOutput>,
    pub success: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToolCallOutput {
    InputText { text: String },
    InputImage { image_url: String },
}

impl From<&ToolOutput> for ToolCallOutput {
    fn from(output: &ToolOutput) -> Self {
        match output {
            ToolOutput::Text(text) => Self::InputText { text: text.clone() },
            ToolOutput::ImageUrl(url) => Self::InputImage { image_url: url.clone() },
        }
    }
}

/// Answers `account/chatgptAuthTokens/refresh`. Holds a secret, so it cannot be printed.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRefreshReply {
    pub access_token: String,
    pub chatgpt_account_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chatgpt_plan_type: Option<String>,
}

impl fmt::Debug for TokenRefreshReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TokenRefreshReply")
            .field("chatgpt_account_id", &self.chatgpt_account_id)
            .finish_non_exhaustive()
    }
}

/// Answers `attestation/generate`. Holds a secret, so it cannot be printed.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct AttestationReply {
    pub token: String,
}

impl fmt::Debug for AttestationReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AttestationReply").finish_non_exhaustive()
    }
}

/// Answers `currentTime/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrentTimeReply {
    /// Whole Unix seconds.
    pub current_time_at: i64,
}

/// Answers `applyPatchApproval` and `execCommandApproval`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LegacyReply {
    pub decision: LegacyDecision,
}
