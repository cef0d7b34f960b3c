//! Words Codex uses for states. A word we do not know is kept, never refused.

use serde::Deserialize;

/// How a turn stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum TurnStatus {
    InProgress,
    Completed,
    Interrupted,
    Failed,
    Other(String),
}

impl From<String> for TurnStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "inProgress" => Self::InProgress,
            "completed" => Self::Completed,
            "interrupted" => Self::Interrupted,
            "failed" => Self::Failed,
            _ => Self::Other(word),
        }
    }
}

/// How an item stands: commands, patches, tool calls and sub-agent calls share the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum ItemStatus {
    InProgress,
    Completed,
    Failed,
    Declined,
    Interrupted,
    Other(String),
}

impl From<String> for ItemStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "inProgress" => Self::InProgress,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "declined" => Self::Declined,
            "interrupted" => Self::Interrupted,
            _ => Self::Other(word),
        }
    }
}

/// How a thread stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum ThreadState {
    NotLoaded,
    Idle,
    Active,
    /// The last turn failed; the next turn clears it.
    SystemError,
    Other(String),
}

impl From<String> for ThreadState {
    fn from(word: String) -> Self {
        match word.as_str() {
            "notLoaded" => Self::NotLoaded,
            "idle" => Self::Idle,
            "active" => Self::Active,
            "systemError" => Self::SystemError,
            _ => Self::Other(word),
        }
    }
}

/// What an active thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum ActiveFlag {
    WaitingOnApproval,
    WaitingOnUserInput,
    Other(String),
}

impl From<String> for ActiveFlag {
    fn from(word: String) -> Self {
        match word.as_str() {
            "waitingOnApproval" => Self::WaitingOnApproval,
            "waitingOnUserInput" => Self::WaitingOnUserInput,
            _ => Self::Other(word),
        }
    }
}

/// Whether an agent message is the answer or talk on the way.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum MessagePhase {
    Commentary,
    PartialAnswer,
    FinalAnswer,
    Other(String),
}

impl From<String> for MessagePhase {
    fn from(word: String) -> Self {
        match word.as_str() {
            "commentary" => Self::Commentary,
            "partial_answer" => Self::PartialAnswer,
            "final_answer" => Self::FinalAnswer,
            _ => Self::Other(word),
        }
    }
}

/// Who started a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum CommandSource {
    Agent,
    UserShell,
    UnifiedExecStartup,
    UnifiedExecInteraction,
    Other(String),
}

impl From<String> for CommandSource {
    fn from(word: String) -> Self {
        match word.as_str() {
            "agent" => Self::Agent,
            "userShell" => Self::UserShell,
            "unifiedExecStartup" => Self::UnifiedExecStartup,
            "unifiedExecInteraction" => Self::UnifiedExecInteraction,
            _ => Self::Other(word),
        }
    }
}

/// How the start of an MCP server stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum McpServerState {
    Starting,
    Ready,
    Failed,
    Cancelled,
    Other(String),
}

impl From<String> for McpServerState {
    fn from(word: String) -> Self {
        match word.as_str() {
            "starting" => Self::Starting,
            "ready" => Self::Ready,
            "failed" => Self::Failed,
            "cancelled" => Self::Cancelled,
            _ => Self::Other(word),
        }
    }
}

impl McpServerState {
    /// As Codex spells it.
    pub fn word(&self) -> String {
        match self {
            Self::Starting => "starting".to_owned(),
            Self::Ready => "ready".to_owned(),
            Self::Failed => "failed".to_owned(),
            Self::Cancelled => "cancelled".to_owned(),
            Self::Other(word) => word.clone(),
        }
    }
}

/// How a step of the model's plan stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum PlanStepStatus {
    Pending,
    InProgress,
    Completed,
    Other(String),
}

impl From<String> for PlanStepStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "pending" => Self::Pending,
            "inProgress" => Self::InProgress,
            "completed" => Self::Completed,
            _ => Self::Other(word),
        }
    }
}

/// How much of a turn's items a message carries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum ItemsLoaded {
    NotLoaded,
    Summary,
    Full,
    Other(String),
}

impl From<String> for ItemsLoaded {
    fn from(word: String) -> Self {
        match word.as_str() {
            "notLoaded" => Self::NotLoaded,
            "summary" => Self::Summary,
            "full" => Self::Full,
            _ => Self::Other(word),
        }
    }
}

/// What `thread/unsubscribe` found.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum UnsubscribeStatus {
    Unsubscribed,
    NotSubscribed,
    NotLoaded,
    Other(String),
}

impl From<String> for UnsubscribeStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "unsubscribed" => Self::Unsubscribed,
            "notSubscribed" => Self::NotSubscribed,
            "notLoaded" => Self::NotLoaded,
            _ => Self::Other(word),
        }
    }
}
