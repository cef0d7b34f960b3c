//! What programs call the same thing.

use serde_json::{Map, Value};

use super::declared::{Declared, Times};

/// Names of other programs, each with the one we go on with.
const SAME: [(&str, &str); 26] = [
    ("cmd", "command"),
    ("envs", "env"),
    ("environment", "env"),
    ("env_keys", "env_vars"),
    ("workingDirectory", "cwd"),
    ("working_dir", "cwd"),
    ("serverUrl", "url"),
    ("httpUrl", "url"),
    ("uri", "url"),
    ("endpoint", "url"),
    ("http_headers", "headers"),
    ("bearerTokenEnvVar", "bearer_token_env_var"),
    ("type", "transport"),
    ("transportType", "transport"),
    ("tool_timeout_sec", "timeout"),
    ("toolTimeout", "timeout"),
    ("startup_timeout_sec", "connect_timeout"),
    ("connectTimeout", "connect_timeout"),
    ("startupTimeout", "connect_timeout"),
    ("includeTools", "enabled_tools"),
    ("include_tools", "enabled_tools"),
    ("enabledTools", "enabled_tools"),
    ("available_tools", "enabled_tools"),
    ("excludeTools", "disabled_tools"),
    ("exclude_tools", "disabled_tools"),
    ("disabledTools", "disabled_tools"),
];

/// One vocabulary, whatever the program.
pub(super) fn flatten(name: String, keys: Map<String, Value>, times: Times) -> Declared {
    let mut server = Declared::new(name, keys, times);
    for (theirs, ours) in SAME {
        server.call(theirs, ours);
    }
    if let Some(Value::Bool(disabled)) = server.keys.get("disabled") {
        let enabled = Value::Bool(!disabled);
        server.keys.remove("disabled");
        server.put("enabled", "disabled", enabled);
    }
    split_command(&mut server);
    split_tools(&mut server);
    server
}

/// A command may be a list with its arguments, or an object with all that belongs to it.
fn split_command(server: &mut Declared) {
    match server.keys.get("command").cloned() {
        Some(Value::Array(words)) => {
            let mut words = words.into_iter();
            if let Some(program) = words.next() {
                server.keys.insert("command".to_owned(), program);
            }
            let mut args: Vec<Value> = words.collect();
            if let Some(Value::Array(more)) = server.keys.remove("args") {
                args.extend(more);
            }
            server.put("args", "command", Value::Array(args));
        }
        Some(Value::Object(parts)) => {
            server.keys.remove("command");
            for (key, value) in parts {
                let ours = if key == "path" { "command" } else { key.as_str() };
                server.put(ours, &format!("command.{key}"), value);
            }
        }
        _ => {}
    }
}

/// `tools: {include: […], exclude: […]}`.
fn split_tools(server: &mut Declared) {
    let Some(Value::Object(tools)) = server.keys.get("tools").cloned() else {
        return;
    };
    if !tools.keys().all(|key| ["include", "exclude"].contains(&key.as_str())) {
        return;
    }
    server.keys.remove("tools");
    for (theirs, ours) in [("include", "enabled_tools"), ("exclude", "disabled_tools")] {
        if let Some(list) = tools.get(theirs) {
            server.put(ours, &format!("tools.{theirs}"), list.clone());
        }
    }
}
