//! The outbox.

use ostler_model::{DeliveryId, Notification, TaskId};
use rusqlite::named_params;

use super::Writer;
use crate::job::text;
use crate::queries::prepare;
use crate::read::notifications::{BY_ID, one};
use crate::{StoreError, read};

pub(crate) const SQL: &[&str] = &[ADD, TRIED, REPLAY, READ, READ_OF];

// The same occasion may be told again by whoever was killed in between: the first one counts.
const ADD: &str = "INSERT INTO notifications (id, task, target, state, at, due_at, is_unread, body) \
     VALUES (:id, :task, :target, :state, :at, :due_at, :is_unread, :body) \
     ON CONFLICT (id) DO NOTHING";
// Its task may be gone, and it with it; and what was settled stays so.
const TRIED: &str = "UPDATE notifications \
     SET state = :state, due_at = :due_at, is_unread = :is_unread, body = :body \
     WHERE id = :id AND state = 'pending'";
const REPLAY: &str = "UPDATE notifications SET state = :state, due_at = :due_at, \
     is_unread = :is_unread, body = :body WHERE id = :id";
const READ: &str = "UPDATE notifications SET is_unread = 0 WHERE is_unread = 1 AND place <= ?1";
const READ_OF: &str = "UPDATE notifications SET is_unread = 0 \
     WHERE is_unread = 1 AND place <= ?1 AND task = (SELECT number FROM tasks WHERE id = ?2)";

impl Writer<'_> {
    pub(super) fn add_notification(&mut self, row: &Notification) -> Result<(), StoreError> {
        let task = self.number(&row.task)?;
        prepare(self.connection, ADD)?.execute(named_params! {
            ":id": row.id.as_str(),
            ":task": task,
            ":target": row.target,
            ":state": row.state.name(),
            ":at": row.at,
            ":due_at": row.due_at,
            ":is_unread": row.is_unread,
            ":body": text(row, "notification")?,
        })?;
        Ok(())
    }

    pub(super) fn put_tried(&self, row: &Notification) -> Result<(), StoreError> {
        self.change_notification(TRIED, row)
    }

    /// One that is about to be sent, or that nobody can be sent, stays as it is.
    pub(super) fn replay_notification(&self, id: &DeliveryId, at: i64) -> Result<(), StoreError> {
        let found = read::row(self.connection, BY_ID, [id.as_str()], one)?;
        let (_, mut row) = found.ok_or_else(|| StoreError::NoNotification(id.clone()))??;
        match row.replay(at) {
            true => self.change_notification(REPLAY, &row),
            false => Ok(()),
        }
    }

    /// Whoever looked has seen all up to this place.
    pub(super) fn read_notifications(
        &self,
        up_to: i64,
        task: Option<&TaskId>,
    ) -> Result<(), StoreError> {
        match task {
            None => prepare(self.connection, READ)?.execute([up_to])?,
            Some(task) => prepare(self.connection, READ_OF)?.execute((up_to, task.as_str()))?,
        };
        Ok(())
    }

    fn change_notification(&self, sql: &'static str, row: &Notification) -> Result<(), StoreError> {
        prepare(self.connection, sql)?.execute(named_params! {
            ":id": row.id.as_str(),
            ":state": row.state.name(),
            ":due_at": row.due_at,
            ":is_unread": row.is_unread,
            ":body": text(row, "notification")?,
        })?;
        Ok(())
    }
}
