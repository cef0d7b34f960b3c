//! Answers to secret questions: kept only as long as they are owed, and gone from the file afterwards.
//!
//! In every body and event an answer stands as others may see it (`Ask::shown`). The real one is in the column `secret` of its ask
//! and of its intent, until these are closed. A column set to null still has its old bytes in two places: in the page, where
//! `secure_delete` zeroes them, and in SQLite's own log, which is folded back and cut to nothing after such a commit.

use std::time::Duration;

use ostler_model::ask::{Ask, AskKind};
use rusqlite::Connection;

use crate::StoreError;
use crate::queries::prepare;

pub(crate) const SQL: &[&str] = &[ANY_ASK, ANY_INTENT];

const ANY_ASK: &str = "SELECT EXISTS (SELECT 1 FROM asks WHERE task = ?1 AND secret IS NOT NULL)";
const ANY_INTENT: &str =
    "SELECT EXISTS (SELECT 1 FROM intents WHERE task = ?1 AND is_open = 1 AND secret IS NOT NULL)";

/// Whether an answer to this may be a secret.
pub(crate) fn asks_for_any(ask: &Ask) -> bool {
    match &ask.kind {
        AskKind::UserInput(ask) => ask.questions.iter().any(|question| question.is_secret),
        _ => false,
    }
}

/// Whether a secret of this task is kept.
pub(crate) fn task_has_any(connection: &Connection, number: i64) -> Result<bool, StoreError> {
    for sql in [ANY_ASK, ANY_INTENT] {
        if prepare(connection, sql)?.query_row([number], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Does the work so that what it removes leaves nothing in any page.
pub(crate) fn erasing<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.pragma_update(None, "secure_delete", "ON")?;
    let done = work();
    connection.pragma_update(None, "secure_delete", "FAST")?;
    done
}

/// Cuts SQLite's log to nothing. False if a reader is in the way: then it is to be tried again.
///
/// Nobody is waited for, because the writer has others to serve.
pub(crate) fn cut_the_log(
    connection: &Connection,
    lock_wait: Duration,
) -> Result<bool, StoreError> {
    connection.busy_timeout(Duration::ZERO)?;
    let cut = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    connection.busy_timeout(lock_wait)?;
    let busy: i64 = cut?;
    Ok(busy == 0)
}
