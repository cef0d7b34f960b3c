//! Putting the files of a folder into an index, without a look into the repositories that lie inside.
//!
//! For such a repository that the index names, `git add`, `git status` and `git diff` start another git inside of it, which runs the filters
//! of its own configuration. A task can write that one. `git update-index` starts none, and it is given files only.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::git::Git;

/// Names what [`Changed::read`] reads.
pub(crate) const LIST: [&str; 5] =
    ["ls-files", "-z", "--others", "--modified", "--exclude-standard"];

/// How `ls-files --stage` begins the line of a repository inside.
const LINK: &[u8] = b"160000 ";

/// What differs from an index.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Repositories inside.
    pub(crate) nested: BTreeSet<String>,
    /// Files and symbolic links, also those that are gone.
    pub(crate) files: Vec<PathBuf>,
    /// Names of the index that now stand for something that git does not keep as a file.
    replaced: Vec<PathBuf>,
}

impl Changed {
    /// Git shows a repository that lies inside with a slash at its end, unless the index has its name.
    pub(crate) fn read(top: &Path, listed: &[u8]) -> Self {
        let mut changed = Self::default();
        for name in listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            if let Some(folder) = name.strip_suffix(b"/") {
                changed.nested.insert(String::from_utf8_lossy(folder).into_owned());
                continue;
            }
            let path = PathBuf::from(OsStr::from_bytes(name));
            let place = top.join(&path);
            match fs::symlink_metadata(&place) {
                Ok(found) if !found.is_file() && !found.is_symlink() => {
                    if fs::symlink_metadata(place.join(".git")).is_ok() {
                        changed.nested.insert(String::from_utf8_lossy(name).into_owned());
                    }
                    changed.replaced.push(path);
                }
                _ => changed.files.push(path),
            }
        }
        changed
    }

    /// Brings the index up to date.
    pub(crate) async fn put(
        &self,
        git: &Git,
        top: &Path,
        settings: &[String],
    ) -> Result<(), WorktreeError> {
        remove(git, top, settings, self.replaced.iter().map(|path| path.as_os_str().as_bytes()))
            .await?;
        let update = ["--add", "--remove", "--replace"];
        update_index(
            git,
            top,
            settings,
            &update,
            self.files.iter().map(|path| path.as_os_str().as_bytes()),
        )
        .await
    }
}

/// Takes the repositories inside out of an index: what lies in their folders is then seen like everything else.
pub(crate) async fn drop_links(
    git: &Git,
    top: &Path,
    settings: &[String],
) -> Result<(), WorktreeError> {
    let list = ["ls-files", "-z", "--stage"].map(str::to_owned);
    let listed = git.run(top, settings.iter().cloned().chain(list)).await?;
    let entries = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(LINK));
    let names = entries.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
    remove(git, top, settings, names).await
}

async fn remove<'a>(
    git: &Git,
    top: &Path,
    settings: &[String],
    names: impl Iterator<Item = &'a [u8]>,
) -> Result<(), WorktreeError> {
    update_index(git, top, settings, &["--force-remove"], names).await
}

async fn update_index<'a>(
    git: &Git,
    top: &Path,
    settings: &[String],
    how: &[&str],
    names: impl Iterator<Item = &'a [u8]>,
) -> Result<(), WorktreeError> {
    let input: Vec<u8> = names.flat_map(|name| name.iter().copied().chain([0])).collect();
    if input.is_empty() {
        return Ok(());
    }
    let words = ["update-index"].iter().chain(how).chain(&["-z", "--stdin"]);
    let words = words.map(|word| (*word).to_owned());
    git.feed(top, settings.iter().cloned().chain(words), &input).await
}
