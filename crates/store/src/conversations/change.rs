//! A conversation itself: made, and changed by whoever has read the newest.

use rusqlite::Connection;

use super::list::number_of;
use super::{Change, ConversationError, Conversations, NewConversation, hold};
use crate::queries::prepare;
use crate::read::row;

pub(super) const SQL: &[&str] = &[CREATE, VERSION, UPDATE];

const CREATE: &str = "INSERT INTO conversations (id, title, cwd, created_at, updated_at, version, body) \
     VALUES (?1, ?2, ?3, ?4, ?4, 1, ?5) ON CONFLICT (id) DO NOTHING";
const VERSION: &str = "SELECT version FROM conversations WHERE number = ?1";
const UPDATE: &str = "UPDATE conversations SET version = version + 1, title = coalesce(?2, title), \
     body = coalesce(?3, body), updated_at = max(updated_at, ?4) WHERE number = ?1";

impl Conversations {
    pub async fn create(&self, new: NewConversation) -> Result<(), ConversationError> {
        hold::check_id(&new.id)?;
        self.write(move |connection| {
            let NewConversation { id, title, cwd, at, body } = &new;
            match prepare(connection, CREATE)?.execute((id, title, cwd, at, body))? {
                0 => Err(ConversationError::Taken(id.clone())),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Changes title and body if nobody has since they were read, and gives the new version.
    pub async fn update(
        &self,
        conversation: &str,
        change: Change,
    ) -> Result<u64, ConversationError> {
        let id = conversation.to_owned();
        self.write(move |connection| {
            let number = number_of(connection, &id)?;
            apply(connection, &id, number, &change)
        })
        .await
    }
}

/// Inside a transaction.
pub(super) fn apply(
    connection: &Connection,
    id: &str,
    number: i64,
    change: &Change,
) -> Result<u64, ConversationError> {
    let found = version(connection, number)?;
    if found != change.version {
        let conversation = id.to_owned();
        return Err(ConversationError::Changed { conversation, expected: change.version, found });
    }
    let Change { title, body, at, .. } = change;
    prepare(connection, UPDATE)?.execute((number, title, body, at))?;
    Ok(found + 1)
}

pub(super) fn version(connection: &Connection, number: i64) -> Result<u64, ConversationError> {
    Ok(row(connection, VERSION, [number], |row| row.get(0))?.unwrap_or(0))
}
