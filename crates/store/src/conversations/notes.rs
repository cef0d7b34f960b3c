//! What tools note down for a conversation. Whoever serves its tools may write it, also while a chat holds the conversation.

use super::{ConversationError, Conversations, hold};
use crate::queries::prepare;
use crate::read::row;

pub(super) const SQL: &[&str] = &[READ, KEEP, FORGET];

const READ: &str = "SELECT body FROM notes WHERE conversation = ?1 AND kind = ?2";
const KEEP: &str = "INSERT INTO notes (conversation, kind, body) VALUES (?1, ?2, ?3) \
     ON CONFLICT (conversation, kind) DO UPDATE SET body = excluded.body";
pub(super) const FORGET: &str = "DELETE FROM notes WHERE conversation = ?1";

impl Conversations {
    pub async fn note(
        &self,
        conversation: &str,
        kind: &'static str,
    ) -> Result<Option<String>, ConversationError> {
        let id = conversation.to_owned();
        self.read(move |connection| Ok(row(connection, READ, (&id, kind), |row| row.get(0))?)).await
    }

    /// In the place of the one before. The conversation need not have begun.
    pub async fn keep_note(
        &self,
        conversation: &str,
        kind: &'static str,
        body: String,
    ) -> Result<(), ConversationError> {
        hold::check_id(conversation)?;
        let id = conversation.to_owned();
        self.write(move |connection| {
            prepare(connection, KEEP)?.execute((&id, kind, &body))?;
            Ok(())
        })
        .await
    }
}
