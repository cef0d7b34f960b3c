//! What can be asked of the store. Each question sees one moment, and none is held up by the writer.

pub(crate) mod asks;
pub(crate) mod audit;
pub(crate) mod host_asks;
pub(crate) mod keys;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod notifications;
pub(crate) mod rest;
pub(crate) mod tasks;
pub(crate) mod turns;

pub use audit::{AuditCount, AuditFilter, AuditPage, PlacedAudit};
pub use list::{Cursor, NotACursor, Page, TaskFilter};
pub use log::{LogPage, LoggedEvent, PlacedEvent, PlacedPage};
pub use notifications::{NotificationFilter, NotificationPage};
pub use rest::{RuleUse, Sizes, TableSize};
pub use tasks::{Counts, Queued};
pub use turns::{StoredItem, TurnMessages};

use rusqlite::{Connection, Params, Row};
use serde::de::DeserializeOwned;

use crate::StoreError;
use crate::queries::prepare;

/// All rows of a statement.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &'static str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = prepare(connection, sql)?;
    let rows = statement.query_map(params, read)?.collect::<Result<_, _>>()?;
    Ok(rows)
}

/// The first row of a statement, if there is one.
pub(crate) fn row<T>(
    connection: &Connection,
    sql: &'static str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(params)?;
    Ok(rows.next()?.map(read).transpose()?)
}

/// Of many tasks one that cannot be read must not hide the others, nor keep a daemon from starting.
pub(crate) fn readable<T>(found: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error @ StoreError::Unreadable { .. }) => {
            tracing::error!(%error, "it is left out");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The bodies in the first column of all rows.
pub(crate) fn bodies<T: DeserializeOwned>(
    connection: &Connection,
    sql: &'static str,
    params: impl Params,
    what: &'static str,
) -> Result<Vec<T>, StoreError> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(parsed(column(row, 0)?, what)?);
    }
    Ok(found)
}

pub(crate) fn parsed<T: DeserializeOwned>(json: &str, what: &'static str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(StoreError::unreadable(what))
}

/// Text that is still inside SQLite's page, so that it is not copied before it is parsed.
pub(crate) fn column<'row>(row: &'row Row<'_>, number: usize) -> Result<&'row str, StoreError> {
    row.get_ref(number)?.as_str().map_err(|error| StoreError::Other(error.to_string()))
}

/// The first text after all that begin with this one.
pub(crate) fn after_prefix(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}

/// A number of rows as SQLite takes it.
pub(crate) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
