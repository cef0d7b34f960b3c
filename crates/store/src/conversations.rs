//! Conversations of the host agent, in a file of their own: messages, turns, and what was said, to be found again.
//!
//! Each chat is a process that writes here itself, so every write is one short transaction, and nothing is kept in memory that
//! another process might change. What the agent knows of a conversation is JSON text that this room does not read.
//!
//! Start reading at [`Conversation`] and [`NewMessage`] for what is kept, at `migrations/conversations/0001.sql` for where.

mod append;
mod change;
mod desk;
mod error;
mod hold;
mod list;
mod notes;
mod open;
mod record;
mod remove;
mod search;
mod turns;
mod words;

pub use error::ConversationError;
pub use hold::Hold;
pub use list::{ConversationFilter, ConversationPage};
pub use record::{
    Change, Conversation, Ended, NewConversation, NewMessage, NewTurn, StoredMessage, Turn,
    TurnBegun, TurnEnding, TurnState,
};
pub use remove::ConversationSweep;
pub use search::{Hit, Search};

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use self::desk::Desk;

/// How long other chats are waited for, each of which writes for some milliseconds, before a write fails.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The conversations of one state folder. Clones share two threads: one that writes and one that reads beside it.
#[derive(Clone)]
pub struct Conversations {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    lock_wait: Duration,
    writer: Desk,
    reader: Desk,
}

impl Conversations {
    /// Opens the file, or makes it; its folder must be there.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, ConversationError> {
        Self::open_waiting(path, LOCK_WAIT).await
    }

    /// The same, with another patience for the locks of others.
    pub async fn open_waiting(
        path: impl Into<PathBuf>,
        lock_wait: Duration,
    ) -> Result<Self, ConversationError> {
        let path = path.into();
        let opening = tokio::task::spawn_blocking(move || {
            let writer = open::open_writer(&path, lock_wait)?;
            let reader = open::open_reader(&path, lock_wait)?;
            let writer = Desk::start("conversations-writer", writer)?;
            let reader = Desk::start("conversations-reader", reader)?;
            Ok(Self { shared: Arc::new(Shared { path, lock_wait, writer, reader }) })
        });
        opening.await.map_err(|_| ConversationError::closed())?
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Ends both threads after what was asked of them so far. Clones are closed too.
    pub async fn close(&self) {
        // The last one to go writes SQLite's log back into the file, which the reader cannot.
        self.shared.reader.close().await;
        self.shared.writer.close().await;
    }

    /// One transaction, retried while others write. `work` may run more than once.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, ConversationError> + Send + 'static,
    ) -> Result<T, ConversationError> {
        let lock_wait = self.shared.lock_wait;
        let done = self
            .shared
            .writer
            .run(move |connection| desk::transact(connection, lock_wait, work))
            .await;
        done.map_err(|error| error.about(&self.shared.path))
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, ConversationError> + Send + 'static,
    ) -> Result<T, ConversationError> {
        let found = self.shared.reader.run(move |connection| desk::look(connection, work)).await;
        found.map_err(|error| error.about(&self.shared.path))
    }
}

/// Every SQL text of this module that runs more than once, so that a test can look at the plan of each.
pub(crate) fn all_sql() -> impl Iterator<Item = &'static str> {
    let lists: [&[&str]; 7] =
        [append::SQL, change::SQL, list::SQL, notes::SQL, remove::SQL, search::SQL, turns::SQL];
    lists.into_iter().flatten().copied()
}

#[cfg(test)]
mod tests;
