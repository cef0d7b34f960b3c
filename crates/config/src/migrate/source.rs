//! A file of another program, read into its servers.

use serde_json::{Map, Value};
use thiserror::Error;

use super::declared::{Declared, Times};
use super::dialects::flatten;
use super::jsonc::to_json;

/// Where programs keep their servers, by path from the top of the file: a host agent's YAML, Claude Desktop, Claude Code,
/// Cursor, Windsurf and Cline, VS Code alone and inside its settings, Zed, opencode, Amp, Goose.
const PLACES: [&[&str]; 9] = [
    &["mcp_servers"],
    &["mcpServers"],
    &["servers"],
    &["mcp", "servers"],
    &["context_servers"],
    &["amp.mcpServers"],
    &["mcp", "mcpServers"],
    &["mcp"],
    &["extensions"],
];

/// All that a file declares.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Source {
    pub servers: Vec<Declared>,
    /// What was passed over, and why.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceError {
    #[error("is not JSON: {0}")]
    Json(String),
    #[error("is not YAML: {0}")]
    Yaml(String),
    #[error("holds no settings; it should begin with a table of keys")]
    NotATable,
    #[error(
        "holds no MCP servers; they are looked for below mcp_servers, mcpServers, servers, context_servers, mcp and extensions"
    )]
    NoServers,
    #[error("{0} should be a table of servers by name, or a list of servers that each have one")]
    NotServers(String),
}

/// Reads JSON with or without comments, and YAML. Which of them it is shows at its first sign.
pub fn read_source(text: &str) -> Result<Source, SourceError> {
    let Value::Object(root) = parse(text)? else {
        return Err(SourceError::NotATable);
    };
    let mut source = Source::default();
    let mut is_found = false;
    for place in PLACES {
        let Some(found) = look_up(&root, place) else { continue };
        let name = place.join(".");
        if ["mcp", "extensions"].contains(&name.as_str()) && !holds_servers(found) {
            continue;
        }
        is_found = true;
        source.take(&name, found)?;
    }
    // Claude Code keeps those of a project below its folder.
    if let Some(Value::Object(projects)) = root.get("projects") {
        for (folder, project) in projects {
            if let Some(found) = project.get("mcpServers") {
                is_found = true;
                source.take(&format!("projects.{folder}.mcpServers"), found)?;
            }
        }
    }
    if is_found { Ok(source) } else { Err(SourceError::NoServers) }
}

impl Source {
    fn take(&mut self, place: &str, found: &Value) -> Result<(), SourceError> {
        match found {
            // A key without a value is a table without servers.
            Value::Null => {}
            Value::Object(servers) => {
                for (name, server) in servers {
                    self.add(place, name, server);
                }
            }
            Value::Array(servers) => {
                for server in servers {
                    match server.get("name").and_then(Value::as_str) {
                        Some(name) => self.add(place, name, server),
                        None => self.notes.push(format!("{place}: a server without a name")),
                    }
                }
            }
            _ => return Err(SourceError::NotServers(place.to_owned())),
        }
        Ok(())
    }

    fn add(&mut self, place: &str, name: &str, server: &Value) {
        let Value::Object(keys) = server else {
            self.notes.push(format!("{place}.{name}: is no table"));
            return;
        };
        // Goose has extensions that are part of it.
        if let Some(kind @ ("builtin" | "platform" | "frontend" | "inline_python")) =
            keys.get("type").and_then(Value::as_str)
        {
            self.notes.push(format!("{place}.{name}: is {kind}, which is no MCP server"));
            return;
        }
        if self.servers.iter().any(|one| one.name == name) {
            self.notes.push(format!("{place}.{name}: there was one of this name before"));
            return;
        }
        let mut keys = keys.clone();
        keys.remove("name");
        // Zed says with it who wrote the entry.
        if keys.get("source").and_then(Value::as_str).is_some() {
            keys.remove("source");
        }
        self.servers.push(flatten(name.to_owned(), keys, times(place)));
    }
}

/// Gemini and Claude Code, opencode and Zed count milliseconds, Cline in the same place seconds. A host agent and Goose count seconds.
fn times(place: &str) -> Times {
    let is_either = ["mcp", "context_servers"].contains(&place) || place.ends_with("mcpServers");
    if is_either { Times::Either } else { Times::Seconds }
}

fn parse(text: &str) -> Result<Value, SourceError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begins = text.trim_start();
    if begins.is_empty() {
        return Err(SourceError::NotATable);
    }
    if begins.starts_with('{') || begins.starts_with("//") || begins.starts_with("/*") {
        // The parser's words may quote what stands there, its place does not.
        return serde_json::from_str(&to_json(text)).map_err(|error| {
            SourceError::Json(format!("line {}, column {}", error.line(), error.column()))
        });
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let place =
            error.location().map(|at| format!("line {}, column {}", at.line(), at.column()));
        SourceError::Yaml(place.unwrap_or_else(|| "it cannot be read".to_owned()))
    })
}

fn look_up<'r>(root: &'r Map<String, Value>, place: &[&str]) -> Option<&'r Value> {
    let (first, rest) = place.split_first()?;
    let mut found = root.get(*first)?;
    for key in rest {
        found = found.get(*key)?;
    }
    Some(found)
}

/// Whether this table is one of servers; others have tables of these names, too.
fn holds_servers(found: &Value) -> bool {
    let Value::Object(entries) = found else { return false };
    let is_server = |entry: &Value| {
        ["command", "cmd", "url", "uri", "type"].iter().any(|key| entry.get(key).is_some())
    };
    !entries.is_empty() && entries.values().any(is_server)
}
