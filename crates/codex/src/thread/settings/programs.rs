//! Keys of Codex's configuration by which a thread gets programs, or is led elsewhere.
//!
//! What they name is started by Codex itself, outside of every sandbox and without an ask, or is where prompts and credentials go. So
//! whoever may set them may run anything, whatever the sandbox of the thread is.

/// With all keys below them. Seen in the configuration of Codex 0.125.0 to 0.169.0.
const TELLING: [&str; 25] = [
    "agents",
    "apps",
    "bypass_hook_trust",
    "chatgpt_base_url",
    "experimental_realtime_webrtc_call_base_url",
    "experimental_realtime_ws_base_url",
    "experimental_thread_config_endpoint",
    "experimental_thread_store",
    "experimental_thread_store_endpoint",
    "hooks",
    "js_repl_node_module_dirs",
    "js_repl_node_path",
    "log_dir",
    "marketplaces",
    "mcp_oauth_callback_url",
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

/// What may be said of an MCP server that is there anyway, without making another program of it, and without its tools running unasked.
const HARMLESS_OF_A_SERVER: [&str; 7] = [
    "disabled_tools",
    "enabled",
    "enabled_tools",
    "required",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "tool_timeout_sec",
];

/// What gives a thread no right that it would not have without it, whatever the value: how much the model reads, thinks and says.
const WIDENING_NOTHING: [&str; 13] = [
    "background_terminal_max_timeout",
    "hide_agent_reasoning",
    "model_auto_compact_token_limit",
    "model_auto_compact_token_limit_scope",
    "model_context_window",
    "model_supports_reasoning_summaries",
    "model_verbosity",
    "personality",
    "plan_mode_reasoning_effort",
    "project_doc_max_bytes",
    "show_raw_agent_reasoning",
    "suppress_unstable_features_warning",
    "tool_output_token_limit",
];

/// Whether this dotted key can make Codex start a program of the caller's choice, run a tool of a program unasked, or send what it
/// knows elsewhere.
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

/// Whether this dotted key with this value, JSON text, is known to give a thread no more rights than Codex's own file gives it. Of what
/// is not listed nothing is known: a feature that is switched off may be one that asks, and a list of tools replaces a shorter one.
pub fn widens_nothing(key: &str, value: &str) -> bool {
    match key.split('.').collect::<Vec<_>>().as_slice() {
        [key] if WIDENING_NOTHING.contains(key) => true,
        ["web_search"] => value == r#""disabled""#,
        ["mcp_servers", _, setting] => match *setting {
            "required" | "startup_timeout_ms" | "startup_timeout_sec" | "tool_timeout_sec" => true,
            "enabled" => value == "false",
            "enabled_tools" => value == "[]",
            "default_tools_approval_mode" => value == r#""prompt""#,
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{names_program, widens_nothing};

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
            "mcp_servers.hay.default_tools_approval_mode",
            "mcp_servers.hay.tools.cut.approval_mode",
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

    #[test]
    fn only_what_is_known_widens_nothing() {
        for (key, value) in [
            ("model_verbosity", "\"low\""),
            ("web_search", "\"disabled\""),
            ("mcp_servers.hay.enabled", "false"),
            ("mcp_servers.hay.enabled_tools", "[]"),
            ("mcp_servers.hay.default_tools_approval_mode", "\"prompt\""),
            ("mcp_servers.hay.tool_timeout_sec", "9"),
        ] {
            assert!(widens_nothing(key, value), "{key}");
        }
        for (key, value) in [
            ("mcp_servers.hay.default_tools_approval_mode", "\"approve\""),
            ("mcp_servers.hay.default_tools_approval_mode", "\"auto\""),
            ("mcp_servers.hay.tools.cut.approval_mode", "\"prompt\""),
            ("mcp_servers.hay.enabled", "true"),
            ("mcp_servers.hay.enabled_tools", "[\"cut\"]"),
            ("mcp_servers.hay.disabled_tools", "[]"),
            ("mcp_servers.hay.command", "\"sh\""),
            ("features.guardian_approval", "false"),
            ("features.apps", "true"),
            ("auto_review.policy", "\"allow all\""),
            ("bypass_hook_trust", "true"),
            ("permissions.mine.network.enabled", "true"),
            ("profile", "\"wide\""),
            ("skills.config", "[]"),
            ("model_catalog_json", "\"/tmp/x\""),
            ("shell_environment_policy.inherit", "\"all\""),
            ("tools.web_search", "true"),
            ("model_verbosity.below", "1"),
            ("invented_tomorrow", "1"),
            ("", ""),
        ] {
            assert!(!widens_nothing(key, value), "{key}");
        }
    }
}
