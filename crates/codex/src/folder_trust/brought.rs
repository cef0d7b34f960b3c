//! What a folder's own settings would have Codex do, for a person to look at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::PROJECT_FOLDER;
use super::contents::{ContentsError, contents};
use crate::secrets::hide;
use crate::secrets::names::{Secrecy, secrecy_of};
use crate::secrets::shapes::{Care, Reading, look};
use crate::thread::settings::names_program;

/// Variables by which a program that is started loads others, or which the program is: their values are always shown.
const LOADERS: [&str; 10] = [
    "BASH_ENV",
    "ENV",
    "NODE_OPTIONS",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
];
const LOADERS_BEGIN: [&str; 3] = ["DYLD_", "GIT_", "LD_"];

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
                    .map(|(key, value)| one(true, line(&key, value)))
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
        leaves(value).into_iter().partition(|(key, _)| names_program(&dotted(key)));
    let programs = programs.into_iter().map(|(key, value)| (true, line(&key, value)));
    programs.chain(others.into_iter().map(|(key, value)| (false, line(&key, value)))).collect()
}

fn line(key: &[String], value: &Value) -> String {
    let value = match place(key) {
        Place::Open => value.to_string(),
        Place::MayBeSecret if may_be_hidden(key, value) => "(not shown)".to_owned(),
        Place::MayBeSecret => {
            let text = value.to_string();
            let spans = look(&text, Reading::Whole, Care::Words).spans;
            hide(&text, &spans).unwrap_or(text)
        }
    };
    format!("{} = {value}", dotted(key))
}

enum Place {
    Open,
    /// Where people write secrets; whatever else is written there is shown.
    MayBeSecret,
}

/// By where it stands, and not by names that the folder itself chooses, such as those of servers.
fn place(key: &[String]) -> Place {
    let key: Vec<&str> = key.iter().map(String::as_str).collect();
    match key.as_slice() {
        ["mcp_servers", _, "env", name, ..] if is_loader(name) => Place::Open,
        ["mcp_servers", _, "env" | "http_headers" | "bearer_token", ..]
        | ["model_providers", _, "http_headers" | "experimental_bearer_token", ..]
        | ["otel", _, _, "headers", ..] => Place::MayBeSecret,
        _ => Place::Open,
    }
}

fn is_loader(name: &str) -> bool {
    LOADERS.contains(&name) || LOADERS_BEGIN.iter().any(|begin| name.starts_with(begin))
}

/// Whether it is named as a secret, and is none of the values that a shell would take for a program or its file.
fn may_be_hidden(key: &[String], value: &Value) -> bool {
    let name = key.last().map(String::as_str).unwrap_or_default();
    let is_variable = key.get(2).is_some_and(|place| place == "env");
    let is_plain = |value: &str| {
        let is_path = value.starts_with(['/', '.', '~']);
        !is_path
            && !value.contains(|it: char| it.is_whitespace() || "$;|&<>(){}`'\"\\".contains(it))
    };
    match value {
        Value::String(value) => {
            secrecy_of(name) != Secrecy::Open && (!is_variable || is_plain(value))
        }
        _ => false,
    }
}

/// As it is written in TOML; a name that holds other characters is told from two names.
fn dotted(key: &[String]) -> String {
    let is_bare = |part: &String| {
        !part.is_empty() && part.chars().all(|it| it.is_ascii_alphanumeric() || "-_".contains(it))
    };
    let part = |part: &String| if is_bare(part) { part.clone() } else { format!("{part:?}") };
    key.iter().map(part).collect::<Vec<_>>().join(".")
}

/// Every value with the names on the way to it; lists of plain values stay together.
fn leaves(value: &Value) -> BTreeMap<Vec<String>, &Value> {
    fn gather<'a>(at: &[String], value: &'a Value, found: &mut BTreeMap<Vec<String>, &'a Value>) {
        let below = |name: &str| [at, &[name.to_owned()]].concat();
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
            other => drop(found.insert(at.to_vec(), other)),
        }
    }
    let mut found = BTreeMap::new();
    gather(&[], value, &mut found);
    found
}
