//! What a folder's own settings would have Codex do, for a person to look at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::PROJECT_FOLDER;
use super::contents::{ContentsError, contents};
use crate::thread::settings::names_program;

/// Settings whose values may be secrets; their names are enough.
const MAY_BE_SECRET: [&str; 4] = ["env", "http_headers", "bearer_token", "headers"];

/// One thing that comes with a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// Below the folder.
    pub file: PathBuf,
    pub what: String,
    /// Codex starts it, or sends to it what it knows, outside of the sandbox.
    pub is_program: bool,
}

/// Everything in the settings of the folder, what would run first.
pub fn brought(folder: &Path) -> Result<Vec<Brought>, ContentsError> {
    let mut all: Vec<Brought> = contents(folder)?.iter().flat_map(of_file).collect();
    all.sort_by_key(|brought| !brought.is_program);
    Ok(all)
}

fn of_file((file, bytes): (&PathBuf, &Vec<u8>)) -> Vec<Brought> {
    let text = String::from_utf8_lossy(bytes);
    let one = |is_program, what: String| Brought { file: file.clone(), what, is_program };
    let own = file.strip_prefix(PROJECT_FOLDER).ok();
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match (own, extension) {
        (None, _) => vec![one(true, "a file that the settings name".to_owned())],
        (Some(own), "toml") => match toml::from_str::<Value>(&text) {
            Ok(value) => settings(&value).into_iter().map(|(is, what)| one(is, what)).collect(),
            Err(error) => vec![one(
                own.parent() == Some(Path::new("")),
                format!("no TOML that can be read: {}", error.message()),
            )],
        },
        (Some(own), "json") if own == Path::new("hooks.json") => {
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => leaves(&value)
                    .into_iter()
                    .map(|(key, value)| one(true, line(&key, &value)))
                    .collect(),
                Err(error) => vec![one(true, format!("no JSON that can be read: {error}"))],
            }
        }
        (Some(_), "rules") => {
            vec![one(
                true,
                "rules by which commands run unasked, outside of the sandbox".to_owned(),
            )]
        }
        (Some(_), _) => vec![one(false, format!("{} bytes", bytes.len()))],
    }
}

/// The settings that name programs, and the names of the others.
fn settings(value: &Value) -> Vec<(bool, String)> {
    let (programs, others): (Vec<_>, Vec<_>) =
        leaves(value).into_iter().partition(|(key, _)| names_program(key));
    let programs = programs.into_iter().map(|(key, value)| (true, line(&key, &value)));
    programs.chain(others.into_iter().map(|(key, value)| (false, line(&key, &value)))).collect()
}

fn line(key: &str, value: &Value) -> String {
    match key.split('.').any(|part| MAY_BE_SECRET.contains(&part)) {
        true => format!("{key} = (not shown)"),
        false => format!("{key} = {value}"),
    }
}

/// Every value with its dotted key; lists of plain values stay together.
fn leaves(value: &Value) -> BTreeMap<String, Value> {
    fn gather(at: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
        let below =
            |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    gather(&below(name), value, found);
                }
            }
            Value::Array(list) if list.iter().any(|it| it.is_object() || it.is_array()) => {
                for (place, value) in list.iter().enumerate() {
                    gather(&below(&place.to_string()), value, found);
                }
            }
            other => drop(found.insert(at.to_owned(), other.clone())),
        }
    }
    let mut found = BTreeMap::new();
    gather("", value, &mut found);
    found
}
