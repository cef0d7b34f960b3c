//! A widening of the sandbox, as Codex writes it.

use ostler_model::ask::Permissions;
use serde::{Deserialize, Serialize};

use super::json::Json;
use super::lenient;

/// What is asked for, and in the same shape what is granted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfile {
    #[serde(
        default,
        deserialize_with = "lenient::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub network: Option<NetworkPermissions>,
    #[serde(
        default,
        deserialize_with = "lenient::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub file_system: Option<FileSystemPermissions>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPermissions {
    #[serde(
        default,
        deserialize_with = "lenient::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub enabled: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemPermissions {
    #[serde(default, deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    #[serde(default, deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Finer rules `{path, access}`; their vocabulary differs between versions, so they are passed through.
    #[serde(default, deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Json>,
}

impl From<&PermissionProfile> for Permissions {
    fn from(profile: &PermissionProfile) -> Self {
        let files = profile.file_system.clone().unwrap_or_default();
        Self {
            network: profile.network.as_ref().and_then(|network| network.enabled),
            read: files.read,
            write: files.write,
            rules: files.entries.iter().map(|entry| entry.text().to_owned()).collect(),
        }
    }
}

impl PermissionProfile {
    /// The part of this profile that `granted` names; whatever was not asked for stays out.
    pub fn granted(&self, granted: &Permissions) -> Self {
        let network = match (&self.network, granted.network) {
            (Some(NetworkPermissions { enabled: Some(true) }), Some(enabled)) => {
                Some(NetworkPermissions { enabled: Some(enabled) })
            }
            _ => None,
        };
        let file_system = self.file_system.as_ref().map(|files| FileSystemPermissions {
            read: kept(&files.read, &granted.read),
            write: kept(&files.write, &granted.write),
            entries: files
                .entries
                .iter()
                .filter(|entry| granted.rules.iter().any(|rule| rule == entry.text()))
                .cloned()
                .collect(),
        });
        Self { network, file_system: file_system.filter(|files| *files != Default::default()) }
    }
}

fn kept(asked: &[String], granted: &[String]) -> Vec<String> {
    asked.iter().filter(|path| granted.contains(path)).cloned().collect()
}
