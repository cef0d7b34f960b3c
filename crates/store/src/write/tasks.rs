//! Tasks, and the keys they are started with.

use ostler_model::{Task, TaskId, TaskState};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::{Stop, Writer};
use crate::job::text;
use crate::queries::prepare;
use crate::secrets::{erasing, task_has_any};
use crate::{StartKey, StoreError};

pub(crate) const SQL: &[&str] = &[
    PLACE,
    KEY,
    ADD_KEY,
    ADD,
    PUT,
    TOLD,
    REMOVE,
    LEAVE,
    NO_INTENTS,
    NO_ASKS,
    NO_TURNS,
    NO_PARTIALS,
    NO_KEYS,
    NO_NOTIFICATIONS,
];

const PLACE: &str = "SELECT number, coalesce((SELECT max(seq) FROM events WHERE task = number), 0) \
     FROM tasks WHERE id = ?1";
const KEY: &str = "SELECT start_keys.digest, tasks.id FROM start_keys \
     JOIN tasks ON tasks.number = start_keys.task \
     WHERE start_keys.started_by = ?1 AND start_keys.key = ?2";
const ADD_KEY: &str =
    "INSERT INTO start_keys (started_by, key, digest, task) VALUES (?1, ?2, ?3, ?4)";
const ADD: &str = "INSERT INTO tasks \
     (id, state, is_over, cwd, started_by, updated_at, queued_at, wake_at, ended_at, body) \
     VALUES (:id, :state, :is_over, :cwd, :started_by, :updated_at, :queued_at, :wake_at, :ended_at, :body) \
     ON CONFLICT DO NOTHING";
// Who is in the queue keeps its place there, whatever else is written of it.
const PUT: &str = "UPDATE tasks SET \
     state = :state, is_over = :is_over, cwd = :cwd, started_by = :started_by, updated_at = :updated_at, \
     queued_at = CASE WHEN :queued_at IS NOT NULL THEN coalesce(queued_at, :queued_at) END, \
     wake_at = :wake_at, ended_at = :ended_at, body = :body WHERE id = :id";
const TOLD: &str =
    "UPDATE tasks SET told_end = ?3 WHERE id = ?1 AND started_by = ?2 AND ended_at = ?3";
const REMOVE: &str = "DELETE FROM tasks WHERE number = ?1";
const LEAVE: &str = "INSERT INTO leftovers (task) VALUES (?1)";
const NO_INTENTS: &str = "DELETE FROM intents WHERE task = ?1";
const NO_ASKS: &str = "DELETE FROM asks WHERE task = ?1";
const NO_TURNS: &str = "DELETE FROM turns WHERE task = ?1";
const NO_PARTIALS: &str = "DELETE FROM partials WHERE task = ?1";
const NO_KEYS: &str = "DELETE FROM start_keys WHERE task = ?1";
const NO_NOTIFICATIONS: &str = "DELETE FROM notifications WHERE task = ?1";

/// A task's number and the seq of its newest event.
pub(crate) fn place_of(connection: &Connection, task: &TaskId) -> Result<(i64, i64), StoreError> {
    prepare(connection, PLACE)?
        .query_row([task.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?
        .ok_or_else(|| StoreError::NoTask(task.clone()))
}

impl Writer<'_> {
    pub(super) fn add_task(&mut self, task: &Task, key: Option<&StartKey>) -> Result<(), Stop> {
        if let Some(key) = key {
            self.check_key(&task.started_by, key)?;
        }
        if self.write_task(ADD, task)? == 0 {
            return Err(StoreError::TaskIdTaken(task.id.clone()).into());
        }
        if let Some(StartKey { key, digest }) = key {
            let number = self.number(&task.id)?;
            prepare(self.connection, ADD_KEY)?.execute(params![
                task.started_by,
                key,
                digest,
                number
            ])?;
        }
        Ok(())
    }

    pub(super) fn put_task(&mut self, task: &Task) -> Result<(), StoreError> {
        match self.write_task(PUT, task)? {
            0 => Err(StoreError::NoTask(task.id.clone())),
            _ => Ok(()),
        }
    }

    pub(super) fn note_end_told(
        &self,
        task: &TaskId,
        started_by: &str,
        ended_at: i64,
    ) -> Result<(), StoreError> {
        prepare(self.connection, TOLD)?.execute(params![task.as_str(), started_by, ended_at])?;
        Ok(())
    }

    /// The task itself and all that is small or secret goes at once; its log, which can be long, bit by bit afterwards.
    pub(super) fn remove_task(&mut self, task: &TaskId) -> Result<(), StoreError> {
        let number = self.number(task)?;
        self.cleared_a_secret |= self.remove_number(number)?;
        self.forget(task);
        Ok(())
    }

    /// Whether a secret may have been among it.
    pub(crate) fn remove_number(&mut self, number: i64) -> Result<bool, StoreError> {
        let connection = self.connection;
        let had_a_secret = task_has_any(connection, number)?;
        let remove = || -> Result<(), StoreError> {
            for sql in [NO_INTENTS, NO_ASKS] {
                prepare(connection, sql)?.execute([number])?;
            }
            Ok(())
        };
        if had_a_secret {
            erasing(connection, remove)?;
        } else {
            remove()?;
        }
        for sql in [NO_TURNS, NO_PARTIALS, NO_KEYS, NO_NOTIFICATIONS, LEAVE, REMOVE] {
            prepare(connection, sql)?.execute([number])?;
        }
        Ok(had_a_secret)
    }

    fn check_key(&self, started_by: &str, key: &StartKey) -> Result<(), Stop> {
        let known: Option<(String, String)> = prepare(self.connection, KEY)?
            .query_row([started_by, key.key.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((digest, task)) = known else { return Ok(()) };
        let task = TaskId::new(task);
        if digest == key.digest {
            return Err(Stop::Known(task));
        }
        Err(StoreError::KeyReused { key: key.key.clone(), task }.into())
    }

    fn write_task(&self, sql: &'static str, task: &Task) -> Result<usize, StoreError> {
        let body = text(task, "task")?;
        let is_queued = task.state == TaskState::Queued;
        let is_parked = task.state == TaskState::Parked;
        let is_over = task.state.is_over();
        Ok(prepare(self.connection, sql)?.execute(named_params! {
            ":id": task.id.as_str(),
            ":state": task.state.name(),
            ":is_over": is_over,
            ":cwd": task.settings.cwd,
            ":started_by": task.started_by,
            ":updated_at": task.updated_at,
            ":queued_at": is_queued.then_some(task.updated_at),
            ":wake_at": task.wake_at.filter(|_| is_parked),
            ":ended_at": is_over.then(|| task.ended_at.unwrap_or(task.updated_at)),
            ":body": body,
        })?)
    }
}
