//! One piece of a sweep: a transaction of bounded work.

use ostler_model::TaskId;
use rusqlite::{Connection, Row};

use super::{Phase, Step, Stepped};
use crate::StoreError;
use crate::queries::prepare;
use crate::read::{row, rows};
use crate::write::Writer;
use crate::writer::group::{Tenure, transact};

pub(crate) const SQL: &[&str] = &[
    TOO_OLD,
    TOO_MANY,
    COUNT,
    USES,
    HOST_ASKS,
    NOTIFICATIONS,
    AUDIT,
    LEFT,
    LEFT_ITEMS,
    LEFT_MESSAGES,
    LEFT_EVENTS,
    HOLD_PLACE,
    HELD_BEFORE,
    CLEARED,
];

/// Rows that one transaction removes: some milliseconds.
const MOST_ROWS: i64 = 1000;
/// Tasks that one transaction removes, each with its asks, intents and turns.
const MOST_TASKS: i64 = 50;
/// Pages that one transaction gives back.
const MOST_PAGES: i64 = 500;
/// Free pages that stay, because they will be wanted again soon: 4 MB.
const SPARE_PAGES: i64 = 1000;

// What was just sent to a task that is over is on disk before the task is at work again, and somebody was told so.
const TOO_OLD: &str = "SELECT number, id FROM tasks WHERE is_over = 1 AND ended_at < ?1 \
     AND NOT EXISTS (SELECT 1 FROM intents WHERE is_open = 1 AND task = tasks.number) \
     ORDER BY ended_at, number LIMIT ?2";
const TOO_MANY: &str = "SELECT number, id FROM tasks WHERE is_over = 1 AND state = ?1 \
     AND NOT EXISTS (SELECT 1 FROM intents WHERE is_open = 1 AND task = tasks.number) \
     ORDER BY ended_at, number LIMIT ?2";
const COUNT: &str = "SELECT tasks FROM task_counts WHERE state = ?1";
const USES: &str = "DELETE FROM rule_uses WHERE place IN \
     (SELECT place FROM rule_uses WHERE at < ?1 ORDER BY at LIMIT ?2)";
const HOST_ASKS: &str = "DELETE FROM host_asks WHERE place IN \
     (SELECT place FROM host_asks WHERE is_undecided = 0 AND opened_at < ?1 \
     ORDER BY opened_at LIMIT ?2)";
const NOTIFICATIONS: &str = "DELETE FROM notifications WHERE place IN \
     (SELECT place FROM notifications WHERE due_at IS NULL AND at < ?1 ORDER BY at LIMIT ?2)";
const AUDIT: &str = "DELETE FROM audit WHERE place IN \
     (SELECT place FROM audit WHERE at < ?1 ORDER BY at LIMIT ?2)";
const LEFT: &str = "SELECT task FROM leftovers ORDER BY task LIMIT 1";
const LEFT_ITEMS: &str = "DELETE FROM items WHERE place IN \
     (SELECT place FROM items WHERE task = ?1 ORDER BY place LIMIT ?2)";
const LEFT_MESSAGES: &str = "DELETE FROM messages WHERE place IN \
     (SELECT place FROM messages WHERE task = ?1 ORDER BY place LIMIT ?2)";
const LEFT_EVENTS: &str = "DELETE FROM events WHERE place IN \
     (SELECT place FROM events WHERE task = ?1 ORDER BY seq LIMIT ?2)";
// The last place is held by an empty row when its event goes: the next event would get it otherwise, and whoever has read up to
// there would miss it. No task has the number 0.
const HOLD_PLACE: &str = "UPDATE events SET task = 0, seq = place, name = '', body = '' \
     WHERE task = ?1 AND place = (SELECT max(place) FROM events)";
const HELD_BEFORE: &str =
    "DELETE FROM events WHERE task = 0 AND seq < (SELECT max(place) FROM events)";
const CLEARED: &str = "DELETE FROM leftovers WHERE task = ?1";

pub(crate) fn has_leftovers(connection: &Connection) -> Result<bool, StoreError> {
    Ok(row(connection, LEFT, [], |row| row.get::<_, i64>(0))?.is_some())
}

/// Clears away a piece of what removed tasks left. True if there is more.
pub(crate) fn clear_leftovers(
    connection: &Connection,
    tenure: &Tenure,
) -> Result<bool, StoreError> {
    transact(connection, tenure, || {
        let Some(task) = row(connection, LEFT, [], |row| row.get::<_, i64>(0))? else {
            return Ok(false);
        };
        prepare(connection, HOLD_PLACE)?.execute([task])?;
        prepare(connection, HELD_BEFORE)?.execute([])?;
        let mut left = MOST_ROWS;
        for sql in [LEFT_ITEMS, LEFT_MESSAGES, LEFT_EVENTS] {
            left -= execute(connection, sql, (task, left))?;
            if left <= 0 {
                return Ok(true);
            }
        }
        prepare(connection, CLEARED)?.execute([task])?;
        has_leftovers(connection)
    })
}

pub(crate) fn step(
    connection: &Connection,
    tenure: &Tenure,
    step: Step,
) -> Result<Stepped, StoreError> {
    let mut stepped = Stepped::default();
    stepped.report.bytes_before = used_bytes(connection)?;
    // What is removed counts only when it is gone, and the size decides what else has to go.
    let next = if clear_leftovers(connection, tenure)? {
        Some(step.phase)
    } else if let Phase::Shrink = step.phase {
        shrink(connection, tenure)?
    } else {
        let writer = Writer::new(connection);
        let mut piece = Piece { writer, step: &step, stepped: &mut stepped };
        transact(connection, tenure, || piece.remove())?
    };
    stepped.report.bytes_after = used_bytes(connection)?;
    stepped.next = next.map(|phase| Step { phase, ..step });
    Ok(stepped)
}

struct Piece<'c, 's> {
    writer: Writer<'c>,
    step: &'s Step,
    stepped: &'s mut Stepped,
}

impl Piece<'_, '_> {
    /// What comes next: the same again as long as there was something to do.
    fn remove(&mut self) -> Result<Option<Phase>, StoreError> {
        Ok(Some(match self.step.phase {
            Phase::Age => match self.remove_old()? {
                0 => Phase::Count,
                _ => Phase::Age,
            },
            Phase::Count => match self.remove_many()? {
                0 => Phase::Uses,
                _ => Phase::Count,
            },
            Phase::Uses => match self.remove_uses()? {
                0 => Phase::Size,
                _ => Phase::Uses,
            },
            Phase::Size => match self.remove_large()? {
                0 => Phase::Shrink,
                _ => Phase::Size,
            },
            Phase::Shrink => return Ok(None),
        }))
    }

    fn remove_old(&mut self) -> Result<usize, StoreError> {
        let Some(age_ms) = self.step.retention.age_ms else { return Ok(0) };
        let before = self.step.now.saturating_sub(age_ms);
        let found = rows(self.writer.connection, TOO_OLD, (before, MOST_TASKS), task)?;
        let removed = self.remove_tasks(found)?;
        self.stepped.report.too_old.extend_from_slice(&removed);
        Ok(removed.len())
    }

    fn remove_many(&mut self) -> Result<usize, StoreError> {
        let mut count = 0;
        for (state, most) in &self.step.retention.tasks {
            if !state.is_over() {
                continue;
            }
            let name = state.name();
            let connection = self.writer.connection;
            let tasks: u64 = row(connection, COUNT, [name], |row| row.get(0))?.unwrap_or(0);
            let extra = i64::try_from(tasks.saturating_sub(*most)).unwrap_or(i64::MAX);
            let found = rows(connection, TOO_MANY, (name, extra.min(MOST_TASKS)), task)?;
            let removed = self.remove_tasks(found)?;
            count += removed.len();
            self.stepped.report.too_many.extend_from_slice(&removed);
        }
        Ok(count)
    }

    fn remove_uses(&mut self) -> Result<i64, StoreError> {
        let Some(age_ms) = self.step.retention.age_ms else { return Ok(0) };
        let before = self.step.now.saturating_sub(age_ms);
        let removed = execute(self.writer.connection, USES, (before, MOST_ROWS))?;
        self.stepped.report.rule_uses += removed.cast_unsigned();
        let asks = execute(self.writer.connection, HOST_ASKS, (before, MOST_ROWS))?;
        self.stepped.report.host_asks += asks.cast_unsigned();
        let told = execute(self.writer.connection, NOTIFICATIONS, (before, MOST_ROWS))?;
        self.stepped.report.notifications += told.cast_unsigned();
        let audit = execute(self.writer.connection, AUDIT, (before, MOST_ROWS))?;
        self.stepped.report.audit += audit.cast_unsigned();
        Ok(removed + asks + told + audit)
    }

    fn remove_large(&mut self) -> Result<usize, StoreError> {
        if !self.is_too_large()? {
            return Ok(0);
        }
        // One at a time: what it leaves is cleared away before the size is looked at again.
        let found = rows(self.writer.connection, TOO_OLD, (i64::MAX, 1), task)?;
        let removed = self.remove_tasks(found)?;
        self.stepped.report.too_large.extend_from_slice(&removed);
        Ok(removed.len())
    }

    fn is_too_large(&self) -> Result<bool, StoreError> {
        let Some(most) = self.step.retention.size_bytes else { return Ok(false) };
        Ok(used_bytes(self.writer.connection)? > most)
    }

    fn remove_tasks(&mut self, found: Vec<(i64, TaskId)>) -> Result<Vec<TaskId>, StoreError> {
        let mut removed = Vec::with_capacity(found.len());
        for (number, task) in found {
            self.stepped.cleared_a_secret |= self.writer.remove_number(number)?;
            removed.push(task);
        }
        Ok(removed)
    }
}

/// Gives free pages back to the disk. What comes next, if there are more.
fn shrink(connection: &Connection, tenure: &Tenure) -> Result<Option<Phase>, StoreError> {
    let free = || -> Result<i64, StoreError> {
        Ok(connection.query_row("PRAGMA freelist_count", [], |row| row.get(0))?)
    };
    let before = free()?;
    if before <= SPARE_PAGES {
        return Ok(None);
    }
    let pages = MOST_PAGES.min(before - SPARE_PAGES);
    transact(connection, tenure, || {
        // It gives a row for each page.
        let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    })?;
    // A database that was not made by us cannot give pages back.
    Ok((free()? < before).then_some(Phase::Shrink))
}

fn used_bytes(connection: &Connection) -> Result<u64, StoreError> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, u64>(0));
    let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
    Ok(pages * number("PRAGMA page_size")?)
}

fn task(row: &Row<'_>) -> rusqlite::Result<(i64, TaskId)> {
    Ok((row.get(0)?, TaskId::new(row.get::<_, String>(1)?)))
}

/// How many rows it changed.
fn execute(
    connection: &Connection,
    sql: &'static str,
    params: impl rusqlite::Params,
) -> Result<i64, StoreError> {
    let changed = prepare(connection, sql)?.execute(params)?;
    Ok(i64::try_from(changed).unwrap_or(i64::MAX))
}
