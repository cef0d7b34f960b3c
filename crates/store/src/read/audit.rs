//! The audit log.

use ostler_model::TaskId;
use ostler_model::audit::{AuditEntry, AuditKind};
use rusqlite::{Connection, Params, Row};
use serde::{Deserialize, Serialize};

use super::{limit, parsed, readable, row, rows};
use crate::{Store, StoreError};

pub(crate) const SQL: &[&str] = &[ALL, OF_KIND, REFUSALS, OF_TASK, AFTER, UNSEEN, COUNTS, NEWEST];

const ALL: &str = "SELECT place, body FROM audit WHERE place < ?1 ORDER BY place DESC LIMIT ?2";
const OF_KIND: &str =
    "SELECT place, body FROM audit WHERE kind = ?3 AND place < ?1 ORDER BY place DESC LIMIT ?2";
const REFUSALS: &str = "SELECT place, body FROM audit WHERE is_refusal = 1 AND place < ?1 ORDER BY place DESC LIMIT ?2";
const OF_TASK: &str =
    "SELECT place, body FROM audit WHERE task = ?3 AND place < ?1 ORDER BY place DESC LIMIT ?2";
const AFTER: &str = "SELECT place, body FROM audit WHERE place > ?1 ORDER BY place LIMIT ?2";
// Somebody who has never looked has seen nothing.
const UNSEEN: &str = "SELECT count(*) FROM audit WHERE is_refusal = 1 \
     AND place > (SELECT coalesce(max(up_to), 0) FROM audit_seen WHERE id = 0)";
const COUNTS: &str = "SELECT kind, written, suppressed FROM audit_counts";
const NEWEST: &str = "SELECT max(place) FROM audit";

/// Which entries are wanted. All of it must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub kind: Option<AuditKind>,
    pub only_refusals: bool,
    pub task: Option<TaskId>,
    /// A part of who it was.
    pub who: Option<String>,
    /// Unix milliseconds.
    pub since: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedAudit {
    /// To go on from.
    pub number: i64,
    #[serde(flatten)]
    pub entry: AuditEntry,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    pub entries: Vec<PlacedAudit>,
    /// Where the next page begins, if there may be one.
    pub next: Option<i64>,
}

/// How many entries of a kind there ever were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditCount {
    pub written: u64,
    /// Not written down, because there were too many at once.
    pub suppressed: u64,
}

impl AuditFilter {
    fn takes(&self, entry: &AuditEntry) -> bool {
        self.kind.is_none_or(|kind| kind == entry.kind)
            && (!self.only_refusals || entry.kind.is_refusal())
            && self.task.as_ref().is_none_or(|task| Some(task) == entry.task.as_ref())
            && self.who.as_ref().is_none_or(|who| entry.who.contains(who.as_str()))
            && self.since.is_none_or(|since| entry.at >= since)
    }
}

impl Store {
    /// The newest first, those before this place. A page may have fewer than fit: so many are looked at.
    pub async fn audit(
        &self,
        filter: &AuditFilter,
        before: Option<i64>,
        most: usize,
    ) -> Result<AuditPage, StoreError> {
        let (before, many) = (before.unwrap_or(i64::MAX), limit(most));
        let task = filter.task.as_ref().map(|task| task.as_str().to_owned());
        let found = match (task, filter.kind) {
            (Some(task), _) => self.read_audit(OF_TASK, (before, many, task)).await?,
            (None, Some(kind)) => self.read_audit(OF_KIND, (before, many, kind.name())).await?,
            (None, None) if filter.only_refusals => {
                self.read_audit(REFUSALS, (before, many)).await?
            }
            (None, None) => self.read_audit(ALL, (before, many)).await?,
        };
        let last = found.last();
        // What is older than is wanted ends the list.
        let is_over = last.is_some_and(|it| filter.since.is_some_and(|since| it.entry.at < since));
        let next = (found.len() == most && !is_over).then(|| last.map(|it| it.number)).flatten();
        let entries = found.into_iter().filter(|it| filter.takes(&it.entry)).collect();
        Ok(AuditPage { entries, next })
    }

    /// The oldest first, those after this place, and the last place that was looked at.
    pub async fn audit_after(
        &self,
        filter: &AuditFilter,
        after: i64,
        most: usize,
    ) -> Result<AuditPage, StoreError> {
        let found = self.read_audit(AFTER, (after, limit(most))).await?;
        let next = found.last().map(|it| it.number);
        let entries = found.into_iter().filter(|it| filter.takes(&it.entry)).collect();
        Ok(AuditPage { entries, next })
    }

    /// Refusals that nobody has looked at.
    pub async fn unseen_audit(&self) -> Result<u64, StoreError> {
        let count = |connection: &Connection| row(connection, UNSEEN, [], |row| row.get(0));
        Ok(self.readers.read(count).await?.unwrap_or(0))
    }

    /// The place of the newest entry; 0 if there is none.
    pub async fn newest_audit(&self) -> Result<i64, StoreError> {
        let newest = |connection: &Connection| {
            row(connection, NEWEST, [], |row| row.get::<_, Option<i64>>(0))
        };
        Ok(self.readers.read(newest).await?.flatten().unwrap_or(0))
    }

    /// Of each kind that there ever was.
    pub async fn audit_counts(&self) -> Result<Vec<(AuditKind, AuditCount)>, StoreError> {
        let one = |row: &Row<'_>| {
            let count = AuditCount { written: row.get(1)?, suppressed: row.get(2)? };
            Ok((row.get::<_, String>(0)?, count))
        };
        let found = self.readers.read(move |connection| rows(connection, COUNTS, [], one)).await?;
        let known =
            |(name, count): (String, AuditCount)| Some((AuditKind::from_name(&name)?, count));
        Ok(found.into_iter().filter_map(known).collect())
    }

    async fn read_audit(
        &self,
        sql: &'static str,
        key: impl Params + Send + 'static,
    ) -> Result<Vec<PlacedAudit>, StoreError> {
        let find = move |connection: &Connection| -> Result<Vec<PlacedAudit>, StoreError> {
            let found = rows(connection, sql, key, one)?;
            found.into_iter().filter_map(|found| readable(found).transpose()).collect()
        };
        self.readers.read(find).await
    }
}

fn one(row: &Row<'_>) -> rusqlite::Result<Result<PlacedAudit, StoreError>> {
    let (number, body): (i64, String) = (row.get(0)?, row.get(1)?);
    let parsed = parsed::<AuditEntry>(&body, "audit entry");
    Ok(parsed.map(|entry| PlacedAudit { number, entry }))
}
