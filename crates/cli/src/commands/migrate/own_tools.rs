//! Our own tools as a server of Codex.

use std::path::Path;

use ostler_config::Config;
use toml::{Table, Value};

/// Whose tools they are: where this Ostler keeps its files, and for whom Codex works.
const IDENTITY: [&str; 9] = [
    "OSTLER_HOME",
    "OSTLER_CONVERSATION",
    "OSTLER_TASK",
    "OSTLER_LOG",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CACHE_HOME",
    "CODEX_HOME",
];

/// A browser may have to be found and started first.
const STARTUP_SECONDS: f64 = 30.0;

/// An image may take its model minutes.
const CALL_SECONDS: f64 = 600.0;

pub(super) fn table(program: &Path, config: &Config) -> Table {
    let identity = IDENTITY.map(str::to_owned);
    let names = identity.into_iter().chain(keys(config)).map(Value::String).collect();
    Table::from_iter([
        ("command".to_owned(), Value::String(program.display().to_string())),
        ("args".to_owned(), Value::Array(vec![Value::String("tools-mcp".to_owned())])),
        ("env_vars".to_owned(), Value::Array(names)),
        ("startup_timeout_sec".to_owned(), Value::Float(STARTUP_SECONDS)),
        ("tool_timeout_sec".to_owned(), Value::Float(CALL_SECONDS)),
    ])
}

/// The variables that hold the keys of whoever searches, sees, paints and speaks for the tools. Codex passes on what it is given itself,
/// which for most keys is what `pass` in `[environment]` names.
fn keys(config: &Config) -> Vec<String> {
    let sees = config.vision.provider.as_ref().unwrap_or(&config.agent.provider);
    let asked = [Some(sees), config.images.provider.as_ref(), config.speech.provider.as_ref()];
    let mut keys: Vec<String> = Vec::new();
    for provider in asked.into_iter().flatten().filter_map(|name| config.provider(name)) {
        keys.extend(provider.key_env.iter().map(|name| name.as_str().to_owned()));
        keys.extend(provider.headers.0.values().map(|name| name.as_str().to_owned()));
    }
    keys.extend(config.web.search_key_env.iter().map(|name| name.as_str().to_owned()));
    keys.sort_unstable();
    keys.dedup();
    keys
}
