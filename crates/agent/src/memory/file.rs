//! A file of entries on disk, which people edit, too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::MemoryError;
use super::entries::Entries;
use crate::disk;

/// Beyond this it is no list of short notes any more: thirty times what we would write.
const MOST_BYTES: usize = 64 << 10;

/// What a file says. A file that is not there says nothing.
pub(super) struct Found {
    text: String,
    entries: Entries,
}

impl Found {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn entries(&self) -> Entries {
        self.entries.clone()
    }
}

/// What cannot be read as entries is copied and refused: to write over it would lose it.
pub(super) fn read(path: &Path) -> Result<Found, MemoryError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(source) if source.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(error(path)(source)),
    };
    let why = match str::from_utf8(&bytes) {
        _ if bytes.len() > MOST_BYTES => format!("it has more than {MOST_BYTES} bytes"),
        Ok(text) if text.contains('\0') => "it has zero bytes".to_owned(),
        Ok(text) => return Ok(Found { text: text.to_owned(), entries: Entries::parse(text) }),
        Err(error) => error.to_string(),
    };
    let copy = keep_copy(path, &bytes).map_err(error(path))?;
    Err(MemoryError::Unreadable { path: path.to_owned(), why, copy })
}

/// The lock is held. What a person wrote otherwise than we write, to the last space, is kept beside first.
pub(super) fn write(path: &Path, found: &Found, text: &str) -> Result<(), MemoryError> {
    if found.entries.text() != found.text {
        keep_copy(path, found.text.as_bytes()).map_err(error(path))?;
    }
    disk::replace(path, text.as_bytes(), 0o600).map_err(error(path))
}

pub(super) fn error(path: &Path) -> impl Fn(io::Error) -> MemoryError {
    let path = path.to_owned();
    move |source| MemoryError::File { path: path.clone(), source }
}

/// `MEMORY.md.bak.<seconds>`, or the copy of the same bytes that is there already.
fn keep_copy(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let begins = format!("{name}.bak.");
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    for entry in fs::read_dir(folder)?.flatten() {
        let is_copy = entry.file_name().to_string_lossy().starts_with(&begins);
        if is_copy && fs::read(entry.path()).is_ok_and(|copied| copied == bytes) {
            return Ok(entry.path());
        }
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut copy = folder.join(format!("{begins}{now}"));
    let mut number = 1;
    while copy.exists() {
        copy = folder.join(format!("{begins}{now}.{number}"));
        number += 1;
    }
    disk::replace(&copy, bytes, 0o600)?;
    Ok(copy)
}
