//! The schema of one Codex version, as `codex app-server generate-json-schema --experimental` writes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::reliance::{Message, Part};

/// Of the many files Codex writes, the one that holds every definition.
const FILE: &str = "codex_app_server_protocol.schemas.json";

/// All definitions of one version.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    root: Value,
}

#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("cannot read {}; run `codex app-server generate-json-schema --experimental` into its folder", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not json", path.display())]
    NotJson { path: PathBuf, source: serde_json::Error },
    #[error("{} lists no {group}; its layout is unknown to this version of ours", path.display())]
    Layout { path: PathBuf, group: &'static str },
}

impl Bundle {
    /// Reads the folder that the schema was written to.
    pub fn read(folder: &Path) -> Result<Self, BundleError> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(BundleError::Unreadable { path, source }),
        };
        let root = match serde_json::from_str(&text) {
            Ok(root) => root,
            Err(source) => return Err(BundleError::NotJson { path, source }),
        };
        let bundle = Self { root };
        // A layout we cannot read would otherwise look as if every method were gone.
        for group in ["ClientRequest", "ServerRequest", "ServerNotification"] {
            if bundle.methods(group).next().is_none() {
                return Err(BundleError::Layout { path, group });
            }
        }
        Ok(bundle)
    }

    /// The schema of a message. `None` if there is no such method or definition.
    pub(super) fn message(&self, message: &Message) -> Option<&Value> {
        let group = match message.part {
            Part::Request | Part::Reply => "ClientRequest",
            Part::ServerRequest | Part::Answer => "ServerRequest",
            Part::Notification => "ServerNotification",
        };
        let (_, params) = self.methods(group).find(|(method, _)| *method == message.method)?;
        match message.definition {
            Some(name) => self.definition(name),
            None => Some(params),
        }
    }

    /// What a `$ref` points to.
    pub(super) fn resolve(&self, reference: &str) -> Option<&Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// A definition by name. The newer half of the protocol has a folder of its own.
    fn definition(&self, name: &str) -> Option<&Value> {
        let definitions = self.root.get("definitions")?;
        definitions.get("v2").and_then(|newer| newer.get(name)).or_else(|| definitions.get(name))
    }

    /// The methods of a group with the schema of their params.
    fn methods<'a>(&'a self, group: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.root
            .pointer(&format!("/definitions/{group}/oneOf"))
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|method| {
                let properties = method.get("properties")?;
                let name = properties.pointer("/method/enum/0")?.as_str()?;
                Some((name, properties.get("params").unwrap_or(&Value::Null)))
            })
    }
}

impl From<Value> for Bundle {
    fn from(root: Value) -> Self {
        Self { root }
    }
}
