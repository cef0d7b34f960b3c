//! Putting the files of a folder into an index, without a look into the repositories that lie inside.
//!
//! For such a repository that the index names, `git add`, `git status` and `git diff` start another git inside of it, which runs the filters
//! of its own configuration. A task can write that one. `git update-index` starts none, and it is given files only.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;

use super::WorktreeError;
use super::git::Git;

/// Names what [`Changed::read`] reads.
pub(crate) const LIST: [&str; 5] =
    ["ls-files", "-z", "--others", "--modified", "--exclude-standard"];

/// How `ls-files --stage` begins the line of a repository inside.
const LINK: &[u8] = b"160000 ";

/// The index of a repository with two million files has some 200 MB.
const MOST_COPIED_BYTES: u64 = 512 * 1024 * 1024;

/// Copies a file of a repository that git reads, and tells when it was changed last. Whoever made the repository may have put
/// anything there: a pipe, a file with a hole of a terabyte, a link to a file of the kernel that has no end.
pub(crate) fn copy_plain(from: &Path, to: &Path) -> io::Result<SystemTime> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(from)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > MOST_COPIED_BYTES {
        let text = format!("it is not a file of at most {} MB", MOST_COPIED_BYTES / 1024 / 1024);
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    io::copy(&mut file.take(found.len()), &mut File::create(to)?)?;
    found.modified()
}

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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_what_can_be_copied_whole_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("index"), "DIRC").unwrap();
        assert_eq!(
            copy_plain(&at("index"), &at("copy")).unwrap(),
            fs::metadata(at("index")).unwrap().modified().unwrap()
        );
        assert_eq!(fs::read(at("copy")).unwrap(), b"DIRC");

        symlink("/proc/self/pagemap", at("endless")).unwrap();
        copy_plain(&at("endless"), &at("copy")).unwrap();
        assert_eq!(fs::metadata(at("copy")).unwrap().len(), 0);

        File::create(at("hole")).unwrap().set_len(MOST_COPIED_BYTES + 1).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        for refused in ["hole", "pipe"] {
            let error = copy_plain(&at(refused), &at("copy")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{refused}");
        }
    }
}
