//! The layout of the database, and how an older one is brought up to it.
//!
//! Plain `.sql` files counted by `PRAGMA user_version` do all that is needed in forty lines, inside the transaction that also
//! takes the epoch; a migration library would bring a table of its own, a dozen crates, and its own idea of a transaction.
//!
//! The number is also the version of the JSON bodies: a change of a stored type that an older program could not read comes with
//! a migration, an empty one if need be, so that the older program refuses the database instead of stumbling over a row.

use rusqlite::Connection;

use crate::StoreError;

/// "Ostl", by which our databases are known among all others (`file` shows it).
pub(crate) const APPLICATION_ID: i64 = 0x4f73_746c;

const MIGRATIONS: [&str; 1] = [include_str!("../migrations/0001.sql")];

/// The layout that this program writes.
pub(crate) const LAYOUT: i64 = MIGRATIONS.len().cast_signed() as i64;

/// What stands in the head of a database file.
pub(crate) struct Head {
    pub(crate) application_id: i64,
    pub(crate) layout: i64,
    /// Tables of anybody.
    pub(crate) is_empty: bool,
}

pub(crate) fn head(connection: &Connection) -> Result<Head, StoreError> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    Ok(Head {
        application_id: number("PRAGMA application_id")?,
        layout: number("PRAGMA user_version")?,
        is_empty: number("SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)")? == 0,
    })
}

/// Inside a transaction: all of it, or none.
pub(crate) fn migrate(connection: &Connection, from: i64) -> Result<(), StoreError> {
    let done = usize::try_from(from).unwrap_or(0);
    for migration in MIGRATIONS.iter().skip(done) {
        connection.execute_batch(migration)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", LAYOUT)?;
    Ok(())
}
