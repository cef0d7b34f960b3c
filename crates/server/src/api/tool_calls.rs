//! Calls of tools that a task's owner runs.

use serde::{Deserialize, Serialize};

/// `POST /v1/tasks/{id}/tool-calls/take`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakeToolCall {
    /// As the log of the task names it.
    pub call: String,
    /// Who runs it: a name that nobody else has. The same again says that they are still at it.
    pub by: String,
}

/// A call of a tool of the task's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallTaken {
    pub call: String,
    pub tool: String,
    /// JSON text.
    pub arguments: String,
    /// Say so again within this time, as often as it takes.
    pub again_within_ms: u64,
}

/// `POST /v1/tasks/{id}/tool-calls/finish`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishToolCall {
    pub call: String,
    /// Who took it.
    pub by: String,
    /// What the model reads.
    pub result: String,
    pub succeeded: bool,
}

/// The model has the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallFinished {
    pub call: String,
}
