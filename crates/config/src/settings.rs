//! What can be set. Every field is optional in the file.

use std::path::{Path, PathBuf};

use semver::Version;
use serde::{Deserialize, Deserializer, Serialize, de};

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    pub codex: CodexSettings,
}

/// `[codex]`: which Codex binary to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodexSettings {
    /// A binary of the user's own; absolute, or from the home folder with `~/`.
    #[serde(deserialize_with = "absolute_or_home")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// One of the versions that we installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl CodexSettings {
    /// The path with `~/` replaced by the home folder. Without a home folder it stays as it is and will not be found.
    #[must_use]
    pub fn expanded_path(&self, home: Option<&Path>) -> Option<PathBuf> {
        let path = self.path.as_ref()?;
        match (path.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => Some(home.join(rest)),
            _ => Some(path.clone()),
        }
    }
}

/// A relative path would mean another file in every folder somebody stands in.
fn absolute_or_home<'de, D: Deserializer<'de>>(source: D) -> Result<Option<PathBuf>, D::Error> {
    let path = PathBuf::deserialize(source)?;
    if path.is_absolute() || path.starts_with("~") {
        return Ok(Some(path));
    }
    let message = format!(
        "{:?} is relative; write an absolute path, or one that starts with ~/",
        path.display().to_string()
    );
    Err(de::Error::custom(message))
}
