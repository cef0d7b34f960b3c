//! `[[policy]]`: rules of the operator's own that decide asks without a person.

use std::path::PathBuf;

use jiff::Timestamp;
use toml::de::DeValue;

use crate::section::section;
use crate::surroundings::NotAPlace;
use crate::value::words::words;
use crate::value::{Node, Place, Value, quoted};

words! {
    /// What a rule decides.
    Verdict {
        /// It may be done.
        Allow = "allow",
        /// It may not.
        Deny = "deny",
    }
}

/// For which tasks a rule holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    Everywhere,
    /// For tasks whose folder is this one or lies below it.
    Directory(PathBuf),
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    pub server: String,
    pub name: String,
}

section! {
    /// Rules that decide asks without a person, as many as you like, each below its own `[[policy]]`. Rules that are made
    /// by answering `always` or by `ostler policy` are in the database and not here. All that a rule names must fit; a rule
    /// must name a `command`, a `host` or a `tool`.
    PolicyRule = "policy", _at;

    /// What the rule decides. It has no default: every rule must say it.
    decision: Verdict = Verdict::Deny;
    /// The first words of the command, each a text of its own. Commands that are put together with a shell never fit.
    command: Option<Vec<String>> = None;
    /// The folder that the command runs in, or one above it.
    cwd: Option<PathBuf> = None;
    /// The host that a connection goes to.
    host: Option<String> = None;
    /// A tool of an MCP server.
    tool: Option<Tool> = None;
    /// The tasks that it holds for: `"everywhere"`, or those whose folder is the one named here or lies below it.
    scope: Scope = Scope::Everywhere;
    /// When it ends.
    expires: Option<Timestamp> = None;
}

impl PolicyRule {
    /// `is_given` says whether a key stands in the file, also if its value is wrong.
    pub(crate) fn check(&self, is_given: impl Fn(&str) -> bool) -> Result<(), String> {
        if !is_given("decision") {
            return Err(
                r#"has no decision; write decision = "allow" or decision = "deny""#.to_owned()
            );
        }
        if !["command", "host", "tool"].into_iter().any(&is_given) {
            return Err("fits everything; name a command, a host or a tool".to_owned());
        }
        if is_given("tool") && (is_given("command") || is_given("host")) {
            return Err("fits nothing: a tool is no command; make two rules of it".to_owned());
        }
        match self.command.as_deref() {
            Some([]) => Err("has an empty command; write its first words".to_owned()),
            // A program's path may have a space in it; a bare name with one is a command line.
            Some([line, ..]) if line.contains(' ') && !line.contains('/') => {
                let words: Vec<String> = line.split_whitespace().map(quoted).collect();
                let words = words.join(", ");
                Err(format!("has a command line for a program; write command = [{words}]"))
            }
            _ => Ok(()),
        }
    }
}

impl Value for Tool {
    fn form() -> String {
        r#"a server and its tool such as "github/create_issue""#.to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        let read = match found.get_ref() {
            DeValue::String(text) => text.split_once('/'),
            _ => None,
        };
        let read = read.filter(|(server, name)| !server.is_empty() && !name.is_empty());
        if read.is_none() {
            place.mismatch(found);
        }
        read.map(|(server, name)| Self { server: server.to_owned(), name: name.to_owned() })
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&format!("{}/{}", self.server, self.name)))
    }
}

impl Value for Scope {
    fn form() -> String {
        r#""everywhere", or an absolute path, or one that starts with ~/"#.to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        let read = match found.get_ref() {
            DeValue::String(text) if text == "everywhere" => Ok(Self::Everywhere),
            DeValue::String(text) => place.surroundings.expand(text).map(Self::Directory),
            _ => Err(NotAPlace::Relative),
        };
        if read.is_err() {
            place.mismatch(found);
        }
        read.ok()
    }

    fn written(&self) -> Option<String> {
        match self {
            Self::Everywhere => Some(quoted("everywhere")),
            Self::Directory(path) => path.written(),
        }
    }
}
