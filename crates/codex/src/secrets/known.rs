//! Values that are registered as secrets.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use memchr::memmem::Finder;

use super::Filter;
use super::learn::Watched;
use crate::keeper::redact::SHORTEST_SECRET_BYTES;

/// Shorter values occur in ordinary text all the time; to replace them would garble every message.
pub(crate) const SHORTEST_KNOWN_BYTES: usize = 4;

/// Shorter values may be ordinary words, so that a file is not one with a login because it has them.
const SHORTEST_TELLING_BYTES: usize = 16;

/// Registered values. A clone is the same registry; a value counts from the next text on.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Registry>);

#[derive(Default)]
struct Registry {
    values: RwLock<Vec<Finder<'static>>>,
    /// Registries whose values count here, too.
    included: RwLock<Vec<Secrets>>,
    pub(super) watched: Mutex<Watched>,
}

impl Secrets {
    /// Registers a value. False if it is too short to be told from ordinary text.
    pub fn add(&self, value: &str) -> bool {
        if value.len() < SHORTEST_KNOWN_BYTES {
            return false;
        }
        let mut values = self.0.values.write().unwrap_or_else(PoisonError::into_inner);
        if !values.iter().any(|known| known.needle() == value.as_bytes()) {
            values.push(Finder::new(value.as_bytes()).into_owned());
        }
        true
    }

    /// Lets the values of another registry count here from now on.
    pub(crate) fn include(&self, other: &Self) {
        let mut included = self.0.included.write().unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &Self| Arc::ptr_eq(&known.0, &other.0);
        if !Arc::ptr_eq(&self.0, &other.0) && !included.iter().any(is_known) {
            included.push(other.clone());
        }
    }

    pub(super) fn watched(&self) -> &Mutex<Watched> {
        &self.0.watched
    }

    /// Notes where registered values stand in the text.
    pub(crate) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        self.each(&mut |secret| {
            let length = secret.needle().len();
            if length > text.len() {
                return;
            }
            for at in secret.find_iter(text.as_bytes()) {
                let range = at..at + length;
                // A short one could be a part of any longer word.
                if length >= SHORTEST_SECRET_BYTES || stands_alone(text, &range) {
                    found.push(range);
                }
            }
        });
    }

    /// The text without registered values and without what looks like a secret.
    pub fn hidden_in(&self, mut text: String) -> String {
        Filter::new(self.clone()).text(&mut text);
        text
    }

    /// Whether a registered value that is too long to be an ordinary word stands in these bytes. A short one says nothing of what it is in:
    /// the password of a test may be the name of its database.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        let mut is_in = false;
        self.each(&mut |secret| {
            let is_long = secret.needle().len() >= SHORTEST_TELLING_BYTES;
            is_in = is_in || is_long && secret.find(bytes).is_some();
        });
        is_in
    }

    /// How long the longest registered value is.
    pub fn longest(&self) -> usize {
        let mut longest = 0;
        self.each(&mut |secret| longest = longest.max(secret.needle().len()));
        longest
    }

    /// Where the text's end, of at least this many bytes, may be the beginning of a registered value.
    pub(crate) fn begun_at_end(&self, text: &str, least: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut begun: Option<usize> = None;
        self.each(&mut |secret| {
            let needle = secret.needle();
            let Some(first) = needle.first() else { return };
            let longest = (needle.len() - 1).min(bytes.len());
            let from = bytes.len() - longest;
            let tail = bytes.get(from..).unwrap_or_default();
            let mut starts = memchr::memchr_iter(*first, tail).map(|at| from + at);
            let start = starts.find(|at| {
                let end = bytes.get(*at..).unwrap_or_default();
                end.len() >= least && needle.starts_with(end)
            });
            if let Some(start) = start.filter(|start| text.is_char_boundary(*start)) {
                begun = Some(begun.map_or(start, |before| before.min(start)));
            }
        });
        begun
    }

    fn each(&self, look: &mut dyn FnMut(&Finder<'static>)) {
        self.0.values.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(&mut *look);
        for other in self.0.included.read().unwrap_or_else(PoisonError::into_inner).iter() {
            let values = other.0.values.read().unwrap_or_else(PoisonError::into_inner);
            values.iter().for_each(&mut *look);
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secrets")
    }
}

/// Whether what stands here is no part of a longer word.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).and_then(|text| text.chars().next_back());
    let after = text.get(range.end..).and_then(|text| text.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}
