//! The entries of a file, and what changes do to them. No disk here.

use super::Change;
use crate::threat::{self, Threat};

/// Alone on its line.
const SEPARATOR: &str = "§";
/// Characters of an entry that are shown where it is only to be recognized.
const SHOWN: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    #[error("the text of the entry is empty; to delete an entry, use remove")]
    Empty,
    #[error("`old_text` is empty; give some words that only that entry has")]
    NothingToFind,
    #[error("an entry cannot have a line with only § in it: that is what separates entries")]
    Separator,
    #[error("this cannot be remembered: {0}")]
    Threat(#[from] Threat),
    #[error("no entry has {old:?}. The entries are:\n{entries}")]
    NotFound { old: String, entries: String },
    #[error("{old:?} is in several entries; give words that only one has:\n{entries}")]
    Ambiguous { old: String, entries: String },
    #[error(
        "this would make {would_be} characters, and {most} is the most. Merge or shorten entries in the same batch, or remove \
         what is no longer needed. The entries are:\n{entries}"
    )]
    TooLarge { would_be: usize, most: usize, entries: String },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entries(Vec<String>);

impl Entries {
    pub(super) fn parse(text: &str) -> Self {
        let text = with_plain_ends(text.trim_start_matches('\u{feff}'));
        let mut entries = vec![String::new()];
        for line in text.split('\n') {
            if line.trim() == SEPARATOR {
                entries.push(String::new());
            } else if let Some(entry) = entries.last_mut() {
                entry.push_str(line);
                entry.push('\n');
            }
        }
        let entries = entries.iter().map(|entry| entry.trim().to_owned());
        Self(entries.filter(|entry| !entry.is_empty()).collect())
    }

    /// As the file has it.
    pub(super) fn text(&self) -> String {
        if self.0.is_empty() { String::new() } else { self.joined() + "\n" }
    }

    pub(super) fn joined(&self) -> String {
        self.0.join(&format!("\n{SEPARATOR}\n"))
    }

    pub(super) fn characters(&self) -> usize {
        self.joined().chars().count()
    }

    pub(super) fn as_slice(&self) -> &[String] {
        &self.0
    }

    pub(super) fn keep_if(&mut self, keep: impl FnMut(&String) -> bool) {
        self.0.retain(keep);
    }

    /// All changes, or none. What counts is the size at the end: a batch may add first and remove later.
    pub(super) fn changed(&self, changes: &[Change], most: usize) -> Result<Self, ChangeError> {
        let mut next = self.clone();
        for change in changes {
            next.change(change)?;
        }
        let would_be = next.characters();
        // A file that a person made too large may shrink step by step.
        if would_be > most && would_be >= self.characters() && next != *self {
            return Err(ChangeError::TooLarge { would_be, most, entries: self.listed(usize::MAX) });
        }
        Ok(next)
    }

    fn change(&mut self, change: &Change) -> Result<(), ChangeError> {
        match change {
            Change::Add { text } => {
                let text = checked(text)?;
                if !self.0.contains(&text) {
                    self.0.push(text);
                }
            }
            Change::Replace { old, text } => {
                let text = checked(text)?;
                let at = self.find(old)?;
                let is_known =
                    self.0.iter().enumerate().any(|(other, entry)| other != at && *entry == text);
                if is_known {
                    self.0.remove(at);
                } else if let Some(entry) = self.0.get_mut(at) {
                    *entry = text;
                }
            }
            Change::Remove { old } => {
                let at = self.find(old)?;
                self.0.remove(at);
            }
        }
        Ok(())
    }

    /// The only entry that has this text. The same entry twice, by a person's hand, is one.
    fn find(&self, old: &str) -> Result<usize, ChangeError> {
        let plain = with_plain_ends(old);
        let old = plain.trim();
        if old.is_empty() {
            return Err(ChangeError::NothingToFind);
        }
        let found: Vec<usize> = (0..self.0.len())
            .filter(|at| self.0.get(*at).is_some_and(|entry| entry.contains(old)))
            .collect();
        let matches = Self(found.iter().filter_map(|at| self.0.get(*at)).cloned().collect());
        let old = old.to_owned();
        match (found.first(), matches.0.first()) {
            (Some(at), Some(first)) if matches.0.iter().all(|entry| entry == first) => Ok(*at),
            (Some(_), _) => Err(ChangeError::Ambiguous { old, entries: matches.listed(SHOWN) }),
            (None, _) => Err(ChangeError::NotFound { old, entries: self.listed(SHOWN) }),
        }
    }

    fn listed(&self, shown: usize) -> String {
        let line = |entry: &String| {
            let head: String = entry.chars().take(shown).collect();
            let more = if head.len() < entry.len() { "…" } else { "" };
            format!("- {}{more}", head.replace('\n', "\n  "))
        };
        let lines: Vec<String> = self.0.iter().map(line).collect();
        if lines.is_empty() { "(none)".to_owned() } else { lines.join("\n") }
    }
}

/// Text as an entry, if it may be one.
fn checked(text: &str) -> Result<String, ChangeError> {
    let text = with_plain_ends(text).trim().to_owned();
    if text.is_empty() {
        return Err(ChangeError::Empty);
    }
    if text.split('\n').any(|line| line.trim() == SEPARATOR) {
        return Err(ChangeError::Separator);
    }
    threat::scan(&text)?;
    Ok(text)
}

fn with_plain_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}
