//! What is trusted is a folder with these very settings: whoever may write in it, as an agent does, could change them later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind::NotADirectory, ErrorKind::NotFound, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{PROC_SUPER_MAGIC, fstatfs};
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::PROJECT_FOLDER;
use super::names::without_dots;
use crate::thread::settings::names_program;

/// More than any project has; what is larger cannot be shown to a person either.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 16 * 1024 * 1024;
const DEEPEST: usize = 12;
const MOST_ENTRIES: usize = 20_000;

/// Paths that are looked for because a file may name them.
const MOST_LOOKUPS: usize = 200_000;

/// In bytes. What is longer is no path.
const LONGEST_PATH: usize = 4096;

const QUOTES: [char; 3] = ['"', '\'', '`'];
const BETWEEN_WORDS: &str = "\"'`,=[]{}()<>|&;";

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

/// Of every file in the folder's own settings, and of every file of its project that they name.
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
    let mut named = BTreeSet::new();
    for file in &gathered.files {
        named.extend(named_by(folder, file)?);
    }
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
        let file = File::open(&path).map_err(unreadable)?;
        let system = fstatfs(&file).map_err(|error| unreadable(error.into()))?;
        if system.f_type == PROC_SUPER_MAGIC {
            // Another process can change what stands there, and its size is not told.
            return Err(unreadable(io::Error::other("it is a file of the kernel")));
        }
        if file.metadata().map_err(unreadable)?.len() > MOST_BYTES - self.bytes {
            return Err(self.too_large());
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1 - self.bytes).read_to_end(&mut bytes).map_err(unreadable)?;
        self.bytes += bytes.len() as u64;
        if self.bytes > MOST_BYTES || self.files.len() >= MOST_FILES {
            return Err(self.too_large());
        }
        self.files.insert(name.to_owned(), bytes);
        Ok(())
    }

    fn too_large(&self) -> ContentsError {
        ContentsError::TooLarge { folder: self.folder.to_owned() }
    }
}

/// Files of the project that this one names: `command = "tools/server.sh"`. A path counts from the folder and from every folder that
/// the settings of its programs name, such as `cwd`; it can be a whole value, or a word in one.
fn named_by(
    folder: &Path,
    (name, bytes): (&PathBuf, &Vec<u8>),
) -> Result<BTreeSet<PathBuf>, ContentsError> {
    let text = String::from_utf8_lossy(bytes);
    let value = match name.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => toml::from_str(&text).unwrap_or_default(),
        Some("json") => serde_json::from_str(&text).unwrap_or_default(),
        _ => return Ok(BTreeSet::new()),
    };
    let project = Project::of(folder);
    let mut words = Words::default();
    words.add(&text);
    words.add_value(&value, false);
    let named = |word: &&str| {
        let path = folder.join(word).canonicalize().ok()?;
        (path.is_dir() && path.starts_with(project.root)).then_some(path)
    };
    let mut bases: BTreeSet<PathBuf> =
        words.of_programs.iter().copied().filter_map(|it| named(&it)).collect();
    bases.insert(folder.to_owned());
    if words.all.len().saturating_mul(bases.len()) > MOST_LOOKUPS {
        return Err(ContentsError::TooLarge { folder: folder.to_owned() });
    }
    let pairs = bases.iter().flat_map(|base| words.all.iter().map(|word| base.join(word)));
    Ok(pairs.filter_map(|path| project.name(&path)).collect())
}

/// What may be paths in a text.
#[derive(Default)]
struct Words<'a> {
    all: BTreeSet<&'a str>,
    /// Of settings that name programs.
    of_programs: BTreeSet<&'a str>,
}

impl<'a> Words<'a> {
    fn add(&mut self, text: &'a str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::from([text]);
        found.extend(text.split(QUOTES));
        found.extend(text.split(|it: char| it.is_whitespace() || BETWEEN_WORDS.contains(it)));
        found.extend(
            text.split(|it: char| it.is_whitespace() || it == ':' || BETWEEN_WORDS.contains(it)),
        );
        found.retain(|word| !word.is_empty() && word.len() <= LONGEST_PATH);
        self.all.extend(&found);
        found
    }

    fn add_value(&mut self, value: &'a Value, is_of_program: bool) {
        match value {
            Value::String(text) => {
                let words = self.add(text);
                if is_of_program {
                    self.of_programs.extend(words);
                }
            }
            Value::Array(list) => list.iter().for_each(|it| self.add_value(it, is_of_program)),
            Value::Object(map) => {
                for (name, value) in map {
                    let is_it = is_of_program || name == "cwd" || names_program(name);
                    self.add_value(value, is_it);
                }
            }
            _ => {}
        }
    }
}

/// A folder and the repository that it is in.
struct Project<'a> {
    folder: &'a Path,
    root: &'a Path,
}

impl<'a> Project<'a> {
    fn of(folder: &'a Path) -> Self {
        let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        Self { folder, root: folder.ancestors().find(has_git).unwrap_or(folder) }
    }

    /// The name that a file of the project has in this folder; `None` for anything else.
    fn name(&self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok().filter(|real| real.is_file())?;
        // A link in the project is the project's, wherever it leads.
        self.below(&real).or_else(|| self.below(&without_dots(path)))
    }

    fn below(&self, path: &Path) -> Option<PathBuf> {
        let within = self.folder.ancestors().take_while(|above| above.starts_with(self.root));
        within.enumerate().find_map(|(up, above)| {
            let rest = path.strip_prefix(above).ok()?;
            Some(std::iter::repeat_n("..", up).collect::<PathBuf>().join(rest))
        })
    }
}
