//! What the agent knows how to do: folders with a `SKILL.md` and what it needs, below `<home>/skills/[category/]<name>`.
//!
//! People edit them like any files. Agents change them through here: each change whole or not at all, and only what the rules in
//! [`rules`] allow.
//!
//! Everything here blocks for the time of a file's write; tools call it on a thread that may.

mod change;
mod frontmatter;
mod index;
mod name;
pub mod rules;
mod usage;
mod view;

pub use change::SkillChange;
pub use index::{SkillCard, SkillIndex};
pub use rules::{Origin, Refusal, Viewed};
pub use usage::{Maker, SkillUsage};
pub use view::SkillView;

use std::io;
use std::path::{Path, PathBuf};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// Folders of a skill that may have files.
pub const SUPPORT_FOLDERS: [&str; 4] = ["references", "templates", "scripts", "assets"];
/// Of a skill's name, and of a category's.
pub const MOST_NAME: usize = 64;
pub const MOST_DESCRIPTION: usize = 1024;
/// Of `SKILL.md`: some 25,000 tokens, which is much to read for one job already.
pub const MOST_CHARACTERS: usize = 100_000;
pub const MOST_SUPPORT_BYTES: usize = 1 << 20;

/// Where skills come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The agent's own home.
    Own,
    /// They come with the program.
    Bundled,
    /// A folder of somebody else's that the user has named.
    External,
}

/// All skills that an agent has.
#[derive(Debug, Clone)]
pub struct Skills {
    root: PathBuf,
    others: Vec<(Source, PathBuf)>,
}

#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    #[error(
        "{0:?} cannot name a skill or category; use a-z, 0-9, dot, dash and underscore, beginning with a letter or digit, at \
         most {MOST_NAME}"
    )]
    BadName(String),
    #[error(
        "{path:?} is no place for a file of a skill: {why}. Use {SKILL_FILE}, or a path below references/, templates/, scripts/ \
         or assets/"
    )]
    BadPath { path: String, why: &'static str },
    #[error("there is no skill {name:?}.{hint} Look at skills_list")]
    NoSkill { name: String, hint: String },
    #[error("skill {name:?} has no file {path:?}; it has: {files}")]
    NoFile { name: String, path: String, files: String },
    #[error("skill {0:?} is there already; view and patch it, or choose another name")]
    Taken(String),
    #[error("{SKILL_FILE} is not right: {0}")]
    BadSkill(String),
    #[error(
        "{what} would have {found} {unit}, and {most} is the most; move details into files below references/"
    )]
    TooLarge { what: String, found: usize, most: usize, unit: &'static str },
    #[error("this cannot be kept: {0}")]
    Threat(#[from] crate::Threat),
    #[error(
        "the old text is empty; give the lines to be replaced, exactly as they stand in the file"
    )]
    NothingToFind,
    #[error("the old text is not in {path}; view the file and take its lines exactly as they are")]
    OldTextMissing { path: String },
    #[error(
        "the old text is {times} times in {path}; add lines around it until there is only one place"
    )]
    OldTextAmbiguous { path: String, times: usize },
    #[error("{path} is not text, so it cannot be patched; write it anew with write_file")]
    NotText { path: String },
    #[error("{SKILL_FILE} cannot be removed alone; delete the skill")]
    NotRemovable,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(
        "{path} cannot be read ({why}); repair or remove it, until then no skill can be changed"
    )]
    UsageUnreadable { path: PathBuf, why: String },
    #[error("{path} cannot be used: {source}")]
    File { path: PathBuf, source: io::Error },
}

impl Skills {
    /// The folder is made with the first skill.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), others: Vec::new() }
    }

    /// Skills of this folder are there too, behind those of the agent's own. Nobody changes them through here.
    pub fn and(mut self, source: Source, root: impl Into<PathBuf>) -> Self {
        self.others.push((source, root.into()));
        self
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The first wins where two have the same name.
    fn roots(&self) -> impl Iterator<Item = (Source, &Path)> {
        let others = self.others.iter().map(|(source, root)| (*source, root.as_path()));
        std::iter::once((Source::Own, self.root.as_path())).chain(others)
    }
}

impl SkillError {
    fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path: path.clone(), source }
    }
}

#[cfg(test)]
mod tests;
