//! `[migrate]`: MCP servers of other programs.

use std::path::PathBuf;

use crate::section::section;

section! {
    /// MCP servers of other programs that Codex gets, see `docs/migrate.md`. `ostler migrate` and switching the runtime to
    /// Codex read them.
    Migrate = "migrate", _at;

    /// Files of other programs whose MCP servers are migrated: a host agent's YAML with `mcp_servers`, or the JSON file of
    /// another MCP client.
    from: Vec<PathBuf> = Vec::new();
    /// Whether all tasks get what was migrated. Otherwise only the turns of `ostler chat` that Codex runs do.
    for_tasks: bool = false;
}
