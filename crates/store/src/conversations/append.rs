//! Messages: added at the end, each once.

use rusqlite::{Connection, Row};

use super::list::number_of;
use super::{ConversationError, Conversations, NewMessage, StoredMessage, turns, words};
use crate::StoreError;
use crate::queries::prepare;
use crate::read::{limit, row, rows};

pub(super) const SQL: &[&str] = &[KNOWN, LAST, ADD, SAY, TOUCH, READ];

const KNOWN: &str = "SELECT number FROM messages WHERE conversation = ?1 AND key = ?2";
const LAST: &str =
    "SELECT number FROM messages WHERE conversation = ?1 ORDER BY number DESC LIMIT 1";
const ADD: &str = "INSERT INTO messages (conversation, number, turn, role, key, at, body) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const SAY: &str = "INSERT INTO said (rowid, text) VALUES (?1, ?2)";
/// Clocks go back now and then; the list does not.
const TOUCH: &str = "UPDATE conversations SET updated_at = max(updated_at, ?2) WHERE number = ?1";
const READ: &str = "SELECT number, turn, key, role, at, body FROM messages \
     WHERE conversation = ?1 AND number > ?2 ORDER BY number LIMIT ?3";

impl Conversations {
    /// Adds messages to a turn, or to none (0), in one transaction, and gives their numbers. One whose key is known stays as it
    /// is, with the number that it has.
    pub async fn append(
        &self,
        conversation: &str,
        turn: u64,
        messages: Vec<NewMessage>,
    ) -> Result<Vec<u64>, ConversationError> {
        let id = conversation.to_owned();
        self.write(move |connection| {
            let number = number_of(connection, &id)?;
            if turn > 0 && turns::state_of(connection, number, turn)?.is_none() {
                return Err(ConversationError::NoTurn { conversation: id.clone(), turn });
            }
            add(connection, number, turn, &messages)
        })
        .await
    }

    /// Messages in their order, beginning behind the number `after`.
    pub async fn messages(
        &self,
        conversation: &str,
        after: u64,
        most: usize,
    ) -> Result<Vec<StoredMessage>, ConversationError> {
        let id = conversation.to_owned();
        self.read(move |connection| {
            let number = number_of(connection, &id)?;
            let after = i64::try_from(after).unwrap_or(i64::MAX);
            Ok(rows(connection, READ, (number, after, limit(most)), message)?)
        })
        .await
    }

    /// A message with those next to it, at most so many before and after.
    pub async fn around(
        &self,
        conversation: &str,
        number: u64,
        before: u32,
        after: u32,
    ) -> Result<Vec<StoredMessage>, ConversationError> {
        let first = number.saturating_sub(u64::from(before)).max(1);
        let most = number.saturating_sub(first) + 1 + u64::from(after);
        self.messages(conversation, first - 1, usize::try_from(most).unwrap_or(usize::MAX)).await
    }
}

/// Inside a transaction. The numbers of the messages, new or known.
pub(super) fn add(
    connection: &Connection,
    conversation: i64,
    turn: u64,
    messages: &[NewMessage],
) -> Result<Vec<u64>, ConversationError> {
    let last: Option<u64> = row(connection, LAST, [conversation], |row| row.get(0))?;
    let mut last = last.unwrap_or(0);
    let mut numbers = Vec::with_capacity(messages.len());
    for message in messages {
        if let Some(known) = known(connection, conversation, message)? {
            numbers.push(known);
            continue;
        }
        last += 1;
        let NewMessage { key, role, text, body, at } = message;
        prepare(connection, ADD)?
            .execute((conversation, last, turn, role, key, at, body))
            .map_err(StoreError::from)?;
        let place = connection.last_insert_rowid();
        let text = words::set_apart(text);
        if !text.is_empty() {
            prepare(connection, SAY)?.execute((place, text)).map_err(StoreError::from)?;
        }
        numbers.push(last);
    }
    if let Some(at) = messages.iter().map(|message| message.at).max() {
        touch(connection, conversation, at)?;
    }
    Ok(numbers)
}

/// The number that a message of this key has.
pub(super) fn known(
    connection: &Connection,
    conversation: i64,
    message: &NewMessage,
) -> Result<Option<u64>, ConversationError> {
    Ok(row(connection, KNOWN, (conversation, &message.key), |row| row.get(0))?)
}

/// Something happened in it.
pub(super) fn touch(
    connection: &Connection,
    conversation: i64,
    at: i64,
) -> Result<(), ConversationError> {
    prepare(connection, TOUCH)?.execute((conversation, at))?;
    Ok(())
}

fn message(row: &Row<'_>) -> rusqlite::Result<StoredMessage> {
    Ok(StoredMessage {
        number: row.get(0)?,
        turn: row.get(1)?,
        key: row.get(2)?,
        role: row.get(3)?,
        at: row.get(4)?,
        body: row.get(5)?,
    })
}
