//! Messages: what happened in a turn, in the shape that chat programs and model APIs share.

use serde::{Deserialize, Serialize};

/// One chat message. As JSON it is exactly the chat-completions shape, with `reasoning` besides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    /// Absent where only tools are called.
    pub content: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<MessageToolCall>,
    /// The call that a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    Tool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageToolCall {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: ToolCallKind,
    pub function: CalledFunction,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallKind {
    #[default]
    Function,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalledFunction {
    pub name: String,
    /// JSON text.
    pub arguments: String,
}

impl Message {
    pub fn user(content: String) -> Self {
        Self { content: Some(content), ..Self::bare(Role::User) }
    }

    pub fn assistant(content: String) -> Self {
        Self { content: Some(content), ..Self::bare(Role::Assistant) }
    }

    pub fn call(id: String, name: String, arguments: String) -> Self {
        let function = CalledFunction { name, arguments };
        let call = MessageToolCall { id, kind: ToolCallKind::Function, function };
        Self { tool_calls: vec![call], ..Self::bare(Role::Assistant) }
    }

    pub fn tool(call: String, content: String) -> Self {
        Self { content: Some(content), tool_call_id: Some(call), ..Self::bare(Role::Tool) }
    }

    fn bare(role: Role) -> Self {
        Self { role, content: None, tool_calls: Vec::new(), tool_call_id: None, reasoning: None }
    }
}
