//! A server as another program's file declares it.

use std::fmt;

use serde_json::{Map, Value};

/// One server in one vocabulary, whatever the program calls its keys. Its values may hold secrets.
#[derive(Clone, PartialEq)]
pub struct Declared {
    pub name: String,
    pub(super) keys: Map<String, Value>,
    /// Keys that were taken under another name than the file gives them: ours first.
    pub(super) written_as: Vec<(String, String)>,
    pub(super) times: Times,
}

/// How the program that the file belongs to counts time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    Seconds,
    /// Some of the programs that share this place count milliseconds, others seconds: the size of a number shows which.
    Either,
}

impl Declared {
    pub(super) fn new(name: String, keys: Map<String, Value>, times: Times) -> Self {
        Self { name, keys, written_as: Vec::new(), times }
    }

    /// Whether a number under this key of ours may count milliseconds. A name that says seconds means them, whatever the program.
    pub(super) fn may_count_milliseconds(&self, key: &str) -> bool {
        self.times == Times::Either && !self.written(key).ends_with("_sec")
    }

    /// What the file calls a key of ours.
    pub(super) fn written<'k>(&'k self, key: &'k str) -> &'k str {
        let found = self.written_as.iter().find(|(ours, _)| ours == key);
        found.map_or(key, |(_, theirs)| theirs.as_str())
    }

    /// Takes a key under our name. Whichever comes first under it stays.
    pub(super) fn call(&mut self, theirs: &str, ours: &str) {
        if theirs == ours || self.keys.contains_key(ours) {
            return;
        }
        if let Some(value) = self.keys.remove(theirs) {
            self.put(ours, theirs, value);
        }
    }

    pub(super) fn put(&mut self, ours: &str, theirs: &str, value: Value) {
        self.keys.insert(ours.to_owned(), value);
        self.written_as.push((ours.to_owned(), theirs.to_owned()));
    }
}

/// Names of keys alone.
impl fmt::Debug for Declared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.keys.keys().collect();
        formatter
            .debug_struct("Declared")
            .field("name", &self.name)
            .field("keys", &keys)
            .finish_non_exhaustive()
    }
}
