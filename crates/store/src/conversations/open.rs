//! Opening the file beside others who may be opening it, too.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::ConversationError;
use super::desk::PAUSE;
use crate::StoreError;
use crate::open::{make_private, prepare_file};
use crate::schema::{self, CONVERSATIONS};

/// Prepared statements that a connection keeps: all that this module has.
const STATEMENTS: usize = 64;

pub(super) fn open_writer(
    path: &Path,
    lock_wait: Duration,
) -> Result<Connection, ConversationError> {
    make_private(path)?;
    let deadline = Instant::now() + lock_wait;
    loop {
        // SQLite does not wait for others where it turns a new file into one with a log.
        match try_open(path, lock_wait) {
            Err(StoreError::Locked) if Instant::now() < deadline => thread::sleep(PAUSE),
            opened => return opened.map_err(|error| error.about(path).into()),
        }
    }
}

/// A connection that can only read. The writer must have opened the file before.
pub(super) fn open_reader(
    path: &Path,
    lock_wait: Duration,
) -> Result<Connection, ConversationError> {
    let read = || {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, lock_wait)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    };
    read().map_err(|error: StoreError| error.about(path).into())
}

fn try_open(path: &Path, lock_wait: Duration) -> Result<Connection, StoreError> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, lock_wait)?;
    // In a transaction, so that one moment is seen: others may be making the file.
    let moment = connection.transaction()?;
    CONVERSATIONS.admit(&schema::head(&moment)?, path)?;
    moment.commit()?;
    prepare_file(&connection)?;
    // Whoever removes a conversation wants its words gone, and it is done seldom enough to pay for that.
    connection.pragma_update(None, "secure_delete", "ON")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Again inside: another process may have migrated in between.
    let head = schema::head(&transaction)?;
    CONVERSATIONS.admit(&head, path)?;
    CONVERSATIONS.migrate(&transaction, head.layout)?;
    transaction.commit()?;
    Ok(connection)
}

fn connect(path: &Path, rights: OpenFlags, lock_wait: Duration) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, rights | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.busy_timeout(lock_wait)?;
    Ok(connection)
}
