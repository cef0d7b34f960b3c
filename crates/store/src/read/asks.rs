//! Asks and intents. Secrets are not among what is read, except where it says so.

use ostler_model::task::{AskRecord, Intent, Wish};
use ostler_model::{AskId, Decision, IntentId, TaskId};
use rusqlite::{Connection, Params};

use super::{after_prefix, bodies, column, limit, parsed, readable, rows};
use crate::queries::prepare;
use crate::{Store, StoreError};

pub(crate) const SQL: &[&str] = &[
    ASK,
    ASKS_BY_PREFIX,
    UNDECIDED,
    UNDECIDED_OF,
    ASKS_OF,
    OWED,
    INTENT,
    INTENTS_OF,
    OPEN_INTENTS,
    OPEN_INTENTS_OF,
];

const ASK: &str = "SELECT body FROM asks WHERE id = ?1";
const ASKS_BY_PREFIX: &str =
    "SELECT body FROM asks WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
const UNDECIDED: &str = "SELECT body FROM asks WHERE is_undecided = 1 ORDER BY place";
const UNDECIDED_OF: &str = "SELECT body FROM asks WHERE is_undecided = 1 \
     AND task = (SELECT number FROM tasks WHERE id = ?1) ORDER BY place";
const ASKS_OF: &str = "SELECT body FROM asks \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) ORDER BY place";
const OWED: &str = "SELECT body, secret FROM asks WHERE id = ?1";
const INTENT: &str = "SELECT body FROM intents WHERE id = ?1";
const INTENTS_OF: &str = "SELECT body FROM intents \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) ORDER BY place";
const OPEN_INTENTS: &str =
    "SELECT body, secret FROM intents WHERE is_open = 1 ORDER BY task, place";
const OPEN_INTENTS_OF: &str = "SELECT body, secret FROM intents WHERE is_open = 1 \
     AND task = (SELECT number FROM tasks WHERE id = ?1) ORDER BY place";

impl Store {
    pub async fn ask(&self, ask: &AskId) -> Result<Option<AskRecord>, StoreError> {
        Ok(self.read_asks(ASK, [ask.as_str().to_owned()]).await?.pop())
    }

    /// Asks whose id begins so, by id.
    pub async fn asks_by_prefix(
        &self,
        prefix: &str,
        most: usize,
    ) -> Result<Vec<AskRecord>, StoreError> {
        let range = (prefix.to_owned(), after_prefix(prefix), limit(most));
        self.read_asks(ASKS_BY_PREFIX, range).await
    }

    /// All that somebody may still decide, open and parked, oldest first.
    pub async fn undecided_asks(&self) -> Result<Vec<AskRecord>, StoreError> {
        self.readers.read(|connection| readable_asks(connection, UNDECIDED)).await
    }

    pub async fn undecided_asks_of(&self, task: &TaskId) -> Result<Vec<AskRecord>, StoreError> {
        self.read_asks(UNDECIDED_OF, [task.as_str().to_owned()]).await
    }

    pub async fn asks_of(&self, task: &TaskId) -> Result<Vec<AskRecord>, StoreError> {
        self.read_asks(ASKS_OF, [task.as_str().to_owned()]).await
    }

    /// The decision on an ask with its secrets, as it is to be given to Codex. For nobody's eyes.
    pub async fn owed_decision(&self, ask: &AskId) -> Result<Option<Decision>, StoreError> {
        let ask = ask.as_str().to_owned();
        self.readers.read(move |connection| owed(connection, &ask)).await
    }

    pub async fn intent(&self, intent: &IntentId) -> Result<Option<Intent>, StoreError> {
        let key = [intent.as_str().to_owned()];
        let read = move |connection: &Connection| bodies(connection, INTENT, key, "intent");
        Ok(self.readers.read(read).await?.pop())
    }

    /// All intents of a task in the order in which they came, with what became of them.
    pub async fn intents(&self, task: &TaskId) -> Result<Vec<Intent>, StoreError> {
        let key = [task.as_str().to_owned()];
        self.readers.read(move |connection| bodies(connection, INTENTS_OF, key, "intent")).await
    }

    /// What we owe, of all tasks, with the secrets of answers. For nobody's eyes.
    pub async fn open_intents(&self) -> Result<Vec<Intent>, StoreError> {
        self.readers.read(|connection| open_intents(connection, OPEN_INTENTS, [])).await
    }

    /// What we owe this task, with the secrets of answers. For nobody's eyes.
    pub async fn open_intents_of(&self, task: &TaskId) -> Result<Vec<Intent>, StoreError> {
        let key = [task.as_str().to_owned()];
        self.readers.read(move |connection| open_intents(connection, OPEN_INTENTS_OF, key)).await
    }

    async fn read_asks(
        &self,
        sql: &'static str,
        key: impl Params + Send + 'static,
    ) -> Result<Vec<AskRecord>, StoreError> {
        self.readers.read(move |connection| bodies(connection, sql, key, "ask")).await
    }
}

/// Of all tasks.
fn readable_asks(connection: &Connection, sql: &'static str) -> Result<Vec<AskRecord>, StoreError> {
    let bodies = rows(connection, sql, [], |row| row.get::<_, String>(0))?;
    let asks = bodies.iter().map(|body| readable(parsed(body, "ask")));
    asks.filter_map(Result::transpose).collect()
}

fn owed(connection: &Connection, ask: &str) -> Result<Option<Decision>, StoreError> {
    let mut statement = prepare(connection, OWED)?;
    let mut rows = statement.query([ask])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    if let Some(secret) = row.get::<_, Option<String>>(1)? {
        return parsed(&secret, "decision").map(Some);
    }
    let ask: AskRecord = parsed(column(row, 0)?, "ask")?;
    Ok(ask.decision.map(|record| record.decision))
}

fn open_intents(
    connection: &Connection,
    sql: &'static str,
    key: impl Params,
) -> Result<Vec<Intent>, StoreError> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(key)?;
    let mut intents = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(mut intent) = readable(parsed::<Intent>(column(row, 0)?, "intent"))? else {
            continue;
        };
        let secret: Option<String> = row.get(1)?;
        if let (Some(secret), Wish::Answer { decision, .. }) = (secret, &mut intent.wish) {
            *decision = parsed(&secret, "decision")?;
        }
        intents.push(intent);
    }
    Ok(intents)
}
