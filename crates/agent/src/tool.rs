//! What a tool is. Each has its own file in `tools`; the toolbox knows them all.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ports::Asks;

/// As a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// A JSON schema of an object.
    pub parameters: Value,
}

/// What a call came to. The model reads `content` in both cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    pub content: String,
    pub is_error: bool,
}

/// What a call may know of the turn that it belongs to.
#[derive(Clone)]
pub struct CallContext {
    pub conversation: String,
    /// The model's id of the call: the same when a result is looked for after a crash.
    pub call: String,
    /// Absolute.
    pub cwd: PathBuf,
    /// In front of whatever changes the machine.
    pub asks: Arc<dyn Asks>,
    /// The user has stopped the turn. A tool ends soon and says what it had done by then.
    pub stop: CancellationToken,
}

pub trait Tool: Send + Sync {
    fn definition(&self) -> ToolDefinition;

    /// One short line about a call, for people.
    fn preview(&self, arguments: &Value) -> String;

    /// Calls that only look may run beside each other.
    fn only_reads(&self, arguments: &Value) -> bool;

    /// Bad arguments are a result that says what is wrong, so that the model can do better.
    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult>;
}

impl ToolResult {
    pub fn said(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false }
    }

    pub fn failed(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true }
    }
}
