//! What is trusted is a folder with these very settings: whoever may write in it, as an agent does, could change them later.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind::NotADirectory, ErrorKind::NotFound};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::PROJECT_FOLDER;

/// More than any project has; what is larger cannot be shown to a person either.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 16 * 1024 * 1024;
const DEEPEST: usize = 12;
const MOST_ENTRIES: usize = 20_000;

/// Files that name programs are looked through for files of the folder that they name.
const NAMES_PROGRAMS: [&str; 2] = ["toml", "json"];

#[derive(Debug, Error)]
pub enum ContentsError {
    #[error("{folder} has no settings in {PROJECT_FOLDER}, so nothing in it would run")]
    Nothing { folder: PathBuf },
    #[error(
        "{folder}/{PROJECT_FOLDER} is too large to be looked at; make it smaller than {MOST_FILES} files and 16 MB"
    )]
    TooLarge { folder: PathBuf },
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
}

/// Of every file in the folder's own settings, and of every file of the folder that they name.
pub fn digest(folder: &Path) -> Result<String, ContentsError> {
    let mut hash = Sha256::new();
    for (name, bytes) in contents(folder)? {
        for part in [name.as_os_str().as_encoded_bytes(), &bytes] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The files by their names below the folder.
pub(super) fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, ContentsError> {
    let nothing = || ContentsError::Nothing { folder: folder.to_owned() };
    let path = folder.join(PROJECT_FOLDER);
    match path.symlink_metadata() {
        // Codex's sandbox leaves an empty file of this name behind (0.125.0).
        Ok(found) if found.is_file() && found.len() == 0 => return Err(nothing()),
        Ok(_) => {}
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Err(nothing()),
        Err(source) => return Err(ContentsError::Unreadable { path, source }),
    }
    let mut gathered = Gathered { folder, files: BTreeMap::new(), bytes: 0, entries: 0 };
    gathered.walk(Path::new(PROJECT_FOLDER), 0)?;
    if gathered.files.is_empty() && !path.is_symlink() {
        return Err(nothing());
    }
    let named: Vec<PathBuf> = gathered.files.iter().flat_map(|it| named_by(folder, it)).collect();
    for name in named {
        if !gathered.files.contains_key(&name) {
            gathered.file(&name)?;
        }
    }
    Ok(gathered.files)
}

struct Gathered<'a> {
    folder: &'a Path,
    files: BTreeMap<PathBuf, Vec<u8>>,
    bytes: u64,
    /// Folders and files seen, in a circle of links again and again.
    entries: usize,
}

impl Gathered<'_> {
    /// Links are followed: what they lead to is what Codex reads.
    fn walk(&mut self, name: &Path, depth: usize) -> Result<(), ContentsError> {
        let path = self.folder.join(name);
        let unreadable = |source| ContentsError::Unreadable { path: path.clone(), source };
        let kind = fs::metadata(&path).map_err(unreadable)?;
        if kind.is_file() {
            return self.file(name);
        }
        if !kind.is_dir() {
            // Codex reads no sockets and no devices.
            return Ok(());
        }
        self.entries += 1;
        if depth >= DEEPEST || self.entries > MOST_ENTRIES {
            return Err(self.too_large());
        }
        for entry in fs::read_dir(&path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            self.walk(&name.join(entry.file_name()), depth + 1)?;
        }
        Ok(())
    }

    fn file(&mut self, name: &Path) -> Result<(), ContentsError> {
        let path = self.folder.join(name);
        let unreadable = |source| ContentsError::Unreadable { path: path.clone(), source };
        self.bytes = self.bytes.saturating_add(fs::metadata(&path).map_err(unreadable)?.len());
        if self.bytes > MOST_BYTES || self.files.len() >= MOST_FILES {
            return Err(self.too_large());
        }
        let bytes = fs::read(&path).map_err(unreadable)?;
        self.files.insert(name.to_owned(), bytes);
        Ok(())
    }

    fn too_large(&self) -> ContentsError {
        ContentsError::TooLarge { folder: self.folder.to_owned() }
    }
}

/// Files below the folder that stand in this one as a word: `command = "tools/server.sh"`.
fn named_by(folder: &Path, (name, bytes): (&PathBuf, &Vec<u8>)) -> Vec<PathBuf> {
    let extension = name.extension().and_then(|extension| extension.to_str());
    if !extension.is_some_and(|extension| NAMES_PROGRAMS.contains(&extension)) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let words = text.split(|it: char| it.is_whitespace() || "\"'`,=[]{}()<>|&;".contains(it));
    let mut found = Vec::new();
    for word in words.filter(|word| !word.is_empty() && word.len() <= 512) {
        let Ok(path) = folder.join(word).canonicalize() else { continue };
        let below = path.strip_prefix(folder).ok().filter(|_| path.is_file());
        found.extend(below.map(Path::to_owned));
    }
    found.sort();
    found.dedup();
    found
}
