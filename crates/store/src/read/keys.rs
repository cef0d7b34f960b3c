//! Tokens and logins.

use rusqlite::Row;

use super::rows;
use crate::{KeyRow, Store, StoreError};

pub(crate) const SQL: &[&str] = &[KEYS];

const KEYS: &str = "SELECT id, digest, body FROM keys";

impl Store {
    /// All of them, also those that have expired.
    pub async fn keys(&self) -> Result<Vec<KeyRow>, StoreError> {
        let read =
            |row: &Row<'_>| Ok(KeyRow { id: row.get(0)?, digest: row.get(1)?, json: row.get(2)? });
        self.readers.read(move |connection| rows(connection, KEYS, [], read)).await
    }
}
