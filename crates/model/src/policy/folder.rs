//! Folders as text: this room cannot look at a disk.
//!
//! Links are not followed here. Whoever asks for a decision gives paths as they are on the disk, if a link could lead out.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::RuleError;
use super::fit::Fit;

/// An absolute path without `.`, `..`, empty parts, or a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Folder(String);

impl Folder {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the path is this folder or below it. A path that we cannot place is [`Fit::Unclear`].
    pub(super) fn holds(&self, path: &str) -> Fit {
        match parts(path) {
            Some(parts) => Fit::when(parts.starts_with(&self.parts())),
            None => Fit::Unclear,
        }
    }

    /// Whether one of both holds the other.
    pub(super) fn meets(&self, path: &str) -> Fit {
        match parts(path) {
            Some(parts) => {
                let own = self.parts();
                Fit::when(parts.starts_with(&own) || own.starts_with(&parts))
            }
            None => Fit::Unclear,
        }
    }

    /// What is left of the path below this folder, part by part.
    pub(super) fn below<'a>(&self, path: &'a str) -> impl Iterator<Item = &'a str> {
        parts(path).unwrap_or_default().into_iter().skip(self.parts().len())
    }

    fn parts(&self) -> Vec<&str> {
        parts(&self.0).unwrap_or_default()
    }
}

/// The names on the way to a path, or nothing if it begins or leads back somewhere that only a disk knows.
fn parts(path: &str) -> Option<Vec<&str>> {
    let path = path.strip_prefix('/')?;
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let is_plain = |part: &&str| *part != ".." && !part.contains(char::is_control);
    parts.iter().all(is_plain).then_some(parts)
}

/// A relative path as one from the root.
pub(super) fn in_folder(cwd: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") }
}

impl TryFrom<String> for Folder {
    type Error = RuleError;

    fn try_from(path: String) -> Result<Self, RuleError> {
        match parts(&path) {
            Some(parts) => Ok(Self(format!("/{}", parts.join("/")))),
            None => Err(RuleError::Folder(path)),
        }
    }
}

impl From<Folder> for String {
    fn from(folder: Folder) -> Self {
        folder.0
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
