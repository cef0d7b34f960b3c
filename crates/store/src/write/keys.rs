//! Tokens and logins.

use rusqlite::params;

use super::Writer;
use crate::queries::prepare;
use crate::{KeyRow, StoreError};

pub(crate) const SQL: &[&str] = &[ADD, PUT, REMOVE];

const ADD: &str = "INSERT INTO keys (id, digest, body) VALUES (?1, ?2, ?3)";
const PUT: &str = "UPDATE keys SET body = ?2 WHERE id = ?1";
const REMOVE: &str = "DELETE FROM keys WHERE id = ?1";

impl Writer<'_> {
    pub(super) fn add_key(&self, key: &KeyRow) -> Result<(), StoreError> {
        prepare(self.connection, ADD)?.execute(params![key.id, key.digest, key.json])?;
        Ok(())
    }

    pub(super) fn put_key(&self, key: &KeyRow) -> Result<(), StoreError> {
        prepare(self.connection, PUT)?.execute(params![key.id, key.json])?;
        Ok(())
    }

    pub(super) fn remove_key(&self, id: &str) -> Result<(), StoreError> {
        prepare(self.connection, REMOVE)?.execute([id])?;
        Ok(())
    }
}
