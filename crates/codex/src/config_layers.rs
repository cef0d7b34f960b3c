//! Which files Codex's configuration is made of, and which of them has the last word on what.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::protocol::json::Json;
use crate::protocol::request::account::ConfigState;

/// One source of Codex's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub source: LayerSource,
    /// Dotted names of all that it sets.
    pub keys: Vec<String>,
    /// Those of them that another layer overrules.
    pub overruled: Vec<String>,
    /// Why Codex does not use it at all.
    pub disabled: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerSource {
    /// The user's own file, or a profile of theirs.
    User { file: Option<String> },
    /// For everybody on this machine.
    System { file: Option<String> },
    /// A `.codex` folder in a project.
    Project { folder: Option<String> },
    /// What Codex was started with.
    Arguments,
    /// Put there by an administrator; the word is Codex's.
    Managed { kind: String, file: Option<String> },
    /// A kind that came later.
    Other { kind: String, file: Option<String> },
}

/// The layers as `config/read` tells of them, the strongest first. None if they were not asked for.
pub fn layers(state: &ConfigState) -> Vec<Layer> {
    let told: Vec<Told> = read(state.layers.as_ref()).unwrap_or_default();
    let origins: serde_json::Map<String, Value> = read(state.origins.as_ref()).unwrap_or_default();
    told.iter()
        .map(|layer| {
            let mut keys = BTreeSet::new();
            leaves(&layer.config, String::new(), &mut keys);
            let is_overruled = |key: &&String| {
                let origin = origins.get(*key).and_then(|origin| origin.get("name"));
                origin.is_some_and(|origin| *origin != layer.name)
            };
            let overruled = keys.iter().filter(is_overruled).cloned().collect();
            Layer {
                source: LayerSource::read(&layer.name),
                overruled,
                keys: keys.into_iter().collect(),
                disabled: layer.disabled_reason.clone(),
            }
        })
        .collect()
}

/// The names of the MCP servers that the configuration switches off.
pub fn disabled_mcp_servers(state: &ConfigState) -> BTreeSet<String> {
    let config: Value = read(Some(&state.config)).unwrap_or_default();
    let servers = config.get("mcp_servers").and_then(Value::as_object).into_iter().flatten();
    let is_off = |server: &Value| server.get("enabled").and_then(Value::as_bool) == Some(false);
    servers.filter(|(_, server)| is_off(server)).map(|(name, _)| name.clone()).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    #[serde(default)]
    name: Value,
    #[serde(default)]
    config: Value,
    #[serde(default)]
    disabled_reason: Option<String>,
}

impl LayerSource {
    fn read(name: &Value) -> Self {
        let text = |key: &str| name.get(key).and_then(Value::as_str).map(str::to_owned);
        let (kind, file) = (text("type").unwrap_or_default(), text("file"));
        match kind.as_str() {
            "user" => Self::User { file },
            "system" => Self::System { file },
            "project" => Self::Project { folder: text("dotCodexFolder") },
            "sessionFlags" => Self::Arguments,
            "mdm"
            | "enterpriseManaged"
            | "legacyManagedConfigTomlFromFile"
            | "legacyManagedConfigTomlFromMdm" => Self::Managed { kind, file },
            _ => Self::Other { kind, file },
        }
    }
}

fn read<T: for<'a> Deserialize<'a>>(json: Option<&Json>) -> Option<T> {
    serde_json::from_str(json?.text()).ok()
}

/// Codex names the places of its origins like this: tables by their keys, elements of lists by their number.
fn leaves(value: &Value, at: String, found: &mut BTreeSet<String>) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| leaves(value, below(key), found));
        }
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .for_each(|(index, value)| leaves(value, below(&index.to_string()), found)),
        _ => drop(found.insert(at)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(value: &Value) -> ConfigState {
        serde_json::from_str(&value.to_string()).unwrap()
    }

    #[test]
    fn each_layer_has_its_keys_and_what_it_lost() {
        let user = json!({ "type": "user", "file": "/h/config.toml", "profile": null });
        let system = json!({ "type": "system", "file": "/etc/codex/config.toml" });
        let said = state(&json!({
            "config": { "mcp_servers": { "a": { "enabled": false }, "b": { "enabled": true }, "c": {} } },
            "layers": [
                { "name": user, "version": "1", "config": { "model": "x", "a": { "b": [1, 2] } } },
                { "name": system, "version": "2", "config": { "model": "y" } },
                { "name": { "type": "later", "file": "/l" }, "config": {}, "disabledReason": "no trust" },
                { "name": { "type": "sessionFlags" }, "config": { "f": true } },
            ],
            "origins": {
                "model": { "name": user, "version": "1" },
                "a.b.0": { "name": user, "version": "1" },
            },
        }));
        let layer = |source, keys: &[&str], overruled: &[&str], disabled: Option<&str>| {
            let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            Layer {
                source,
                keys: texts(keys),
                overruled: texts(overruled),
                disabled: disabled.map(str::to_owned),
            }
        };
        let file = |path: &str| Some(path.to_owned());
        assert_eq!(
            layers(&said),
            [
                layer(
                    LayerSource::User { file: file("/h/config.toml") },
                    &["a.b.0", "a.b.1", "model"],
                    &[],
                    None
                ),
                layer(
                    LayerSource::System { file: file("/etc/codex/config.toml") },
                    &["model"],
                    &["model"],
                    None
                ),
                layer(
                    LayerSource::Other { kind: "later".to_owned(), file: file("/l") },
                    &[],
                    &[],
                    Some("no trust")
                ),
                layer(LayerSource::Arguments, &["f"], &[], None),
            ]
        );
        assert_eq!(disabled_mcp_servers(&said), BTreeSet::from(["a".to_owned()]));
    }

    #[test]
    fn what_cannot_be_read_is_no_layer() {
        assert_eq!(layers(&state(&json!({ "config": {}, "layers": "none" }))), []);
        assert_eq!(layers(&state(&json!({ "config": {} }))), []);
    }
}
