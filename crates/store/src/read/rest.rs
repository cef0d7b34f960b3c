//! Rules, app-servers, homes, and how large it all is.

use std::collections::BTreeMap;

use ostler_model::{AskId, RuleId, TaskId};
use rusqlite::{Connection, Row};

use super::{bodies, limit, row, rows};
use crate::{AppServerRow, RuleRow, Store, StoreError};

pub(crate) const SQL: &[&str] = &[LASTING_RULES, EXPIRING_RULES, RULE_USES, APP_SERVERS, HOME_PIN];

const LASTING_RULES: &str = "SELECT id, expires_at, body FROM rules WHERE expires_at IS NULL";
const EXPIRING_RULES: &str = "SELECT id, expires_at, body FROM rules WHERE expires_at > ?1";
const RULE_USES: &str = "SELECT rule, ask, task, at FROM rule_uses WHERE rule = ?1 \
     ORDER BY place DESC LIMIT ?2";
const APP_SERVERS: &str = "SELECT body FROM app_servers";
const HOME_PIN: &str = "SELECT version FROM home_pins WHERE codex_home = ?1";

/// One use of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleUse {
    pub rule: RuleId,
    pub ask: AskId,
    /// It may be removed by now.
    pub task: TaskId,
    /// Unix milliseconds.
    pub at: i64,
}

/// How large the database is, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    pub file: u64,
    /// Of the file: what can be written anew without it growing.
    pub free: u64,
    /// Each table with its indexes, the largest first.
    pub tables: Vec<TableSize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSize {
    pub table: String,
    pub bytes: u64,
}

impl Store {
    /// Those that hold at this moment, by id.
    pub async fn rules(&self, now: i64) -> Result<Vec<RuleRow>, StoreError> {
        let read = move |connection: &Connection| {
            let mut live = rows(connection, LASTING_RULES, [], rule)?;
            live.extend(rows(connection, EXPIRING_RULES, [now], rule)?);
            live.sort_by(|one, other| one.id.cmp(&other.id));
            Ok(live)
        };
        self.readers.read(read).await
    }

    /// The newest uses first.
    pub async fn rule_uses(&self, rule: &RuleId, most: usize) -> Result<Vec<RuleUse>, StoreError> {
        let key = (rule.as_str().to_owned(), limit(most));
        let read = |row: &Row<'_>| {
            Ok(RuleUse {
                rule: row.get::<_, String>(0)?.into(),
                ask: row.get::<_, String>(1)?.into(),
                task: row.get::<_, String>(2)?.into(),
                at: row.get(3)?,
            })
        };
        self.readers.read(move |connection| rows(connection, RULE_USES, key, read)).await
    }

    pub async fn app_servers(&self) -> Result<Vec<AppServerRow>, StoreError> {
        self.readers.read(|connection| bodies(connection, APP_SERVERS, [], "app-server")).await
    }

    /// The Codex version that this home stays with.
    pub async fn home_pin(&self, codex_home: &str) -> Result<Option<String>, StoreError> {
        let key = [codex_home.to_owned()];
        self.readers.read(move |connection| row(connection, HOME_PIN, key, |row| row.get(0))).await
    }

    /// Looks at every page, so it is for people who ask, not for each second.
    pub async fn sizes(&self) -> Result<Sizes, StoreError> {
        self.readers.read(sizes).await
    }
}

fn rule(row: &Row<'_>) -> rusqlite::Result<RuleRow> {
    let id = RuleId::new(row.get::<_, String>(0)?);
    Ok(RuleRow { id, expires_at: row.get(1)?, json: row.get(2)? })
}

fn sizes(connection: &Connection) -> Result<Sizes, StoreError> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, u64>(0));
    let page = number("PRAGMA page_size")?;
    let mut tables = BTreeMap::<String, u64>::new();
    let mut statement = connection.prepare(
        "SELECT coalesce(sqlite_schema.tbl_name, dbstat.name), dbstat.pgsize FROM dbstat \
         LEFT JOIN sqlite_schema ON sqlite_schema.name = dbstat.name WHERE dbstat.aggregate = TRUE",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        *tables.entry(row.get(0)?).or_default() += row.get::<_, u64>(1)?;
    }
    let mut tables: Vec<_> =
        tables.into_iter().map(|(table, bytes)| TableSize { table, bytes }).collect();
    tables.sort_by(|one, other| other.bytes.cmp(&one.bytes).then(one.table.cmp(&other.table)));
    Ok(Sizes {
        file: number("PRAGMA page_count")? * page,
        free: number("PRAGMA freelist_count")? * page,
        tables,
    })
}
