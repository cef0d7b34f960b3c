//! Under which names Codex may look a folder up.
//!
//! It takes the folder as it was given, without its links, and the root of its repository; for a linked worktree that is the
//! main repository. A project may begin at any folder above, by `project_root_markers`. So all of them are named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::contents::{ContentsError, digest};
use super::record::{Answer, Record};

/// What git writes into `.git` of a linked worktree is a path.
const MOST_LINK_BYTES: u64 = 64 * 1024;

/// A folder under one of its names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) spelled: PathBuf,
    /// Without links.
    pub(super) folder: PathBuf,
    /// The same folder of the main repository, for one in a linked worktree.
    pub(super) original: Option<PathBuf>,
}

/// Every name of this folder and of all above it.
pub(super) fn names(cwd: &Path) -> BTreeSet<Name> {
    let given: PathBuf = cwd.components().collect();
    let real = real(&given);
    let main = main_repository(&real);
    let plain = without_dots(&given);
    let spelled = given.ancestors().chain(plain.ancestors()).chain(real.ancestors());
    let spelled = spelled.chain(main.iter().map(|(_, main)| main.as_path()));
    let name = |spelled: &Path| {
        let folder = self::real(spelled);
        let original = original(&folder, main.as_ref());
        Name { spelled: spelled.to_owned(), folder, original }
    };
    spelled.filter(|path| !path.as_os_str().is_empty()).map(name).collect()
}

/// The folders from the root of the repository down to this one; only this one where there is no repository.
pub(super) fn project(cwd: &Path) -> Vec<Name> {
    let real = real(cwd);
    let main = main_repository(&real);
    let root = real.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let root = root.unwrap_or(&real).to_owned();
    let within = real.ancestors().take_while(|folder| folder.starts_with(&root));
    let name = |folder: &Path| Name {
        spelled: folder.to_owned(),
        folder: folder.to_owned(),
        original: original(folder, main.as_ref()),
    };
    let mut names: Vec<Name> = within.map(name).collect();
    names.reverse();
    names
}

/// Whether Codex may use the folder's own settings: a person trusts them as they are at this moment, or there are none.
pub(super) fn is_trusted(name: &Name, known: &[Record]) -> bool {
    let is_it = |record: &&Record| {
        record.answer == Answer::Trusted
            && (record.folder == name.folder || name.original.as_ref() == Some(&record.folder))
    };
    match digest(&name.folder) {
        Ok(digest) => known.iter().filter(is_it).any(|record| record.digest == digest),
        Err(ContentsError::Nothing { .. }) => true,
        Err(_) => false,
    }
}

/// Without links. Of a folder that is not there, what is there of it.
fn real(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    for folder in path.ancestors() {
        if let Ok(found) = folder.canonicalize() {
            return rest.iter().rev().fold(found, |path, name| path.join(name));
        }
        rest.extend(folder.file_name());
    }
    path.to_owned()
}

/// As Codex takes a path whose parts it does not look at.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// A linked worktree and the main repository that knows it: one that only says so itself is none.
fn main_repository(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let tree = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let link = tree.join(".git");
    // A link of a repository could lead to anything; git makes none.
    let is_plain =
        link.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() < MOST_LINK_BYTES);
    let text = is_plain.then(|| fs::read_to_string(&link).ok())??;
    let own = tree.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = own.join("gitdir");
    let is_plain =
        back.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() < MOST_LINK_BYTES);
    let back = is_plain.then(|| fs::read_to_string(&back).ok())??;
    let is_known = own.join(back.trim()).canonicalize().ok()? == link.canonicalize().ok()?;
    let list = own.parent().filter(|list| list.file_name().is_some_and(|it| it == "worktrees"))?;
    let main = list.parent()?.parent()?.to_owned();
    is_known.then(|| (tree.to_owned(), main))
}

fn original(folder: &Path, main: Option<&(PathBuf, PathBuf)>) -> Option<PathBuf> {
    let (tree, main) = main?;
    let below = folder.strip_prefix(tree).ok()?;
    // An empty part would end the path with a slash.
    Some(main.join(below).components().collect())
}
