//! One server in Codex's words, with what became of each of its keys.

mod address;
mod in_use;
mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use super::declared::Declared;
use super::pieces::{Foreign, Piece, names, pieces, variable_name};
use super::secret::Shapes;
pub use in_use::InUse;

/// A server as `[mcp_servers.NAME]` has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Translation {
    pub name: String,
    /// What the file calls it, where Codex would not take that.
    pub renamed_from: Option<String>,
    /// Without any secret.
    pub table: toml::Table,
    pub keys: Vec<KeyNote>,
    /// What must be set where Codex runs.
    pub variables: Vec<Variable>,
    /// Values of some of these, if they are to be stored.
    pub secrets: BTreeMap<String, SecretValue>,
}

/// A value that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(String);

impl SecretValue {
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretValue")
    }
}

/// What became of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyNote {
    pub key: String,
    /// Codex's key, or none if it is left out.
    pub became: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A variable of the environment that a server gets a value from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Variable {
    pub name: String,
    /// Where the value stands in the other program's file; nowhere, if that refers to the variable itself.
    pub holds: Option<String>,
    /// Whether the server does without it.
    pub has_default: bool,
}

/// Why a server is left out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("has neither a command nor a url; give it one")]
    Nothing,
    #[error("{0} must be a text")]
    NotText(String),
    #[error("{0} must be a table of texts")]
    NotTexts(String),
    #[error(
        "{key} has {placeholder}, which only the program knows that the file belongs to; write what it stands for"
    )]
    Foreign { key: String, placeholder: String },
    #[error(
        "its address holds a secret, and Codex takes none from the environment there; give it as a header"
    )]
    SecretAddress,
    #[error("its address has a placeholder, and Codex takes none there; write what it stands for")]
    PlaceholderAddress,
    #[error("its {0} holds a secret; put it into a variable and write ${{NAME}} in its place")]
    SecretPlace(&'static str),
    #[error("its name has no letter or digit that Codex takes; give it another")]
    Name,
    #[error("Codex would call it {0}, and there is one of that name; give it another")]
    NameTaken(String),
}

/// Makes Codex's table of a server. `shapes` knows secrets by how they look, beside what is known here.
pub fn translate(
    server: &Declared,
    taken: &mut InUse,
    shapes: Shapes<'_>,
) -> Result<Translation, Refusal> {
    let name = codex_name(&server.name).ok_or(Refusal::Name)?;
    if taken.names.contains(&name) {
        return Err(Refusal::NameTaken(name));
    }
    let renamed_from = (name != server.name).then(|| server.name.clone());
    let mut work = Work {
        server,
        name: name.clone(),
        taken,
        shapes,
        table: toml::Table::new(),
        keys: Vec::new(),
        variables: BTreeSet::new(),
        secrets: BTreeMap::new(),
    };
    match (work.text("command")?, work.text("url")?) {
        (Some(command), url) => {
            if url.is_some() {
                work.skip("url", "the command is taken, and Codex takes one of them");
            }
            work.process(&command)?;
        }
        (None, Some(url)) => work.address(&url)?,
        (None, None) => return Err(Refusal::Nothing),
    }
    work.everything_else();
    let Work { table, mut keys, variables, secrets, .. } = work;
    keys.sort_by(|one, other| one.key.cmp(&other.key));
    taken.names.insert(name.clone());
    let variables = variables.into_iter().collect();
    Ok(Translation { name, renamed_from, table, keys, variables, secrets })
}

struct Work<'w> {
    server: &'w Declared,
    name: String,
    taken: &'w mut InUse,
    shapes: Shapes<'w>,
    table: toml::Table,
    keys: Vec<KeyNote>,
    variables: BTreeSet<Variable>,
    secrets: BTreeMap<String, SecretValue>,
}

/// Names that are tried for one value. Nobody has so many of one name.
const MOST_NAMES: usize = 1000;

/// Keys that are dealt with where the command or the address is.
const OF_THE_WAY: [&str; 9] = [
    "command",
    "args",
    "env",
    "env_vars",
    "cwd",
    "url",
    "headers",
    "env_http_headers",
    "bearer_token_env_var",
];

impl Work<'_> {
    /// A text that is there and not empty.
    fn text(&self, key: &str) -> Result<Option<String>, Refusal> {
        match self.server.keys.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
            Some(_) => Err(Refusal::NotText(self.server.written(key).to_owned())),
        }
    }

    /// A table of texts; what is no text is written as one.
    fn texts(&mut self, key: &str) -> Result<Vec<(String, String)>, Refusal> {
        let found = match self.server.keys.get(key) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(found)) => found,
            Some(_) => return Err(Refusal::NotTexts(self.server.written(key).to_owned())),
        };
        let mut texts = Vec::new();
        for (name, value) in found {
            match as_text(value) {
                Some(text) => texts.push((name.clone(), text)),
                None => {
                    let written = format!("{}.{name}", self.server.written(key));
                    self.keys.push(KeyNote {
                        key: written,
                        became: None,
                        note: Some("is no text".to_owned()),
                    });
                }
            }
        }
        Ok(texts)
    }

    fn took(&mut self, key: &str, became: &'static str, note: Option<String>) {
        let key = self.server.written(key).to_owned();
        self.keys.push(KeyNote { key, became: Some(became), note });
    }

    fn skip(&mut self, key: &str, why: &str) {
        let key = self.server.written(key).to_owned();
        self.keys.push(KeyNote { key, became: None, note: Some(why.to_owned()) });
    }

    /// A variable that a value of the file is to be put into. No two values share one.
    fn variable_for(&mut self, wanted: &str, value: &str, holds: &str) -> String {
        let own = variable_name(&[&self.name, wanted]);
        let numbered = (2..MOST_NAMES).map(|number| format!("MCP_{own}_{number}"));
        let numbered = (2..MOST_NAMES).map(|number| format!("{own}_{number}")).chain(numbered);
        let candidates = [wanted.to_owned(), own.clone()].into_iter().chain(numbered);
        let mut free = candidates.filter(|name| self.taken.is_free(name, value));
        // What is put together from the environment is set by hand, under the name that it has.
        let is_whole = names(&pieces(value).unwrap_or_default()).next().is_none();
        let name = free.find(|name| !is_whole || self.taken.is_storable(name)).unwrap_or(own);
        self.taken.values.insert(name.clone(), value.to_owned());
        self.store(&name, value);
        let holds = Some(holds.to_owned());
        self.variables.insert(Variable { name: name.clone(), holds, has_default: false });
        name
    }

    /// Keeps the value for whoever stores it, unless a part of it comes from the environment.
    fn store(&mut self, name: &str, written: &str) {
        let found = pieces(written).unwrap_or_default();
        let value = match found.as_slice() {
            // What another server reads itself is not set because this one has something in its place.
            [Piece::Variable { name: itself, default: Some(default) }] => {
                (itself == name && self.taken.is_read_once(name)).then_some(default.as_str())
            }
            found => names(found).next().is_none().then_some(written),
        };
        if let Some(value) = value.filter(|value| self.taken.stores(name, value)) {
            self.secrets.insert(name.to_owned(), SecretValue(value.to_owned()));
        }
    }

    /// What becomes of a value that is not copied. `what` says how to set its variable by hand.
    fn kept_apart(&self, variable: &str, what: &str) -> String {
        match self.secrets.contains_key(variable) {
            true => format!("stored as {variable}"),
            false => format!("set {variable}{what}"),
        }
    }

    fn refers_to(&mut self, name: &str) {
        self.refers((name, false));
    }

    fn refers(&mut self, (name, has_default): (&str, bool)) {
        self.variables.insert(Variable { name: name.to_owned(), holds: None, has_default });
    }

    fn foreign(&self, key: &str, Foreign(placeholder): Foreign) -> Refusal {
        Refusal::Foreign { key: self.server.written(key).to_owned(), placeholder }
    }

    fn everything_else(&mut self) {
        let keys: Vec<(String, Value)> = self
            .server
            .keys
            .iter()
            .filter(|(key, _)| !OF_THE_WAY.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        for (key, value) in keys {
            match key.as_str() {
                "timeout" => self.seconds("timeout", "tool_timeout_sec", &value),
                "connect_timeout" => self.seconds("connect_timeout", "startup_timeout_sec", &value),
                "enabled" => self.enabled(&value),
                "enabled_tools" | "disabled_tools" => self.tools(&key, &value),
                "transport" => self.transport(&value),
                "sampling" => self.skip(&key, "Codex has no equivalent"),
                "alwaysAllow" | "autoApprove" | "trust" | "always_allow" => {
                    self.skip(
                        &key,
                        "what runs without asking is for rules to say: see `ostler policy`",
                    );
                }
                "auth" | "oauth" => {
                    let login = format!("log in with `codex mcp login {}`", self.name);
                    self.skip(&key, &login);
                }
                _ => self.skip(&key, "Codex has no such key"),
            }
        }
    }

    fn seconds(&mut self, key: &'static str, became: &'static str, value: &Value) {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number.filter(|number| number.is_finite() && *number > 0.0) {
            // Nobody waits a quarter of an hour for a call, unless they say so where only seconds are meant.
            Some(number) if number >= 1000.0 && self.server.may_count_milliseconds(key) => {
                self.table.insert(became.to_owned(), toml::Value::Float(number / 1000.0));
                self.took(key, became, Some(format!("{number} is taken for milliseconds")));
            }
            Some(number) => {
                self.table.insert(became.to_owned(), toml::Value::Float(number));
                self.took(key, became, None);
            }
            None => self.skip(key, "is no number of seconds"),
        }
    }

    fn enabled(&mut self, value: &Value) {
        let is_enabled = match value {
            Value::Bool(is_enabled) => Some(*is_enabled),
            Value::String(word) => word.trim().to_ascii_lowercase().parse().ok(),
            _ => None,
        };
        match is_enabled {
            Some(false) => {
                self.table.insert("enabled".to_owned(), toml::Value::Boolean(false));
                self.took("enabled", "enabled", None);
            }
            Some(true) => self.took("enabled", "enabled", Some("that is the default".to_owned())),
            None => self.skip("enabled", "is neither true nor false"),
        }
    }

    fn tools(&mut self, key: &str, value: &Value) {
        let became = if key == "enabled_tools" { "enabled_tools" } else { "disabled_tools" };
        let names: Option<Vec<toml::Value>> = value.as_array().and_then(|names| {
            let names =
                names.iter().map(|name| Some(toml::Value::String(name.as_str()?.to_owned())));
            names.collect()
        });
        match names {
            // A list without names would take all tools away.
            Some(names) if names.is_empty() => self.skip(key, "is empty"),
            Some(names) => {
                self.table.insert(became.to_owned(), toml::Value::Array(names));
                self.took(key, became, None);
            }
            None => self.skip(key, "is no list of names"),
        }
    }

    fn transport(&mut self, value: &Value) {
        match value.as_str().unwrap_or_default().to_ascii_lowercase().as_str() {
            "sse" => self.skip(
                "transport",
                "Codex speaks streamable HTTP alone: the server works if it speaks that as well",
            ),
            _ => self.skip("transport", "Codex sees it by the command or the url"),
        }
    }
}

/// What Codex takes as the name of a server, which is part of the names of its tools.
fn codex_name(written: &str) -> Option<String> {
    let mut name = String::new();
    for sign in written.trim().chars() {
        match sign.is_ascii_alphanumeric() || "_-".contains(sign) {
            true => name.push(sign),
            false if !name.ends_with('-') => name.push('-'),
            false => {}
        }
    }
    let name = if name == written { name } else { name.trim_matches('-').to_owned() };
    name.chars().any(|sign| sign.is_ascii_alphanumeric()).then_some(name)
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}
