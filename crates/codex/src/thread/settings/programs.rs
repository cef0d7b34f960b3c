//! Keys of Codex's configuration by which a thread gets programs, or is led elsewhere.
//!
//! What they name is started by Codex itself, outside of every sandbox and without an ask, or is where prompts and credentials go. So
//! whoever may set them may run anything, whatever the sandbox of the thread is.

/// With all keys below them. Seen in the configuration of Codex 0.125.0 to 0.169.0.
const TELLING: [&str; 20] = [
    "agents",
    "apps",
    "chatgpt_base_url",
    "experimental_realtime_ws_base_url",
    "experimental_thread_config_endpoint",
    "hooks",
    "js_repl_node_module_dirs",
    "js_repl_node_path",
    "log_dir",
    "marketplaces",
    "mcp_servers",
    "model_providers",
    "notify",
    "openai_base_url",
    "otel",
    "plugins",
    "profiles",
    // A folder that is trusted brings a configuration of its own along.
    "projects",
    "sqlite_home",
    "zsh_path",
];

/// What may be said of an MCP server that is there anyway, without making another program of it.
const HARMLESS_OF_A_SERVER: [&str; 8] = [
    "default_tools_approval_mode",
    "disabled_tools",
    "enabled",
    "enabled_tools",
    "required",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "tool_timeout_sec",
];

/// Whether this dotted key can make Codex start a program of the caller's choice, or send what it knows elsewhere.
pub fn names_program(key: &str) -> bool {
    // Codex does not take quotes apart; a version that did must not find more in a key than we do.
    let bare = |part: &str| {
        part.trim_matches(|it: char| it.is_whitespace() || "\"'".contains(it)).to_owned()
    };
    let parts: Vec<String> = key.split('.').map(bare).collect();
    match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["mcp_servers", _, setting] => !HARMLESS_OF_A_SERVER.contains(setting),
        [first, ..] => TELLING.contains(first),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::names_program;

    #[test]
    fn what_starts_programs_is_told_from_what_does_not() {
        for key in [
            "mcp_servers",
            "mcp_servers.hay",
            "mcp_servers.enabled",
            "mcp_servers.hay.command",
            "mcp_servers.hay.env.LD_PRELOAD",
            "mcp_servers.hay.env.enabled",
            "mcp_servers.\"a.b\".enabled",
            "\"mcp_servers\".hay",
            " notify ",
            "notify",
            "hooks.PreToolUse",
            "model_providers.mine.base_url",
            "projects.\"/work\".trust_level",
        ] {
            assert!(names_program(key), "{key}");
        }
        for key in [
            "mcp_servers.hay.enabled",
            "mcp_servers.hay.tool_timeout_sec",
            "model_verbosity",
            "features.web_search",
            "tools.web_search",
            "notifying",
            "",
        ] {
            assert!(!names_program(key), "{key}");
        }
    }
}
