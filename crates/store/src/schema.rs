//! The layout of the database, and how an older one is brought up to it.
//!
//! Plain `.sql` files counted by `PRAGMA user_version` do all that is needed in forty lines, inside the transaction that also
//! takes the epoch; a migration library would bring a table of its own, a dozen crates, and its own idea of a transaction.
//!
//! The number is also the version of the JSON bodies: a change of a stored type that an older program could not read comes with
//! a migration, an empty one if need be, so that the older program refuses the database instead of stumbling over a row.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::StoreError;

/// A kind of database: whose it is, and every layout it ever had.
pub(crate) struct Layouts {
    /// By which our databases are known among all others (`file` shows it).
    application_id: i64,
    migrations: &'static [&'static str],
}

/// "Ostl": the tasks and all that belongs to them.
pub(crate) const TASKS: Layouts = Layouts {
    application_id: 0x4f73_746c,
    migrations: &[
        include_str!("../migrations/0001.sql"),
        include_str!("../migrations/0002.sql"),
        include_str!("../migrations/0003.sql"),
        include_str!("../migrations/0004.sql"),
        include_str!("../migrations/0005.sql"),
        include_str!("../migrations/0006.sql"),
    ],
};

/// "Oscn": the host agent's conversations.
pub(crate) const CONVERSATIONS: Layouts = Layouts {
    application_id: 0x4f73_636e,
    migrations: &[
        include_str!("../migrations/conversations/0001.sql"),
        include_str!("../migrations/conversations/0002.sql"),
    ],
};

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

impl Layouts {
    /// The layout that this program writes.
    pub(crate) fn newest(&self) -> i64 {
        i64::try_from(self.migrations.len()).unwrap_or(i64::MAX)
    }

    /// Refuses what is not ours and what we could not read. A database without anything in it becomes ours.
    pub(crate) fn admit(&self, head: &Head, path: &Path) -> Result<(), StoreError> {
        let is_new = head.application_id == 0 && head.layout == 0 && head.is_empty;
        if is_new { Ok(()) } else { self.recognize(head, path) }
    }

    /// Refuses what is not ours and what we could not read.
    pub(crate) fn recognize(&self, head: &Head, path: &Path) -> Result<(), StoreError> {
        if head.application_id != self.application_id {
            return Err(StoreError::Foreign { path: path.to_owned() });
        }
        if head.layout > self.newest() {
            let (found, known) = (head.layout, self.newest());
            return Err(StoreError::Newer { path: path.to_owned(), found, known });
        }
        Ok(())
    }

    /// Whether a newer program has written here. Asked inside a transaction, because that may happen while we run.
    pub(crate) fn is_newer(
        &self,
        connection: &Connection,
    ) -> Result<Option<StoreError>, StoreError> {
        let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let known = self.newest();
        Ok((found > known).then(|| StoreError::Newer { path: PathBuf::new(), found, known }))
    }

    /// Inside a transaction: all of it, or none.
    pub(crate) fn migrate(&self, connection: &Connection, from: i64) -> Result<(), StoreError> {
        let done = usize::try_from(from).unwrap_or(0);
        for migration in self.migrations.iter().skip(done) {
            connection.execute_batch(migration)?;
        }
        connection.pragma_update(None, "application_id", self.application_id)?;
        connection.pragma_update(None, "user_version", self.newest())?;
        Ok(())
    }
}
