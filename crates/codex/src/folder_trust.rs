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

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// The folder with a project's own settings, as Codex names it.
pub const PROJECT_FOLDER: &str = ".codex";

/// The key of Codex's configuration under which folders are trusted.
pub const KEY: &str = "projects";

/// A folder whose own settings are not used, because nobody trusts it as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    pub folder: PathBuf,
    /// Somebody trusted it before its settings changed.
    pub has_changed: bool,
    /// Somebody was asked about it as it is, and said no.
    pub is_declined: bool,
}

/// What a thread in `cwd` is told of its folders, for [`KEY`]. A file that cannot be read trusts nothing.
pub fn verdicts(cwd: &str, file: Option<&TrustFile>) -> Value {
    let known = file.map(TrustFile::read_or_nothing).unwrap_or_default();
    let names = names::names(Path::new(cwd));
    let verdict = |name: &names::Name| {
        let level = if names::is_trusted(name, &known) { "trusted" } else { "untrusted" };
        (name.spelled.to_string_lossy().into_owned(), json!({ "trust_level": level }))
    };
    Value::Object(names.iter().map(verdict).collect::<Map<_, _>>())
}

/// The folders from the root of the project down to `cwd` that have settings of their own which a thread would not use.
/// `codex_home` is no project.
pub fn ignored(cwd: &Path, file: Option<&TrustFile>, codex_home: Option<&Path>) -> Vec<Ignored> {
    let known = file.map(TrustFile::read_or_nothing).unwrap_or_default();
    let home = codex_home.and_then(|home| home.canonicalize().ok());
    let mut found = Vec::new();
    for name in names::project(cwd) {
        let own = name.folder.join(PROJECT_FOLDER);
        let is_home = home.is_some() && own.canonicalize().ok() == home;
        if is_home || names::is_trusted(&name, &known) {
            continue;
        }
        let record = known.iter().find(|record| record.folder == name.folder);
        let is_same = record
            .is_some_and(|record| digest(&name.folder).is_ok_and(|digest| digest == record.digest));
        let answer = record.map(|record| record.answer);
        found.push(Ignored {
            has_changed: answer == Some(Answer::Trusted) && !is_same,
            is_declined: answer == Some(Answer::Declined) && is_same,
            folder: name.folder,
        });
    }
    found
}

#[cfg(test)]
mod tests;
