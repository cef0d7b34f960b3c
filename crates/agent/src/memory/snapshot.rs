//! What a session begins with. The caller takes it once: a prompt that changes under way costs the provider's cache.

use std::sync::PoisonError;

use super::{Book, Memory, file, usage};
use crate::threat;

/// Both files, as text for a system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Empty if there is nothing to remember.
    pub prompt: String,
    /// For people: what could not be read or was left out.
    pub problems: Vec<String>,
}

impl Memory {
    /// A file that cannot be read is a problem to tell, never a reason to have no chat.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for book in Book::ALL {
            match file::read(&self.path(book)) {
                Ok(found) => {
                    let mut entries = found.entries();
                    // Whoever put it there, a page that a tool read perhaps: it does not reach the model as our own words.
                    entries.keep_if(|entry| match threat::scan(entry) {
                        Ok(()) => true,
                        Err(threat) => {
                            let name = book.file_name();
                            snapshot
                                .problems
                                .push(format!("an entry of {name} is left out: {threat}"));
                            false
                        }
                    });
                    let used = usage(entries.characters(), book.most_characters());
                    if !entries.as_slice().is_empty() {
                        let head = heading(book);
                        snapshot.prompt += &format!("## {head} [{used}]\n{}\n\n", entries.joined());
                    }
                    let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.insert(book, found.text().to_owned());
                }
                Err(error) => snapshot.problems.push(error.to_string()),
            }
        }
        snapshot.prompt.truncate(snapshot.prompt.trim_end().len());
        snapshot
    }
}

fn heading(book: Book) -> &'static str {
    match book {
        Book::Memory => "MEMORY (your own notes)",
        Book::User => "USER (who you work for)",
    }
}
