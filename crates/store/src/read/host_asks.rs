//! Questions of host agents' own tools.

use ostler_model::{AskId, TaskId};
use rusqlite::{Connection, Params};

use super::{after_prefix, bodies, limit, parsed, readable, rows};
use crate::{HostAskRow, Store, StoreError};

pub(crate) const SQL: &[&str] = &[ASK, BY_PREFIX, BY_KEY, UNDECIDED, FOR_SESSION];

const ASK: &str = "SELECT body FROM host_asks WHERE id = ?1";
const BY_PREFIX: &str =
    "SELECT body FROM host_asks WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
const BY_KEY: &str = "SELECT body FROM host_asks WHERE owner = ?1 AND key = ?2";
const UNDECIDED: &str = "SELECT body FROM host_asks WHERE is_undecided = 1 ORDER BY place";
const FOR_SESSION: &str = "SELECT body FROM host_asks WHERE is_for_session = 1 \
     AND owner = ?1 AND digest = ?2 ORDER BY place LIMIT 1";

impl Store {
    pub async fn host_ask(&self, ask: &AskId) -> Result<Option<HostAskRow>, StoreError> {
        Ok(self.read_host_asks(ASK, [ask.as_str().to_owned()]).await?.pop())
    }

    /// Those whose id begins so, by id.
    pub async fn host_asks_by_prefix(
        &self,
        prefix: &str,
        most: usize,
    ) -> Result<Vec<HostAskRow>, StoreError> {
        let range = (prefix.to_owned(), after_prefix(prefix), limit(most));
        self.read_host_asks(BY_PREFIX, range).await
    }

    /// What this owner has asked under this key.
    pub async fn host_ask_by_key(
        &self,
        owner: &TaskId,
        key: &str,
    ) -> Result<Option<HostAskRow>, StoreError> {
        let key = [owner.as_str().to_owned(), key.to_owned()];
        Ok(self.read_host_asks(BY_KEY, key).await?.pop())
    }

    /// All that somebody may still decide, oldest first.
    pub async fn undecided_host_asks(&self) -> Result<Vec<HostAskRow>, StoreError> {
        let read = |connection: &Connection| {
            let bodies = rows(connection, UNDECIDED, [], |row| row.get::<_, String>(0))?;
            let asks = bodies.iter().map(|body| readable(parsed(body, "host ask")));
            asks.filter_map(Result::transpose).collect()
        };
        self.readers.read(read).await
    }

    /// The first of this owner's that asked the same and was allowed for the session.
    pub async fn host_ask_for_session(
        &self,
        owner: &TaskId,
        digest: &str,
    ) -> Result<Option<HostAskRow>, StoreError> {
        let key = [owner.as_str().to_owned(), digest.to_owned()];
        Ok(self.read_host_asks(FOR_SESSION, key).await?.pop())
    }

    async fn read_host_asks(
        &self,
        sql: &'static str,
        key: impl Params + Send + 'static,
    ) -> Result<Vec<HostAskRow>, StoreError> {
        self.readers.read(move |connection| bodies(connection, sql, key, "host ask")).await
    }
}
