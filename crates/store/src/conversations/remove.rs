//! Removing conversations, one by one or those that nobody needs any more.

use std::collections::HashSet;

use rusqlite::{Connection, Row};

use super::list::number_of;
use super::notes::FORGET;
use super::{ConversationError, Conversations};
use crate::queries::prepare;
use crate::read::{row, rows};

pub(super) const SQL: &[&str] =
    &[OPEN, REMOVE, LEAVE, LEFT, LEFT_MESSAGES, LEFT_TURNS, CLEARED, TOO_OLD, TOO_MANY];

/// Rows that one transaction removes: some ten milliseconds, most of them for the words.
const MOST_ROWS: usize = 200;
/// Pages that one transaction gives back to the disk.
const MOST_PAGES: i64 = 500;

/// Free pages that stay, because they will be wanted again soon: 1 MB.
const SPARE_PAGES: i64 = 250;

/// Conversations that one sweep removes, so that whoever waits for it waits seconds at most. The next one goes on.
const MOST_SWEPT: usize = 100;

const OPEN: &str = "SELECT number FROM turns INDEXED BY turns_running WHERE state = 'running' AND conversation = ?1 LIMIT 1";
const REMOVE: &str = "DELETE FROM conversations WHERE number = ?1";
const LEAVE: &str = "INSERT INTO leftovers (conversation) VALUES (?1)";
const LEFT: &str = "SELECT conversation FROM leftovers ORDER BY conversation LIMIT 1";
const LEFT_MESSAGES: &str = "DELETE FROM messages WHERE place IN \
     (SELECT place FROM messages WHERE conversation = ?1 ORDER BY number LIMIT ?2)";
const LEFT_TURNS: &str = "DELETE FROM turns WHERE place IN \
     (SELECT place FROM turns WHERE conversation = ?1 ORDER BY number LIMIT ?2)";
const CLEARED: &str = "DELETE FROM leftovers WHERE conversation = ?1";
const TOO_OLD: &str =
    "SELECT id FROM conversations WHERE updated_at < ?1 ORDER BY updated_at, number";
/// Behind the newest.
const TOO_MANY: &str = "SELECT id FROM conversations WHERE updated_at <= ?1 \
     ORDER BY updated_at DESC, number DESC LIMIT -1 OFFSET ?2";

/// What a sweep has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationSweep {
    pub removed: Vec<String>,
    /// They should have gone, but somebody is in them, or their last turn has no end.
    pub in_use: Vec<String>,
}

impl Conversations {
    /// Removes a conversation with all that was said in it. Refused while anybody holds it, this process too.
    pub async fn remove(&self, conversation: &str) -> Result<(), ConversationError> {
        self.remove_if(conversation, |_, _| Ok(true)).await
    }

    /// The same, but for one whose last turn has no end: whoever takes it up brings it there.
    pub async fn remove_finished(&self, conversation: &str) -> Result<(), ConversationError> {
        self.remove_if(conversation, |connection, number| {
            Ok(row(connection, OPEN, [number], |row| row.get::<_, u64>(0))?.is_none())
        })
        .await
    }

    async fn remove_if(
        &self,
        conversation: &str,
        may_go: fn(&Connection, i64) -> Result<bool, ConversationError>,
    ) -> Result<(), ConversationError> {
        let _hold = self.hold(conversation).await?;
        let id = conversation.to_owned();
        self.write(move |connection| {
            let number = number_of(connection, &id)?;
            if !may_go(connection, number)? {
                return Err(ConversationError::OpenTurn(id.clone()));
            }
            prepare(connection, REMOVE)?.execute([number])?;
            prepare(connection, LEAVE)?.execute([number])?;
            prepare(connection, FORGET)?.execute([&id])?;
            Ok(())
        })
        .await?;
        self.clear_away().await
    }

    /// Removes what has not changed since `older_than`, and the oldest of more than `keep_at_most`. Those that are held stay, and so
    /// do those whose last turn has no end.
    pub async fn sweep(
        &self,
        older_than: i64,
        keep_at_most: u64,
    ) -> Result<ConversationSweep, ConversationError> {
        let mut report = ConversationSweep::default();
        let unneeded =
            self.read(move |connection| unneeded(connection, older_than, keep_at_most)).await?;
        for id in unneeded {
            if report.removed.len() >= MOST_SWEPT {
                break;
            }
            match self.remove_finished(&id).await {
                Ok(()) => report.removed.push(id),
                Err(ConversationError::InUse { .. } | ConversationError::OpenTurn(_)) => {
                    report.in_use.push(id);
                }
                // Another process sweeps, too.
                Err(ConversationError::NoConversation(_)) => {}
                Err(error) => return Err(error),
            }
        }
        // What somebody was killed over.
        self.clear_away().await?;
        while self.write(give_back).await? {}
        Ok(report)
    }

    /// What removed conversations left behind, in pieces between which others can write.
    async fn clear_away(&self) -> Result<(), ConversationError> {
        while self.write(clear_a_piece).await? {}
        Ok(())
    }
}

/// True if there may be more.
fn clear_a_piece(connection: &Connection) -> Result<bool, ConversationError> {
    let Some(number) = row(connection, LEFT, [], |row| row.get::<_, i64>(0))? else {
        return Ok(false);
    };
    for sql in [LEFT_MESSAGES, LEFT_TURNS] {
        if prepare(connection, sql)?.execute((number, MOST_ROWS))? == MOST_ROWS {
            return Ok(true);
        }
    }
    prepare(connection, CLEARED)?.execute([number])?;
    Ok(true)
}

/// The oldest first.
fn unneeded(
    connection: &Connection,
    older_than: i64,
    keep_at_most: u64,
) -> Result<Vec<String>, ConversationError> {
    let id = |row: &Row<'_>| row.get::<_, String>(0);
    let mut ids = rows(connection, TOO_OLD, [older_than], id)?;
    let keep = i64::try_from(keep_at_most).unwrap_or(i64::MAX);
    let known: HashSet<String> = ids.iter().cloned().collect();
    let too_many = rows(connection, TOO_MANY, (i64::MAX, keep), id)?;
    ids.extend(too_many.into_iter().rev().filter(|id| !known.contains(id)));
    Ok(ids)
}

/// Gives free pages back to the disk. True if there are more.
fn give_back(connection: &Connection) -> Result<bool, ConversationError> {
    let free = || connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
    let before = free()?;
    if before <= SPARE_PAGES {
        return Ok(false);
    }
    connection.execute_batch(&format!("PRAGMA incremental_vacuum({MOST_PAGES})"))?;
    let after = free()?;
    Ok(after < before && after > SPARE_PAGES)
}
