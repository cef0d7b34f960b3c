//! What the agent remembers beyond a conversation: two short files that every session begins with.
//!
//! People may edit the files at any time, and several chats do. So every change reads the file anew under a lock, and what a
//! person wrote in a way that we would write differently is kept beside it before we do.
//!
//! Everything here blocks for the time of a file's write; tools call it on a thread that may.

mod change;
mod entries;
mod file;
mod snapshot;

pub use change::{Change, Changed, Planned};
pub use entries::ChangeError;
pub use snapshot::Snapshot;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

/// The two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Book {
    /// What the agent noted about its work: the machine, projects, what was learned.
    Memory,
    /// Who the user is and what they like.
    User,
}

/// Both files of one home.
#[derive(Debug)]
pub struct Memory {
    folder: PathBuf,
    /// What each file said when it was last read or written here.
    seen: Mutex<HashMap<Book, String>>,
}

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error(
        "{path} cannot be read as text ({why}), so nothing was written; a copy is in {copy}. Ask the user to repair the file"
    )]
    Unreadable { path: PathBuf, why: String, copy: PathBuf },
    #[error(
        "the memory was changed while this was decided on; look at it again and repeat the change"
    )]
    Moved,
    #[error("{path} cannot be used: {source}")]
    File { path: PathBuf, source: io::Error },
}

impl Book {
    pub const ALL: [Self; 2] = [Self::Memory, Self::User];

    /// As tools name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::User => "user",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|book| book.name() == name)
    }

    pub fn file_name(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY.md",
            Self::User => "USER.md",
        }
    }

    /// About 800 and 500 tokens, which every question to a model pays for. The numbers are those of the agent whose files these
    /// may have been.
    pub fn most_characters(self) -> usize {
        match self {
            Self::Memory => 2200,
            Self::User => 1375,
        }
    }
}

impl Memory {
    /// The folder is made with the first note.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), seen: Mutex::default() }
    }

    pub fn path(&self, book: Book) -> PathBuf {
        self.folder.join(book.file_name())
    }
}

/// "63% — 1,390/2,200 chars".
pub(crate) fn usage(characters: usize, most: usize) -> String {
    let percent = characters * 100 / most.max(1);
    format!("{percent}% — {}/{} chars", grouped(characters), grouped(most))
}

fn grouped(number: usize) -> String {
    if number < 1000 {
        return number.to_string();
    }
    format!("{},{:03}", grouped(number / 1000), number % 1000)
}

#[cfg(test)]
mod tests;
