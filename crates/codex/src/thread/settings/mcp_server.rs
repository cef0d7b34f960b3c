//! An MCP server that a thread brings along.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

/// Either a command or an address. Codex starts the command outside the sandbox.
#[derive(Clone, Default, PartialEq)]
pub struct McpServer {
    pub command: Option<String>,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Of a server that speaks streamable HTTP.
    pub url: Option<String>,
    pub startup_timeout: Option<Duration>,
    pub tool_timeout: Option<Duration>,
}

impl McpServer {
    /// As Codex's `[mcp_servers.<name>]` has it. A whole table, because Codex merges single keys into a server of the
    /// same name that its home may have.
    pub(super) fn to_config(&self) -> Value {
        let mut table = Map::new();
        if let Some(command) = &self.command {
            table.insert("command".into(), command.as_str().into());
            table.insert("args".into(), self.args.clone().into());
        }
        if !self.env.is_empty() {
            let variables =
                self.env.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
            table.insert("env".into(), Value::Object(variables.collect()));
        }
        if let Some(url) = &self.url {
            table.insert("url".into(), url.as_str().into());
        }
        for (key, timeout) in
            [("startup_timeout_sec", self.startup_timeout), ("tool_timeout_sec", self.tool_timeout)]
        {
            if let Some(timeout) = timeout {
                table.insert(key.into(), timeout.as_secs_f64().into());
            }
        }
        Value::Object(table)
    }
}

/// Arguments, values of variables and the address may hold secrets.
impl fmt::Debug for McpServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("McpServer")
            .field("command", &self.command)
            .field("arg_count", &self.args.len())
            .field("env", &self.env.keys())
            .field("has_url", &self.url.is_some())
            .field("startup_timeout", &self.startup_timeout)
            .field("tool_timeout", &self.tool_timeout)
            .finish()
    }
}
