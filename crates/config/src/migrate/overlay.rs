//! What Codex is given with each thread, kept in a file of ours.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All that was migrated and stands in no `config.toml`. There is no secret in it: only names of variables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overlay {
    /// The layout of this file.
    pub version: u32,
    /// The files that the servers come from, to be read again.
    pub from: Vec<PathBuf>,
    /// Each as Codex's `[mcp_servers.NAME]` has it.
    pub servers: BTreeMap<String, Value>,
}

impl Overlay {
    pub const VERSION: u32 = 1;

    /// Settings of Codex by dotted key, with JSON text as values: whole tables, because Codex merges single keys into a
    /// server of the same name that its home may have.
    #[must_use]
    pub fn overrides(&self) -> BTreeMap<String, String> {
        let servers = self.servers.iter();
        servers.map(|(name, table)| (format!("mcp_servers.{name}"), table.to_string())).collect()
    }
}
