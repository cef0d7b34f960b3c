//! `install.json`: what was installed, and how to tell later that it is still the same.

use std::collections::BTreeMap;

use jiff::Timestamp;
use semver::Version;
use serde::{Deserialize, Serialize};

/// The name of the manifest inside a version's folder.
pub(crate) const FILE_NAME: &str = "install.json";

/// The format that this program writes. A reader takes any format that has the fields below.
pub(crate) const FORMAT: u32 = 1;

/// Written once, before the atomic rename that makes the folder count; never changed afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    pub version: Version,
    pub installed_at: Timestamp,
    /// The binary, relative to the version's folder.
    pub binary: String,
    pub size_bytes: u64,
    pub sha256: String,
    /// The npm packages it came from, with the integrity strings that npm verified.
    #[serde(default)]
    pub packages: Vec<PackageRecord>,
    /// Every file of the version's folder except the manifest: Codex also runs its siblings (`rg`, `bwrap`).
    #[serde(default)]
    pub files: BTreeMap<String, FileRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    pub name: String,
    pub version: String,
    pub integrity: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    pub size_bytes: u64,
    pub sha256: String,
}

impl Manifest {
    /// The bytes of everything that was installed.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.files.values().map(|file| file.size_bytes).sum::<u64>().max(self.size_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_from_another_format_is_read_by_the_fields_it_shares() {
        let text = r#"{"format":2,"version":"0.130.0","installed_at":"2026-01-02T03:04:05Z",
            "binary":"t/bin/codex","size_bytes":3,"sha256":"ab","new":{"field":1}}"#;
        assert_eq!(
            serde_json::from_str::<Manifest>(text).unwrap(),
            Manifest {
                format: 2,
                version: Version::new(0, 130, 0),
                installed_at: "2026-01-02T03:04:05Z".parse().unwrap(),
                binary: "t/bin/codex".to_owned(),
                size_bytes: 3,
                sha256: "ab".to_owned(),
                packages: Vec::new(),
                files: BTreeMap::new(),
            }
        );
    }
}
