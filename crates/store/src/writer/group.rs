//! One transaction of many batches. A batch that cannot be written does not take the others with it.

use std::cell::Cell;

use rusqlite::Connection;

use crate::job::{Ready, Writing};
use crate::open::EPOCH;
use crate::write::{Stop, Writer};
use crate::{Committed, StoreError, Write};

const TAKE_EPOCH: &str = "UPDATE store SET epoch = ?1 WHERE only_row = 1";

/// The epoch under which we write.
pub(crate) struct Tenure {
    epoch: i64,
    /// The disk was full when the store was opened: the epoch is taken with the first write that succeeds.
    is_owed: Cell<bool>,
}

impl Tenure {
    pub(crate) fn new(epoch: u64, is_owed: bool) -> Self {
        Self { epoch: epoch.cast_signed(), is_owed: Cell::new(is_owed) }
    }
}

pub(super) struct Outcome {
    /// One for each batch, in order.
    pub(super) results: Vec<Result<Committed, StoreError>>,
    pub(super) cleared_a_secret: bool,
    pub(super) removed_a_task: bool,
}

/// When it returns well, all of it is on disk; otherwise none is.
pub(super) fn write(
    connection: &Connection,
    tenure: &Tenure,
    writings: &[Writing],
) -> Result<Outcome, StoreError> {
    transact(connection, tenure, || {
        let mut outcome = Outcome {
            results: Vec::with_capacity(writings.len()),
            cleared_a_secret: false,
            removed_a_task: false,
        };
        for writing in writings {
            let result = write_batch(connection, writing, &mut outcome)?;
            outcome.results.push(result);
        }
        Ok(outcome)
    })
}

/// Does the work in a transaction that is ours: a store that was opened after us ends our writing.
pub(crate) fn transact<T>(
    connection: &Connection,
    tenure: &Tenure,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    run(connection, "BEGIN IMMEDIATE")?;
    let done = held(connection, tenure).and_then(|()| work()).and_then(|done| {
        run(connection, "COMMIT")?;
        tenure.is_owed.set(false);
        Ok(done)
    });
    // Some failures take the transaction back by themselves.
    if done.is_err() && !connection.is_autocommit() {
        run(connection, "ROLLBACK")?;
    }
    done
}

fn held(connection: &Connection, tenure: &Tenure) -> Result<(), StoreError> {
    let holder: i64 = connection.prepare_cached(EPOCH)?.query_row([], |row| row.get(0))?;
    if !tenure.is_owed.get() {
        return if holder == tenure.epoch { Ok(()) } else { Err(StoreError::Fenced) };
    }
    // Whoever has taken this very epoch meanwhile is somebody else.
    if holder.saturating_add(1) != tenure.epoch {
        return Err(StoreError::Fenced);
    }
    connection.prepare_cached(TAKE_EPOCH)?.execute([tenure.epoch])?;
    Ok(())
}

/// The outer error is one that no batch survives.
fn write_batch(
    connection: &Connection,
    writing: &Writing,
    outcome: &mut Outcome,
) -> Result<Result<Committed, StoreError>, StoreError> {
    run(connection, "SAVEPOINT batch")?;
    let mut writer = Writer::new(connection);
    let stop = match writer.write(&writing.writes) {
        Ok(()) => {
            run(connection, "RELEASE batch")?;
            outcome.cleared_a_secret |= writer.cleared_a_secret;
            outcome.removed_a_task |= writing.writes.iter().any(removes_a_task);
            return Ok(Ok(Committed::Written(writer.seqs())));
        }
        Err(stop) => stop,
    };
    let result = match stop {
        Stop::Known(task) => Ok(Committed::Known(task)),
        Stop::Lost(ask) => Ok(Committed::Lost(ask)),
        Stop::Failed(error) if error.is_of_the_batch() => Err(error),
        Stop::Failed(error @ StoreError::Other(_)) if !connection.is_autocommit() => Err(error),
        Stop::Failed(error) => return Err(error),
    };
    run(connection, "ROLLBACK TO batch")?;
    run(connection, "RELEASE batch")?;
    Ok(result)
}

fn removes_a_task(write: &Ready) -> bool {
    matches!(write, Ready::Plain(Write::RemoveTask(_)))
}

fn run(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
