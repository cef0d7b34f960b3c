//! Changing a file: planned on what it says now, written only if it still says so.

use std::sync::PoisonError;

use super::entries::Entries;
use super::file::{self, Found};
use super::{Book, Memory, MemoryError, usage};
use crate::disk;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing happens if the same entry is there.
    Add {
        text: String,
    },
    /// The whole entry that has `old`, anew.
    Replace {
        old: String,
        text: String,
    },
    Remove {
        old: String,
    },
}

/// What came of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub entries: Vec<String>,
    /// "63% — 1,390/2,200 chars".
    pub usage: String,
    /// False if the file says already what it should.
    pub is_written: bool,
    /// Somebody else has changed the file since it was last read here.
    pub was_changed_by_others: bool,
}

/// Changes that would succeed, for a person to decide on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    before: String,
    after: Entries,
    /// Entries that go, with `-`, and come, with `+`.
    pub diff: String,
}

impl Memory {
    /// All changes, or none of them.
    pub fn change(&self, book: Book, changes: &[Change]) -> Result<Changed, MemoryError> {
        let path = self.path(book);
        let _lock = disk::lock(&self.folder).map_err(file::error(&path))?;
        let found = file::read(&path)?;
        let after = found.entries().changed(changes, book.most_characters())?;
        self.write(book, &found, &after)
    }

    /// What changes would do, without doing it.
    pub fn plan(&self, book: Book, changes: &[Change]) -> Result<Planned, MemoryError> {
        let found = file::read(&self.path(book))?;
        let before = found.entries();
        let after = before.changed(changes, book.most_characters())?;
        let lines = |mark: char, entries: &Entries, others: &Entries| {
            let gone = entries.as_slice().iter().filter(|entry| !others.as_slice().contains(entry));
            let marked = gone.flat_map(|entry| entry.lines()).map(|line| format!("{mark}{line}\n"));
            marked.collect::<String>()
        };
        let diff = lines('-', &before, &after) + &lines('+', &after, &before);
        Ok(Planned { before: found.text().to_owned(), after, diff })
    }

    /// Does what was planned, if the file is still what it was then.
    pub fn carry_out(&self, book: Book, planned: &Planned) -> Result<Changed, MemoryError> {
        let path = self.path(book);
        let _lock = disk::lock(&self.folder).map_err(file::error(&path))?;
        let found = file::read(&path)?;
        if found.text() != planned.before {
            return Err(MemoryError::Moved);
        }
        self.write(book, &found, &planned.after)
    }

    /// The lock is held.
    fn write(&self, book: Book, found: &Found, after: &Entries) -> Result<Changed, MemoryError> {
        let is_written = *after != found.entries();
        let text = after.text();
        if is_written {
            file::write(&self.path(book), found, &text)?;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = if is_written { text } else { found.text().to_owned() };
        let before = seen.insert(book, now);
        Ok(Changed {
            entries: after.as_slice().to_vec(),
            usage: usage(after.characters(), book.most_characters()),
            is_written,
            was_changed_by_others: before.is_some_and(|before| before != found.text()),
        })
    }
}

impl Planned {
    /// Whether anything would be written.
    pub fn is_empty(&self) -> bool {
        self.diff.is_empty()
    }
}
