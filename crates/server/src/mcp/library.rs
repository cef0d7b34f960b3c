//! What can be read by address: logs, diffs.

use futures_util::future::BoxFuture;

/// A document that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelf {
    pub uri: String,
    pub name: String,
    pub description: String,
    pub media_type: &'static str,
}

/// How addresses of one kind are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub uri: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub media_type: &'static str,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub text: String,
    pub media_type: &'static str,
}

/// Documents of a server. Two users: the bridge has some, the agent's tools have none.
pub trait Library: Send + Sync {
    fn templates(&self) -> Vec<Template>;

    /// Some that are worth a look.
    fn list<'a>(&'a self, client: &'a str) -> BoxFuture<'a, Result<Vec<Shelf>, String>>;

    /// None if the address is of no document.
    fn read<'a>(
        &'a self,
        uri: &'a str,
        client: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, String>>;
}
