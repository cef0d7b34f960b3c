//! Tasks: one, those at work, those in the queue, those to be woken.

use std::collections::BTreeMap;

use ostler_model::{Task, TaskId, TaskState};
use rusqlite::Connection;

use super::{after_prefix, column, limit, parsed, readable, row, rows};
use crate::{StartKey, Store, StoreError};

pub(crate) const SQL: &[&str] = &[
    BY_ID,
    BY_NUMBER,
    BY_PREFIX,
    BY_KEY,
    COUNTS,
    UNFINISHED,
    UNTOLD,
    DUE,
    NEXT_WAKE,
    NEXT_STARTER,
    QUEUED_BY,
    AT_WORK_BY,
    AT_WORK,
];

const BY_ID: &str = "SELECT body, coalesce((SELECT max(seq) FROM events WHERE task = number), 0) \
     FROM tasks WHERE id = ?1";
const BY_NUMBER: &str = "SELECT body, coalesce((SELECT max(seq) FROM events WHERE task = number), 0) \
     FROM tasks WHERE number = ?1";
const BY_PREFIX: &str = "SELECT number FROM tasks WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
const BY_KEY: &str = "SELECT start_keys.digest, tasks.id FROM start_keys \
     JOIN tasks ON tasks.number = start_keys.task \
     WHERE start_keys.started_by = ?1 AND start_keys.key = ?2";
const COUNTS: &str = "SELECT state, tasks FROM task_counts";
const UNFINISHED: &str = "SELECT number FROM tasks WHERE is_over = 0 ORDER BY number";
const UNTOLD: &str = "SELECT number FROM tasks \
     WHERE is_over = 1 AND told_end IS NOT ended_at AND started_by = ?1 ORDER BY ended_at LIMIT ?2";
const DUE: &str = "SELECT number FROM tasks WHERE wake_at <= ?1 ORDER BY wake_at LIMIT ?2";
const NEXT_WAKE: &str = "SELECT wake_at FROM tasks WHERE wake_at > ?1 ORDER BY wake_at LIMIT 1";
const NEXT_STARTER: &str = "SELECT started_by FROM tasks \
     WHERE queued_at IS NOT NULL AND started_by > ?1 ORDER BY started_by LIMIT 1";
const QUEUED_BY: &str = "SELECT id, queued_at FROM tasks \
     WHERE queued_at IS NOT NULL AND started_by = ?1 ORDER BY queued_at, number LIMIT ?2";
const AT_WORK_BY: &str = "SELECT count(*) FROM tasks \
     WHERE is_over = 0 AND queued_at IS NULL AND state <> 'parked' AND started_by = ?1";
const AT_WORK: &str = "SELECT number FROM tasks \
     WHERE is_over = 0 AND queued_at IS NULL AND state <> 'parked' AND started_by >= ''";

/// How many tasks stand where. States without a task are not in it.
pub type Counts = BTreeMap<TaskState, u64>;

/// A task that waits for its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    pub task: TaskId,
    pub started_by: String,
    /// Unix milliseconds.
    pub since: i64,
}

impl Store {
    pub async fn task(&self, task: &TaskId) -> Result<Option<Task>, StoreError> {
        let task = task.clone();
        self.readers.read(move |connection| one(connection, BY_ID, [task.as_str()])).await
    }

    /// Tasks whose id begins so, by id.
    pub async fn tasks_by_prefix(
        &self,
        prefix: &str,
        most: usize,
    ) -> Result<Vec<Task>, StoreError> {
        let range = (prefix.to_owned(), after_prefix(prefix), limit(most));
        let numbers = move |connection: &Connection| {
            rows(connection, BY_PREFIX, range, |row| row.get::<_, i64>(0))
        };
        self.readers.read(move |connection| by_numbers(connection, numbers(connection)?)).await
    }

    /// The task that was started with this key.
    pub async fn started_with(
        &self,
        started_by: &str,
        key: &StartKey,
    ) -> Result<Option<TaskId>, StoreError> {
        let by_key = (started_by.to_owned(), key.key.clone());
        let find = move |connection: &Connection| {
            row(connection, BY_KEY, by_key, |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })
        };
        let Some((digest, task)) = self.readers.read(find).await? else { return Ok(None) };
        let task = TaskId::new(task);
        match digest == key.digest {
            true => Ok(Some(task)),
            false => Err(StoreError::KeyReused { key: key.key.clone(), task }),
        }
    }

    pub async fn counts(&self) -> Result<Counts, StoreError> {
        let count = |connection: &Connection| {
            let counts = rows(connection, COUNTS, [], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?))
            })?;
            let known = counts.into_iter().filter(|(_, tasks)| *tasks > 0);
            Ok(known
                .filter_map(|(state, tasks)| TaskState::from_name(&state).map(|s| (s, tasks)))
                .collect())
        };
        self.readers.read(count).await
    }

    /// All that are not over, oldest first.
    pub async fn unfinished(&self) -> Result<Vec<Task>, StoreError> {
        let find = |connection: &Connection| {
            let numbers = rows(connection, UNFINISHED, [], |row| row.get(0))?;
            by_numbers(connection, numbers)
        };
        self.readers.read(find).await
    }

    /// Those of which a turn runs or is about to: no more than may run at once.
    pub async fn at_work(&self) -> Result<Vec<Task>, StoreError> {
        let find = |connection: &Connection| {
            let numbers = rows(connection, AT_WORK, [], |row| row.get(0))?;
            by_numbers(connection, numbers)
        };
        self.readers.read(find).await
    }

    /// Tasks of this starter that have ended and of whose end it was not told, the oldest end first.
    pub async fn untold_ends(
        &self,
        started_by: &str,
        most: usize,
    ) -> Result<Vec<Task>, StoreError> {
        let key = (started_by.to_owned(), limit(most));
        let find = move |connection: &Connection| {
            let numbers = rows(connection, UNTOLD, key, |row| row.get(0))?;
            by_numbers(connection, numbers)
        };
        self.readers.read(find).await
    }

    /// Parked tasks whose time has come, the longest overdue first.
    pub async fn due(&self, now: i64, most: usize) -> Result<Vec<Task>, StoreError> {
        let find = move |connection: &Connection| {
            let numbers = rows(connection, DUE, (now, limit(most)), |row| row.get(0))?;
            by_numbers(connection, numbers)
        };
        self.readers.read(find).await
    }

    /// When the next parked task is to be woken after this moment.
    pub async fn next_wake(&self, now: i64) -> Result<Option<i64>, StoreError> {
        self.readers
            .read(move |connection| row(connection, NEXT_WAKE, [now], |row| row.get(0)))
            .await
    }

    /// The queue in its fair order: whoever has the fewest tasks at work or before this one comes first, then the oldest.
    ///
    /// So one person's thousand tasks do not keep another's first one waiting.
    pub async fn queued(&self, most: usize) -> Result<Vec<Queued>, StoreError> {
        self.readers.read(move |connection| fair_queue(connection, most)).await
    }
}

fn fair_queue(connection: &Connection, most: usize) -> Result<Vec<Queued>, StoreError> {
    let mut queue = Vec::new();
    let mut starter = Some(String::new());
    while let Some(started_by) = starter {
        let name = [started_by.as_str()];
        let at_work: i64 = row(connection, AT_WORK_BY, name, |row| row.get(0))?.unwrap_or(0);
        let own = rows(connection, QUEUED_BY, (&started_by, limit(most)), |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        })?;
        for (turn, (task, since)) in (at_work..).zip(own) {
            let started_by = started_by.clone();
            queue.push((turn, since, Queued { task: TaskId::new(task), started_by, since }));
        }
        starter = row(connection, NEXT_STARTER, name, |row| row.get(0))?;
    }
    // The sort is stable: of one starter, who came first stays first.
    queue.sort_by_key(|(turn, since, _)| (*turn, *since));
    Ok(queue.into_iter().map(|(_, _, queued)| queued).take(most).collect())
}

pub(super) fn by_numbers(
    connection: &Connection,
    numbers: Vec<i64>,
) -> Result<Vec<Task>, StoreError> {
    let tasks = numbers.into_iter().map(|number| one(connection, BY_NUMBER, [number]));
    tasks.filter_map(|task| readable(task).map(Option::flatten).transpose()).collect()
}

fn one(
    connection: &Connection,
    sql: &'static str,
    key: impl rusqlite::Params,
) -> Result<Option<Task>, StoreError> {
    let mut statement = crate::queries::prepare(connection, sql)?;
    let mut rows = statement.query(key)?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut task: Task = parsed(column(row, 0)?, "task")?;
    task.last_seq = row.get(1)?;
    Ok(Some(task))
}
