//! Which folders may bring programs along.
//!
//! A `.codex` folder below a working folder can name MCP servers, hooks and rules. Codex starts them as the user, outside of
//! its sandbox, where it trusts the folder; and it trusts every folder in which a thread may write, notes that in the user's
//! own `config.toml`, and asks nobody (0.125.0 to 0.169.0). So each thread is opened with a word on its folder and on
//! every folder above: one with settings of its own is untrusted, unless a person has run `ostler trust`. Codex reads that word instead
//! of its own file, and then writes nothing.
//!
//! What stands in Codex's file does not count, because it cannot be told from what Codex wrote there unasked. A folder that has
//! no settings is trusted: it can start nothing, and from 0.166.0 on Codex reads no `AGENTS.md` in a folder that is not.

mod brought;
mod contents;
mod names;
mod record;

pub use brought::{Brought, brought};
pub use contents::{ContentsError, digest};
pub use record::{Answer, Record, RecordError, TrustFile};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// The folder with a project's own settings, as Codex names it.
pub const PROJECT_FOLDER: &str = ".codex";

/// The key of Codex's configuration under which folders are trusted.
pub const KEY: &str = "projects";

/// What is known of folders when a thread is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    pub file: TrustFile,
    /// Folders in which others may write meanwhile, without links. Codex keeps `.codex` read-only only right in each of them: what is
    /// below could become another between our look and Codex's.
    pub others: Vec<PathBuf>,
}

impl Trust {
    /// Nobody else is at work.
    pub fn of(file: TrustFile) -> Self {
        Self { file, others: Vec::new() }
    }
}

/// A folder whose own settings are not used, because nobody trusts it as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    pub folder: PathBuf,
    /// Somebody trusted it before its settings changed.
    pub has_changed: bool,
    /// Somebody was asked about it as it is, and said no.
    pub is_declined: bool,
    /// It would be trusted, but others may write in this folder, which it is in.
    pub written_by_others: Option<PathBuf>,
}

/// What a thread in `cwd` is told of its folders, for [`KEY`]. A file that cannot be read trusts nothing.
pub fn verdicts(cwd: &str, trust: Option<&Trust>) -> Value {
    let judge = Judge::new(trust);
    let names = names::names(Path::new(cwd));
    let verdict = |name: &names::Name| {
        let level = if judge.trusts(name) { "trusted" } else { "untrusted" };
        (name.spelled.to_string_lossy().into_owned(), json!({ "trust_level": level }))
    };
    Value::Object(names.iter().map(verdict).collect::<Map<_, _>>())
}

struct Judge<'a> {
    known: Vec<Record>,
    others: &'a [PathBuf],
}

impl<'a> Judge<'a> {
    fn new(trust: Option<&'a Trust>) -> Self {
        let known = trust.map(|trust| trust.file.read_or_nothing()).unwrap_or_default();
        Self { known, others: trust.map(|trust| trust.others.as_slice()).unwrap_or_default() }
    }

    fn written_by_others(&self, name: &names::Name) -> Option<&'a PathBuf> {
        let is_above = |root: &&PathBuf| name.folder != **root && name.folder.starts_with(root);
        self.others.iter().find(is_above)
    }

    fn trusts(&self, name: &names::Name) -> bool {
        self.written_by_others(name).is_none() && names::is_trusted(name, &self.known)
    }
}

/// The folders from the root of the project down to `cwd`, before a thread is opened there.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    pub cwd: &'a Path,
    pub trust: Option<&'a Trust>,
    /// It is no project.
    pub codex_home: Option<&'a Path>,
}

impl Look<'_> {
    /// Those with settings of their own which a thread would not use.
    pub fn ignored(&self) -> Vec<Ignored> {
        let judge = Judge::new(self.trust);
        let mut found = Vec::new();
        for name in self.names() {
            let is_trusted = names::is_trusted(&name, &judge.known);
            let others = judge.written_by_others(&name).filter(|_| is_trusted);
            if is_trusted && (others.is_none() || !has_something(&name.folder)) {
                continue;
            }
            let record = judge.known.iter().find(|record| record.folder == name.folder);
            let is_same = record.is_some_and(|record| {
                digest(&name.folder).is_ok_and(|digest| digest == record.digest)
            });
            let answer = record.map(|record| record.answer);
            found.push(Ignored {
                has_changed: answer == Some(Answer::Trusted) && !is_same,
                is_declined: answer == Some(Answer::Declined) && is_same,
                written_by_others: others.cloned(),
                folder: name.folder,
            });
        }
        found
    }

    /// Those that a thread is told to trust, with what they bring along at this moment: a digest, or nothing.
    pub fn trusted(&self) -> BTreeMap<PathBuf, Option<String>> {
        let judge = Judge::new(self.trust);
        let trusted = self.names().filter(|name| judge.trusts(name));
        let with_contents = |name: names::Name| {
            let contents = digest(&name.folder).ok();
            (name.folder, contents)
        };
        trusted.map(with_contents).collect()
    }

    fn names(&self) -> impl Iterator<Item = names::Name> {
        let home = self.codex_home.and_then(|home| home.canonicalize().ok());
        let is_home = move |name: &names::Name| {
            let own = name.folder.join(PROJECT_FOLDER);
            home.is_some() && own.canonicalize().ok() == home
        };
        names::project(self.cwd).into_iter().filter(move |name| !is_home(name))
    }
}

/// Whether a thread loses something when this folder is not trusted.
fn has_something(folder: &Path) -> bool {
    let instructions = ["AGENTS.md", "AGENTS.override.md"];
    instructions.iter().any(|name| folder.join(name).is_file()) || digest(folder).is_ok()
}

#[cfg(test)]
mod tests;
