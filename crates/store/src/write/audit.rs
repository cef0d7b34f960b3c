//! The audit log.

use std::collections::HashMap;

use ostler_model::AuditEntry;
use rusqlite::{Connection, params};
use serde::Deserialize;

use crate::StoreError;
use crate::job::text;
use crate::queries::prepare;

pub(crate) const SQL: &[&str] = &[ADD, COUNT, KEPT, OF_KIND, REMOVE, REMOVE_OLDEST, SEEN];

/// Refusals that go at once when there are too many: to find out whose, all of the kind are read.
const REMOVED_AT_ONCE: u64 = 100;

const ADD: &str =
    "INSERT INTO audit (at, kind, is_refusal, task, body) VALUES (?1, ?2, ?3, ?4, ?5)";
const COUNT: &str = "INSERT INTO audit_counts (kind, written, suppressed, kept) \
     VALUES (?1, 1, ?2, 1) ON CONFLICT (kind) DO UPDATE SET \
     written = written + 1, suppressed = suppressed + ?2, kept = kept + 1";
const KEPT: &str = "SELECT kept FROM audit_counts WHERE kind = ?1";
const OF_KIND: &str = "SELECT place, body FROM audit WHERE kind = ?1 ORDER BY place";
const REMOVE: &str = "DELETE FROM audit WHERE place = ?1";
const REMOVE_OLDEST: &str = "DELETE FROM audit WHERE place IN \
     (SELECT place FROM audit WHERE kind = ?1 ORDER BY place LIMIT ?2)";
const SEEN: &str = "INSERT INTO audit_seen (id, up_to) VALUES (0, ?1) \
     ON CONFLICT (id) DO UPDATE SET up_to = max(up_to, ?1)";

/// Adds an entry. When there are more of its kind than are kept, the oldest decisions go, or the oldest refusals of whoever has most:
/// so nobody drives out what others were refused.
pub(super) fn add(connection: &Connection, entry: &AuditEntry) -> Result<(), StoreError> {
    let kind = entry.kind.name();
    let task = entry.task.as_ref().map(|task| task.as_str());
    let body = text(entry, "audit entry")?;
    let row = params![entry.at, kind, entry.kind.is_refusal(), task, body];
    prepare(connection, ADD)?.execute(row)?;
    let suppressed = i64::try_from(entry.suppressed).unwrap_or(i64::MAX);
    prepare(connection, COUNT)?.execute(params![kind, suppressed])?;
    let kept: u64 = prepare(connection, KEPT)?.query_row([kind], |row| row.get(0))?;
    let extra = kept.saturating_sub(entry.kind.most_kept());
    if extra > 0 && entry.kind.is_refusal() {
        remove_of_most(connection, kind)?;
    } else if extra > 0 {
        let extra = i64::try_from(extra).unwrap_or(i64::MAX);
        prepare(connection, REMOVE_OLDEST)?.execute(params![kind, extra])?;
    }
    Ok(())
}

/// Of an entry, all that is looked at.
#[derive(Deserialize)]
struct OfOrigin {
    #[serde(default)]
    origin: String,
}

/// Removes the oldest entries of the origin that has most of this kind. All that nobody is known for are of one origin.
fn remove_of_most(connection: &Connection, kind: &str) -> Result<(), StoreError> {
    let mut places: HashMap<String, Vec<i64>> = HashMap::new();
    let mut statement = prepare(connection, OF_KIND)?;
    let mut rows = statement.query([kind])?;
    while let Some(row) = rows.next()? {
        let (place, body): (i64, String) = (row.get(0)?, row.get(1)?);
        let of = serde_json::from_str::<OfOrigin>(&body).map(|it| it.origin).unwrap_or_default();
        places.entry(of).or_default().push(place);
    }
    let most = places.into_values().max_by_key(Vec::len).unwrap_or_default();
    let mut remove = prepare(connection, REMOVE)?;
    for place in most.iter().take(usize::try_from(REMOVED_AT_ONCE).unwrap_or(usize::MAX)) {
        remove.execute([place])?;
    }
    Ok(())
}

pub(super) fn note_seen(connection: &Connection, up_to: i64) -> Result<(), StoreError> {
    prepare(connection, SEEN)?.execute([up_to])?;
    Ok(())
}
