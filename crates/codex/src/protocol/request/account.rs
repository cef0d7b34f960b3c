//! What the Codex home has: account, limits, models, configuration, plugins.

use serde::{Deserialize, Serialize};

use super::ClientRequest;
use crate::protocol::json::Json;
use crate::protocol::lenient;
use crate::protocol::limits::AccountRateLimits;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountRead {
    pub refresh_token: bool,
}

impl ClientRequest for AccountRead {
    const METHOD: &'static str = "account/read";
    type Reply = AccountState;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountState {
    /// Absent if nobody is logged in, or the provider needs no login.
    #[serde(default, deserialize_with = "lenient::object")]
    pub account: Option<Account>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub requires_openai_auth: bool,
}

/// `apiKey`, `chatgpt`, `amazonBedrock` or `gcp`; only `chatgpt` says more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub kind: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub email: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub plan_type: Option<String>,
}

/// Needs a ChatGPT login, else Codex answers with an error. A unit, because older versions take only null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AccountRateLimitsRead;

impl ClientRequest for AccountRateLimitsRead {
    const METHOD: &'static str = "account/rateLimits/read";
    type Reply = AccountRateLimits;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelList {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_hidden: Option<bool>,
}

impl ClientRequest for ModelList {
    const METHOD: &'static str = "model/list";
    type Reply = ModelPage;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPage {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub data: Vec<Model>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub id: String,
    /// The name the model's own API knows.
    #[serde(default, deserialize_with = "lenient::option")]
    pub model: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub display_name: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub description: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub hidden: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub is_default: bool,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub supported_reasoning_efforts: Vec<ReasoningEffort>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub default_reasoning_effort: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningEffort {
    pub reasoning_effort: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigRead {
    pub include_layers: bool,
    /// Adds the layers of the project that holds this folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

impl ClientRequest for ConfigRead {
    const METHOD: &'static str = "config/read";
    type Reply = ConfigState;
}

/// Codex's whole configuration, which only its own TOML gives meaning to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigState {
    pub config: Json,
    /// Which layer each key comes from.
    #[serde(default, deserialize_with = "lenient::option")]
    pub origins: Option<Json>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub layers: Option<Json>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginList {
    /// Absolute folders whose projects may bring plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwds: Option<Vec<String>>,
}

impl ClientRequest for PluginList {
    const METHOD: &'static str = "plugin/list";
    type Reply = Plugins;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plugins {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub marketplaces: Vec<Marketplace>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub marketplace_load_errors: Vec<MarketplaceLoadError>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Marketplace {
    pub name: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub path: Option<String>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub plugins: Vec<Plugin>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plugin {
    pub id: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub installed: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub enabled: bool,
    /// `AVAILABLE`, or what keeps it from being used; older versions do not say.
    #[serde(default, deserialize_with = "lenient::option")]
    pub availability: Option<String>,
}

impl Plugin {
    /// Whether Codex works with it: one that an administrator has shut off is still installed and enabled.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        let availability = self.availability.as_deref().unwrap_or_default();
        let is_available = availability.is_empty() || availability == "AVAILABLE";
        self.installed && self.enabled && is_available
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceLoadError {
    #[serde(default, deserialize_with = "lenient::option")]
    pub marketplace_path: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub message: String,
}

/// The permission profiles by their names. Codex 0.130.0 cannot be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfileList {}

impl ClientRequest for PermissionProfileList {
    const METHOD: &'static str = "permissionProfile/list";
    type Reply = PermissionProfiles;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct PermissionProfiles {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub data: Vec<PermissionProfile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PermissionProfile {
    pub id: String,
    /// Whether those who administer the machine let it be chosen.
    #[serde(default, deserialize_with = "lenient::option")]
    pub allowed: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::Plugin;

    #[test]
    fn a_plugin_that_was_shut_off_is_not_in_use() {
        let plugin = |more: &str| -> Plugin {
            serde_json::from_str(&format!(r#"{{"id": "a@b"{more}}}"#)).unwrap()
        };
        let in_use = [
            "",
            r#", "installed": true, "enabled": false"#,
            r#", "installed": true, "enabled": true"#,
            r#", "installed": true, "enabled": true, "availability": null"#,
            r#", "installed": true, "enabled": true, "availability": """#,
            r#", "installed": true, "enabled": true, "availability": "AVAILABLE""#,
            r#", "installed": true, "enabled": true, "availability": "DISABLED_BY_ADMIN""#,
            r#", "installed": false, "enabled": true, "availability": "AVAILABLE""#,
        ]
        .map(|more| plugin(more).is_in_use());
        assert_eq!(in_use, [false, false, true, true, true, true, false, false]);
    }
}
