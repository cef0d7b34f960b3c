//! Ids that cannot be mistaken for one another.
//!
//! Codex's ids are opaque text: threads and turns are UUIDs today, items carry whatever the model called them, so
//! nothing here parses or orders by meaning.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An opaque id of one kind of thing. `Kind` is only a label; two kinds never compare.
///
/// `Borrow<str>` lets a map keyed by an id be searched with text that is still inside a wire message.
pub struct Id<Kind> {
    text: String,
    kind: PhantomData<fn() -> Kind>,
}

/// Labels of the kinds of id; no values of them exist.
pub mod kind {
    /// A conversation with Codex.
    pub enum Thread {}
    /// One answer of Codex to one input.
    pub enum Turn {}
    /// One step of a turn.
    pub enum Item {}
    /// What a person put in, to be answered by a turn.
    pub enum Input {}
    /// A question put to a person.
    pub enum Ask {}
    /// One question inside a user-input ask.
    pub enum Question {}
    /// A task of ours.
    pub enum Task {}
    /// Something we owe a task.
    pub enum Intent {}
    /// A rule of the policy.
    pub enum Rule {}
    /// Something to be told to one target.
    pub enum Delivery {}
}

/// Names a conversation; unique in one Codex home.
pub type ThreadId = Id<kind::Thread>;
/// Names a turn of a thread.
pub type TurnId = Id<kind::Turn>;
/// Names an item; unique only together with its thread and turn.
pub type ItemId = Id<kind::Item>;
/// Names an input of ours; Codex echoes it from 0.142.5 on.
pub type InputId = Id<kind::Input>;
/// Names an ask in our own records.
pub type AskId = Id<kind::Ask>;
/// Names one question inside a user-input ask.
pub type QuestionId = Id<kind::Question>;
/// Names a task in our own records.
pub type TaskId = Id<kind::Task>;
/// Names something we owe a task; for an input it is the same text as its [`InputId`].
pub type IntentId = Id<kind::Intent>;
/// Names a rule of the policy.
pub type RuleId = Id<kind::Rule>;
/// Names what one target is to be told, the same each time that it is tried.
pub type DeliveryId = Id<kind::Delivery>;

impl<Kind> Id<Kind> {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: PhantomData }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl<Kind> From<String> for Id<Kind> {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl<Kind> From<&str> for Id<Kind> {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl<Kind> Borrow<str> for Id<Kind> {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl<Kind> fmt::Display for Id<Kind> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl<Kind> fmt::Debug for Id<Kind> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Id({:?})", self.text)
    }
}

// The derives would ask the label for these traits too, so they are written out; all of them are those of the text.

impl<Kind> Clone for Id<Kind> {
    fn clone(&self) -> Self {
        Self::new(self.text.clone())
    }
}

impl<Kind> PartialEq for Id<Kind> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<Kind> Eq for Id<Kind> {}

impl<Kind> PartialOrd for Id<Kind> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<Kind> Ord for Id<Kind> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl<Kind> Hash for Id<Kind> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl<Kind> Serialize for Id<Kind> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, Kind> Deserialize<'de> for Id<Kind> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::ThreadId;

    #[test]
    fn a_map_keyed_by_ids_is_searched_with_borrowed_text() {
        let threads = HashMap::from([(ThreadId::new("t1"), 1), (ThreadId::new("t2"), 2)]);

        assert_eq!(threads.get("t2"), Some(&2));
    }

    #[test]
    fn an_id_shows_as_its_text() {
        let thread = ThreadId::new("t1");

        assert_eq!((thread.to_string(), format!("{thread:?}")), ("t1".into(), "Id(\"t1\")".into()));
    }
}
