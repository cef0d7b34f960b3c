//! What tools note down for a conversation: in the store, where a chat and a tool server that Codex has started for it find the same.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::shelf::Shelf;
use crate::tools::{Notes, Todo};

const TODOS: &str = "todos";

pub(crate) struct KeptNotes {
    shelf: Arc<Shelf>,
    /// What was noted in the conversation itself, before notes had a place of their own.
    earlier: Map<String, Value>,
}

impl KeptNotes {
    pub(crate) fn new(shelf: Arc<Shelf>, earlier: Map<String, Value>) -> Self {
        Self { shelf, earlier }
    }

    async fn read(&self, conversation: &str) -> Result<Vec<Todo>, String> {
        let conversations = self.shelf.open().await?;
        let kept = conversations.note(conversation, TODOS).await;
        let kept = kept.map_err(|error| error.to_string())?;
        let read = match (kept, self.earlier.get(TODOS)) {
            (Some(text), _) => serde_json::from_str(&text),
            (None, Some(earlier)) => serde_json::from_value(earlier.clone()),
            (None, None) => Ok(Vec::new()),
        };
        read.map_err(|error| error.to_string())
    }

    async fn keep(&self, conversation: &str, todos: Vec<Todo>) -> Result<(), String> {
        let body = serde_json::to_string(&todos).map_err(|error| error.to_string())?;
        let conversations = self.shelf.open().await?;
        let kept = conversations.keep_note(conversation, TODOS, body).await;
        kept.map_err(|error| error.to_string())
    }
}

impl Notes for KeptNotes {
    fn todos<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Todo>, String>> {
        Box::pin(self.read(conversation))
    }

    fn keep_todos<'a>(
        &'a self,
        conversation: &'a str,
        todos: Vec<Todo>,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.keep(conversation, todos))
    }
}
