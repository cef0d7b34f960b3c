//! A throw-away database, opened as often as a test likes.

use std::path::PathBuf;
use std::time::Duration;

use ostler_store::Conversations;
use ostler_store::conversations::{NewConversation, NewMessage};
use tempfile::TempDir;

pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("conversations.db")
    }

    pub(crate) async fn open(&self) -> Conversations {
        Conversations::open_waiting(self.path(), Duration::from_secs(20)).await.unwrap()
    }

    /// With the conversation `c1`.
    pub(crate) async fn with_one(&self) -> Conversations {
        let conversations = self.open().await;
        conversations.create(new("c1", 1)).await.unwrap();
        conversations
    }

    pub(crate) fn sql(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    pub(crate) fn count(&self, table: &str) -> i64 {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        let count = format!("SELECT count(*) FROM {table}");
        connection.query_row(&count, [], |row| row.get(0)).unwrap()
    }
}

pub(crate) fn new(id: &str, at: i64) -> NewConversation {
    NewConversation {
        id: id.to_owned(),
        title: format!("about {id}"),
        cwd: "/work".to_owned(),
        at,
        body: "{}".to_owned(),
    }
}

pub(crate) fn says(key: &str, text: &str) -> NewMessage {
    NewMessage {
        key: key.to_owned(),
        role: "user".to_owned(),
        text: text.to_owned(),
        body: format!("{{\"key\":{key:?}}}"),
        at: 10,
    }
}
