//! Files that are not kept, because they hold a login: whoever may see a task's changes need not be one who may see the file.
//!
//! What was kept of a file before it held one stays, and its later state is unknown until it holds none again.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ostler_codex::secrets::Secrets;
use rustix::fs::{Mode, OFlags};

use super::tree::NotTaken;

/// What is read of a file at once.
const PIECE_BYTES: usize = 256 * 1024;

/// More are told as a folder whose state is not known: each is named to git.
const MOST_WITHHELD: usize = 500;

#[derive(Debug, Default)]
pub(super) struct Withheld {
    /// As they are, from the top.
    pub(super) paths: BTreeSet<PathBuf>,
    /// As they may be shown and recorded.
    pub(super) shown: BTreeSet<String>,
}

/// Those of these files below `top` that hold a registered value, also in their name.
pub(super) fn withheld(
    top: &Path,
    files: &[PathBuf],
    secrets: &Secrets,
) -> Result<Withheld, NotTaken> {
    let mut found = Withheld::default();
    let longest = secrets.longest();
    if longest == 0 {
        return Ok(found);
    }
    for file in files {
        let is_named = secrets.is_in(file.as_os_str().as_bytes());
        // What cannot be read git cannot read either, and one that is gone is recorded as that.
        if !is_named && !holds(&top.join(file), secrets, longest).unwrap_or(false) {
            continue;
        }
        let Some(path) = file.to_str() else {
            return Err(NotTaken::Failed(
                "a file with an unreadable name holds a secret".to_owned(),
            ));
        };
        found.shown.insert(secrets.hidden_in(path.to_owned()));
        found.paths.insert(file.clone());
        if found.paths.len() > MOST_WITHHELD {
            return Err(NotTaken::Failed(format!("more than {MOST_WITHHELD} files hold a secret")));
        }
    }
    Ok(found)
}

/// Of a link git keeps where it leads, not what is there.
fn holds(path: &Path, secrets: &Secrets, longest: usize) -> io::Result<bool> {
    if path.symlink_metadata()?.is_symlink() {
        return Ok(secrets.is_in(path.read_link()?.as_os_str().as_bytes()));
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    // The end of one piece stands before the next: a value may lie across both.
    let (mut piece, mut kept) = (vec![0; PIECE_BYTES + longest], 0);
    loop {
        let read = file.read(piece.get_mut(kept..).unwrap_or_default())?;
        if read == 0 {
            return Ok(false);
        }
        let filled = kept + read;
        if secrets.is_in(piece.get(..filled).unwrap_or_default()) {
            return Ok(true);
        }
        kept = filled.min(longest - 1);
        piece.copy_within(filled - kept..filled, 0);
    }
}
