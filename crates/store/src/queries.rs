//! Every SQL text of this room that runs more than once, so that a test can look at the plan of each.

use rusqlite::{CachedStatement, Connection};

use crate::{StoreError, conversations, read, secrets, sweep, write};

/// All of them, with the tables of each module together.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    let lists: [&[&str]; 21] = [
        write::tasks::SQL,
        write::log::SQL,
        write::asks::SQL,
        write::audit::SQL,
        write::host_asks::SQL,
        write::turns::SQL,
        write::keys::SQL,
        write::notifications::SQL,
        write::rest::SQL,
        read::tasks::SQL,
        read::list::SQL,
        read::log::SQL,
        read::asks::SQL,
        read::audit::SQL,
        read::host_asks::SQL,
        read::turns::SQL,
        read::keys::SQL,
        read::notifications::SQL,
        read::rest::SQL,
        secrets::SQL,
        sweep::SQL,
    ];
    lists.into_iter().flatten().copied()
}

/// A statement, compiled once per connection.
pub(crate) fn prepare<'c>(
    connection: &'c Connection,
    sql: &'static str,
) -> Result<CachedStatement<'c>, StoreError> {
    debug_assert!(
        all().chain(conversations::all_sql()).any(|known| known == sql),
        "not in the list of its module: {sql}"
    );
    Ok(connection.prepare_cached(sql)?)
}

#[cfg(test)]
mod tests;
