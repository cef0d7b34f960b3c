//! A table of tools, as any MCP server here offers one.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, ProgressNotificationParam, ProgressToken, Tool,
    ToolAnnotations,
};
use rmcp::{Peer, RoleServer};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// What a tool does to the world, as its caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub only_reads: bool,
    /// It may change or remove what is there.
    pub destroys: bool,
    /// The same call again changes nothing more.
    pub repeats: bool,
    /// It reaches beyond this machine.
    pub open_world: bool,
}

impl Hints {
    pub const READS: Self =
        Self { only_reads: true, destroys: false, repeats: true, open_world: false };
}

/// One tool.
pub struct McpTool {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    /// A JSON schema of an object, told as it is.
    pub schema: Map<String, Value>,
    /// A JSON schema of what a call that succeeds gives as its structured content.
    pub output: Option<Map<String, Value>>,
    pub hints: Hints,
    pub call: Arc<dyn Fn(Call) -> BoxFuture<'static, ToolAnswer> + Send + Sync>,
}

/// One call of a tool.
#[derive(Clone)]
pub struct Call {
    /// Without those that are null.
    pub arguments: Map<String, Value>,
    /// How the caller calls itself.
    pub client: Option<String>,
    pub progress: Progress,
    /// The caller does not want the answer any more.
    pub stop: CancellationToken,
}

/// What a call came to. A model reads it in both cases.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    pub text: String,
    /// The same for programs.
    pub structured: Option<Value>,
    pub is_error: bool,
}

impl ToolAnswer {
    pub fn said(text: impl Into<String>) -> Self {
        Self { text: text.into(), structured: None, is_error: false }
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), structured: None, is_error: true }
    }

    /// An object, as text and as itself.
    pub fn object(value: Value) -> Self {
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        Self { text, structured: Some(value), is_error: false }
    }
}

impl From<ToolAnswer> for CallToolResult {
    fn from(answer: ToolAnswer) -> Self {
        let content = vec![ContentBlock::text(answer.text)];
        let mut result = match answer.is_error {
            true => Self::error(content),
            false => Self::success(content),
        };
        result.structured_content = answer.structured;
        result
    }
}

/// Tells the caller how far a call has come, if it wants to know.
#[derive(Clone, Default)]
pub struct Progress {
    wanted: Option<(Peer<RoleServer>, ProgressToken)>,
}

impl Progress {
    pub(crate) fn new(peer: Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self { wanted: token.map(|token| (peer, token)) }
    }

    /// `step` grows with every word. A caller that has left is not told.
    pub async fn tell(&self, step: u32, message: impl Into<String>) {
        let Some((peer, token)) = &self.wanted else { return };
        let word = ProgressNotificationParam::new(token.clone(), f64::from(step));
        if let Err(error) = peer.notify_progress(word.with_message(message)).await {
            tracing::debug!(%error, "a caller is not there to be told of progress");
        }
    }
}

/// All tools of a server, and what it says of itself.
pub struct ToolTable {
    /// The server's name.
    pub server: String,
    pub version: String,
    /// How the tools are used together.
    pub instructions: String,
    tools: BTreeMap<String, McpTool>,
    /// In the order in which they were given.
    order: Vec<String>,
}

impl ToolTable {
    pub fn new(
        server: impl Into<String>,
        version: impl Into<String>,
        instructions: impl Into<String>,
    ) -> Self {
        Self {
            server: server.into(),
            version: version.into(),
            instructions: instructions.into(),
            tools: BTreeMap::new(),
            order: Vec::new(),
        }
    }

    /// A second one of the same name replaces the first.
    pub fn add(&mut self, tool: McpTool) {
        if !self.tools.contains_key(&tool.name) {
            self.order.push(tool.name.clone());
        }
        self.tools.insert(tool.name.clone(), tool);
    }

    pub(crate) fn listed(&self) -> Vec<Tool> {
        self.order.iter().filter_map(|name| self.tools.get(name)).map(McpTool::listed).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&McpTool> {
        self.tools.get(name)
    }

    pub(crate) fn names(&self) -> String {
        self.order.join(", ")
    }
}

impl McpTool {
    pub(crate) fn listed(&self) -> Tool {
        let schema: Arc<JsonObject> = Arc::new(self.schema.clone());
        let mut tool = Tool::new(self.name.clone(), self.description.clone(), schema);
        let Hints { only_reads, destroys, repeats, open_world } = self.hints;
        tool.title.clone_from(&self.title);
        tool.output_schema = self.output.clone().map(Arc::new);
        tool.annotations = Some(ToolAnnotations::from_raw(
            self.title.clone(),
            Some(only_reads),
            Some(destroys),
            Some(repeats),
            Some(open_world),
        ));
        tool
    }
}
