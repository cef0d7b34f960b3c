//! `[[policy]]`: rules of the operator's own that decide asks without a person.

use std::path::{Component, PathBuf};

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

/// A host, or all those below a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

section! {
    /// Rules that decide asks without a person, as many as you like, each below its own `[[policy]]`. Rules that are made
    /// by answering `always` are in the database and not here. A rule names a `command`, a `host`, a `tool` or `files`, one
    /// of them, and all else that it names must fit, too.
    PolicyRule = "policy", _at;

    /// What the rule decides. It has no default: every rule must say it.
    decision: Verdict = Verdict::Deny;
    /// The first words of the command, each a text of its own. Commands that are put together with a shell never fit.
    command: Option<Vec<String>> = None;
    /// Whether a rule that allows a command allows it outside of the task's sandbox, too.
    outside_sandbox: bool = false;
    /// The folder that the command runs in, or one above it.
    cwd: Option<PathBuf> = None;
    /// The host that a connection goes to.
    host: Option<Host> = None;
    /// A tool of an MCP server.
    tool: Option<Tool> = None;
    /// Changes of files in this folder and below, all of them on the disk as well: a link does not lead out. What is run or
    /// obeyed later (`.git`, `.codex`, `.agents`, `.ostler`) is left to a person.
    files: Option<PathBuf> = None;
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
        const SUBJECTS: [&str; 4] = ["command", "host", "tool", "files"];
        if !SUBJECTS.into_iter().any(&is_given) {
            return Err("fits everything; name a command, a host, a tool or files".to_owned());
        }
        let named = SUBJECTS.into_iter().filter(|key| is_given(key)).count();
        if named > 1 {
            // Taken apart it would allow more than both together.
            return Err(
                "names more than one of command, host, tool and files; make a rule of each"
                    .to_owned(),
            );
        }
        let scope = match &self.scope {
            Scope::Everywhere => None,
            Scope::Directory(path) => Some(path),
        };
        let leads_back =
            |path: &PathBuf| path.components().any(|part| part == Component::ParentDir);
        if let Some(path) =
            self.cwd.iter().chain(&self.files).chain(scope).find(|path| leads_back(path))
        {
            let path = path.display();
            return Err(format!("has `..` in {path}; write the whole path of the folder"));
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

impl Value for Host {
    fn form() -> String {
        r#"a name such as "example.com", or "*.example.com" for those below it"#.to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        let read = match found.get_ref() {
            DeValue::String(text) if is_host(text) => Some(Self(text.to_string())),
            _ => None,
        };
        if read.is_none() {
            place.mismatch(found);
        }
        read
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.0))
    }
}

/// What a rule for hosts can be made of; `cli`, which knows both, holds it against what the rules themselves say.
fn is_host(text: &str) -> bool {
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || "-_:[]".contains(letter);
    let is_name = |name: &str| {
        let name = name.strip_suffix('.').unwrap_or(name);
        name.split('.').all(|label| !label.is_empty() && label.chars().all(is_usual))
    };
    match text.strip_prefix("*.") {
        // All hosts of a top-level domain, or of the beginning of an address, are no rule that anybody means.
        Some(domain) => {
            let domain = domain.strip_suffix('.').unwrap_or(domain);
            is_name(domain) && domain.contains('.') && domain.ends_with(char::is_alphabetic)
        }
        None => is_name(text),
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
