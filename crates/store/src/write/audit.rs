//! The audit log.

use ostler_model::AuditEntry;
use rusqlite::{Connection, params};

use crate::StoreError;
use crate::job::text;
use crate::queries::prepare;

pub(crate) const SQL: &[&str] = &[ADD, COUNT, KEPT, REMOVE_OLDEST, SEEN];

const ADD: &str =
    "INSERT INTO audit (at, kind, is_refusal, task, body) VALUES (?1, ?2, ?3, ?4, ?5)";
const COUNT: &str = "INSERT INTO audit_counts (kind, written, suppressed, kept) \
     VALUES (?1, 1, ?2, 1) ON CONFLICT (kind) DO UPDATE SET \
     written = written + 1, suppressed = suppressed + ?2, kept = kept + 1";
const KEPT: &str = "SELECT kept FROM audit_counts WHERE kind = ?1";
const REMOVE_OLDEST: &str = "DELETE FROM audit WHERE place IN \
     (SELECT place FROM audit WHERE kind = ?1 ORDER BY place LIMIT ?2)";
const SEEN: &str = "INSERT INTO audit_seen (id, up_to) VALUES (0, ?1) \
     ON CONFLICT (id) DO UPDATE SET up_to = max(up_to, ?1)";

/// Adds an entry, and removes the oldest of its kind when there are more than are kept.
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
    if extra > 0 {
        let extra = i64::try_from(extra).unwrap_or(i64::MAX);
        prepare(connection, REMOVE_OLDEST)?.execute(params![kind, extra])?;
    }
    Ok(())
}

pub(super) fn note_seen(connection: &Connection, up_to: i64) -> Result<(), StoreError> {
    prepare(connection, SEEN)?.execute([up_to])?;
    Ok(())
}
