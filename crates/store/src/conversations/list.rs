//! Finding conversations: by id, by the beginning of an id, and page by page with the one that changed last first.

use rusqlite::{Connection, Row, named_params};

use super::{Conversation, ConversationError, Conversations};
use crate::Cursor;
use crate::read::{after_prefix, limit, row, rows};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT c.number, id, title, cwd, created_at, updated_at, version, body, \
             coalesce((SELECT number FROM messages WHERE conversation = c.number \
                 ORDER BY number DESC LIMIT 1), 0), \
             coalesce((SELECT number FROM turns WHERE conversation = c.number \
                 ORDER BY number DESC LIMIT 1), 0) FROM conversations c ",
            $rest
        )
    };
}

pub(super) const SQL: &[&str] = &[NUMBER, ONE, BY_PREFIX, ALL, IN_FOLDER];

const NUMBER: &str = "SELECT number FROM conversations WHERE id = ?1";
const ONE: &str = select!("WHERE id = ?1");
const BY_PREFIX: &str = select!("WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3");
const ALL: &str = select!(
    "WHERE (updated_at, c.number) < (:updated_at, :number) \
     ORDER BY updated_at DESC, c.number DESC LIMIT :most"
);
const IN_FOLDER: &str = select!(
    "WHERE cwd = :cwd AND (updated_at, c.number) < (:updated_at, :number) \
     ORDER BY updated_at DESC, c.number DESC LIMIT :most"
);

/// Which conversations are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationFilter {
    pub cwd: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationPage {
    pub conversations: Vec<Conversation>,
    /// Where the next page begins, if there may be one.
    pub next: Option<Cursor>,
}

impl Conversations {
    pub async fn get(&self, id: &str) -> Result<Option<Conversation>, ConversationError> {
        let id = id.to_owned();
        self.read(move |connection| {
            Ok(row(connection, ONE, [&id], conversation)?.map(|(found, _)| found))
        })
        .await
    }

    /// Those whose id begins so, at most so many, the oldest first.
    pub async fn find(
        &self,
        prefix: &str,
        most: usize,
    ) -> Result<Vec<Conversation>, ConversationError> {
        let (from, to) = (prefix.to_owned(), after_prefix(prefix));
        self.read(move |connection| {
            let found = rows(connection, BY_PREFIX, (&from, &to, limit(most)), conversation)?;
            Ok(found.into_iter().map(|(found, _)| found).collect())
        })
        .await
    }

    /// The first page begins at [`Cursor::FIRST`].
    pub async fn list(
        &self,
        filter: &ConversationFilter,
        before: Cursor,
        most: usize,
    ) -> Result<ConversationPage, ConversationError> {
        let filter = filter.clone();
        self.read(move |connection| page(connection, &filter, before, most)).await
    }
}

/// By which its rows are known.
pub(super) fn number_of(connection: &Connection, id: &str) -> Result<i64, ConversationError> {
    row(connection, NUMBER, [id], |row| row.get(0))?
        .ok_or_else(|| ConversationError::NoConversation(id.to_owned()))
}

fn page(
    connection: &Connection,
    filter: &ConversationFilter,
    before: Cursor,
    most: usize,
) -> Result<ConversationPage, ConversationError> {
    let Cursor { updated_at, number } = before;
    let count = limit(most);
    let found = match &filter.cwd {
        Some(cwd) => {
            let wanted = named_params! {":cwd": cwd, ":updated_at": updated_at, ":number": number, ":most": count};
            rows(connection, IN_FOLDER, wanted, conversation)?
        }
        None => {
            let wanted =
                named_params! {":updated_at": updated_at, ":number": number, ":most": count};
            rows(connection, ALL, wanted, conversation)?
        }
    };
    let next = if found.len() < most { None } else { found.last().map(|(_, place)| *place) };
    let conversations = found.into_iter().map(|(conversation, _)| conversation).collect();
    Ok(ConversationPage { conversations, next })
}

fn conversation(row: &Row<'_>) -> rusqlite::Result<(Conversation, Cursor)> {
    let conversation = Conversation {
        id: row.get(1)?,
        title: row.get(2)?,
        cwd: row.get(3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
        version: row.get(6)?,
        body: row.get(7)?,
        messages: row.get(8)?,
        turns: row.get(9)?,
    };
    let place = Cursor { updated_at: conversation.updated_at, number: row.get(0)? };
    Ok((conversation, place))
}
