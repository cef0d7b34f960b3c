//! The MCP servers of the Codex home.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ClientRequest;
use crate::protocol::lenient;

/// Without a thread, Codex starts every server that is configured to see what it has, and ends it again. It answers when the
/// slowest has started or run into its deadline.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServerStatusList {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl ClientRequest for McpServerStatusList {
    const METHOD: &'static str = "mcpServerStatus/list";
    type Reply = McpServerPage;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServerPage {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub data: Vec<McpServerSeen>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub next_cursor: Option<String>,
}

/// One that does not start is listed like one that has no tools; only 0.166.0 says why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServerSeen {
    pub name: String,
    /// By name.
    #[serde(default, deserialize_with = "lenient::object_map")]
    pub tools: BTreeMap<String, McpTool>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub tools_error: Option<String>,
    /// `unsupported`, `notLoggedIn`, `bearerToken`, `oAuth` and words to come.
    #[serde(default, deserialize_with = "lenient::option")]
    pub auth_status: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    #[serde(default, deserialize_with = "lenient::option")]
    pub name: Option<String>,
}
