//! The outbox.

use ostler_model::notification::State;
use ostler_model::{DeliveryId, Notification, TaskId};
use rusqlite::{Connection, Params, Row};

use super::{after_prefix, limit, parsed, readable, row, rows};
use crate::{Store, StoreError};

pub(crate) const SQL: &[&str] = &[
    BY_ID,
    BY_PREFIX,
    ALL,
    IN_STATE,
    OF_TASK,
    OF_TASK_IN_STATE,
    UNREAD,
    UNREAD_COUNT,
    NEXT_TARGET,
    DUE_OF,
    NEXT_DUE,
];

pub(crate) const BY_ID: &str = "SELECT place, is_unread, body FROM notifications WHERE id = ?1";
const BY_PREFIX: &str = "SELECT place, is_unread, body FROM notifications \
     WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
const ALL: &str = "SELECT place, is_unread, body FROM notifications \
     WHERE place < ?1 ORDER BY place DESC LIMIT ?2";
const IN_STATE: &str = "SELECT place, is_unread, body FROM notifications \
     WHERE place < ?1 AND state = ?3 ORDER BY place DESC LIMIT ?2";
const OF_TASK: &str = "SELECT place, is_unread, body FROM notifications WHERE place < ?1 \
     AND task = (SELECT number FROM tasks WHERE id = ?3) ORDER BY place DESC LIMIT ?2";
const OF_TASK_IN_STATE: &str = "SELECT place, is_unread, body FROM notifications WHERE place < ?1 \
     AND task = (SELECT number FROM tasks WHERE id = ?3) AND +state = ?4 \
     ORDER BY place DESC LIMIT ?2";
const UNREAD: &str = "SELECT place, is_unread, body FROM notifications \
     WHERE is_unread = 1 AND place < ?1 ORDER BY place DESC LIMIT ?2";
const UNREAD_COUNT: &str = "SELECT count(*) FROM notifications WHERE is_unread = 1";
const NEXT_TARGET: &str = "SELECT target FROM notifications \
     WHERE due_at IS NOT NULL AND target > ?1 ORDER BY target LIMIT 1";
const DUE_OF: &str = "SELECT place, is_unread, body FROM notifications \
     WHERE due_at IS NOT NULL AND target = ?1 AND due_at <= ?2 ORDER BY due_at, place LIMIT ?3";
const NEXT_DUE: &str = "SELECT due_at FROM notifications WHERE due_at > ?1 ORDER BY due_at LIMIT 1";

/// Which rows of the outbox are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotificationFilter {
    pub task: Option<TaskId>,
    pub state: Option<State>,
    /// Only those that are shown here and that nobody has looked at; of all tasks and states.
    pub is_unread: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NotificationPage {
    /// The newest first.
    pub notifications: Vec<Notification>,
    /// The place of the newest, by which it is said what was looked at.
    pub newest: Option<i64>,
    /// Where the next page begins, if there may be one.
    pub next: Option<i64>,
}

impl Store {
    pub async fn notification(&self, id: &DeliveryId) -> Result<Option<Notification>, StoreError> {
        let found = self.read_notifications(BY_ID, [id.as_str().to_owned()]).await?;
        Ok(found.into_iter().next().map(|(_, row)| row))
    }

    /// Those whose id begins so, by id.
    pub async fn notifications_by_prefix(
        &self,
        prefix: &str,
        most: usize,
    ) -> Result<Vec<Notification>, StoreError> {
        let range = (prefix.to_owned(), after_prefix(prefix), limit(most));
        let found = self.read_notifications(BY_PREFIX, range).await?;
        Ok(found.into_iter().map(|(_, row)| row).collect())
    }

    /// The newest first, those before this place.
    pub async fn notifications(
        &self,
        filter: &NotificationFilter,
        before: Option<i64>,
        most: usize,
    ) -> Result<NotificationPage, StoreError> {
        let (before, many) = (before.unwrap_or(i64::MAX), limit(most));
        let task = filter.task.as_ref().map(|task| task.as_str().to_owned());
        let state = filter.state.map(State::name);
        let found = match (task, state) {
            _ if filter.is_unread => self.read_notifications(UNREAD, (before, many)).await?,
            (None, None) => self.read_notifications(ALL, (before, many)).await?,
            (None, Some(state)) => self.read_notifications(IN_STATE, (before, many, state)).await?,
            (Some(task), None) => self.read_notifications(OF_TASK, (before, many, task)).await?,
            (Some(task), Some(state)) => {
                self.read_notifications(OF_TASK_IN_STATE, (before, many, task, state)).await?
            }
        };
        let next = if found.len() < most { None } else { found.last().map(|(place, _)| *place) };
        let newest = found.first().map(|(place, _)| *place);
        let notifications = found.into_iter().map(|(_, row)| row).collect();
        Ok(NotificationPage { notifications, newest, next })
    }

    /// Those that nobody has looked at.
    pub async fn unread_notifications(&self) -> Result<u64, StoreError> {
        let count = |connection: &Connection| row(connection, UNREAD_COUNT, [], |row| row.get(0));
        Ok(self.readers.read(count).await?.unwrap_or(0))
    }

    /// Those whose time has come, no more than so many of one target: one that does not answer holds no other up. Who waits
    /// longest is first.
    pub async fn due_notifications(
        &self,
        now: i64,
        most_per_target: usize,
    ) -> Result<Vec<Notification>, StoreError> {
        let find = move |connection: &Connection| {
            let mut due = Vec::new();
            let mut last = String::new();
            let next =
                |last: &str| row(connection, NEXT_TARGET, [last], |row| row.get::<_, String>(0));
            while let Some(target) = next(&last)? {
                let key = (target.as_str(), now, limit(most_per_target));
                due.extend(readable_rows(rows(connection, DUE_OF, key, one)?)?);
                last = target;
            }
            due.sort_by_key(|(place, row)| (row.due_at, *place));
            Ok(due.into_iter().map(|(_, row)| row).collect())
        };
        self.readers.read(find).await
    }

    /// When the next one is due after this moment.
    pub async fn next_due_notification(&self, now: i64) -> Result<Option<i64>, StoreError> {
        let find =
            move |connection: &Connection| row(connection, NEXT_DUE, [now], |row| row.get(0));
        self.readers.read(find).await
    }

    async fn read_notifications(
        &self,
        sql: &'static str,
        key: impl Params + Send + 'static,
    ) -> Result<Vec<(i64, Notification)>, StoreError> {
        let find = move |connection: &Connection| readable_rows(rows(connection, sql, key, one)?);
        self.readers.read(find).await
    }
}

type Found = Result<(i64, Notification), StoreError>;

/// What was looked at is in a column of its own: the row is not written anew for that.
pub(crate) fn one(row: &Row<'_>) -> rusqlite::Result<Found> {
    let (place, is_unread, body): (i64, bool, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let parsed = parsed::<Notification>(&body, "notification");
    Ok(parsed.map(|notification| (place, Notification { is_unread, ..notification })))
}

/// One that cannot be read does not hide the others.
fn readable_rows(found: Vec<Found>) -> Result<Vec<(i64, Notification)>, StoreError> {
    found.into_iter().filter_map(|found| readable(found).transpose()).collect()
}
