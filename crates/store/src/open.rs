//! Opening the file: ours alone to read, known to be ours, of a layout that we know, and from now on held by us.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::StoreError;
use crate::schema::{self, TASKS};

pub(crate) const EPOCH: &str = "SELECT epoch FROM store WHERE only_row = 1";

/// As SQLite counts the ways of `auto_vacuum`.
const INCREMENTAL: i64 = 2;

/// Prepared statements that a connection keeps: all that this room has, so that none is compiled twice.
const STATEMENTS: usize = 128;

/// Where the store is and how much it may keep in memory.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Its folder must be there.
    pub path: PathBuf,
    /// How long another program's lock is waited for before a commit fails. Backups with `sqlite3 .backup` hold none; a person
    /// who edits with `sqlite3` may for seconds.
    pub lock_wait: Duration,
    /// How long writes that nobody waits for are gathered. At 10,000 events a second 20 ms cost two thirds of what 5 ms cost
    /// (`benches/store`); whoever watches has seen the text before it is written, and a commit takes it along at once.
    pub linger: Duration,
    /// What may wait for the writer, in bytes; then whoever writes waits. A quarter of the 16 MB that the whole path may take.
    pub queue_bytes: usize,
    /// What is kept for a disk that cannot be written, in bytes; then it is counted and told as lost.
    pub spool_bytes: usize,
    /// How long until a disk that could not be written is tried again.
    pub retry_after: Duration,
    pub readers: usize,
}

impl StoreSettings {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            lock_wait: Duration::from_secs(5),
            linger: Duration::from_millis(20),
            queue_bytes: 4 << 20,
            spool_bytes: 8 << 20,
            retry_after: Duration::from_millis(500),
            readers: 2,
        }
    }
}

/// The writer's connection, and the epoch under which it writes.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) epoch: u64,
    /// The disk is full: the epoch is still to be written.
    pub(crate) is_owed: bool,
}

pub(crate) fn open_writer(settings: &StoreSettings) -> Result<Opened, StoreError> {
    let path = settings.path.as_path();
    make_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    open(path, flags, settings)
        .and_then(|mut connection| {
            let (epoch, is_owed) = take_over(&mut connection, path)?;
            Ok(Opened { connection, epoch, is_owed })
        })
        .map_err(|error| error.about(path))
}

/// A connection that can only read. The writer must have opened the file before.
pub(crate) fn open_reader(settings: &StoreSettings) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open(&settings.path, flags, settings)
        .and_then(|connection| {
            connection.pragma_update(None, "query_only", true)?;
            Ok(connection)
        })
        .map_err(|error| error.about(&settings.path))?;
    Ok(connection)
}

fn open(path: &Path, flags: OpenFlags, settings: &StoreSettings) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.busy_timeout(settings.lock_wait)?;
    Ok(connection)
}

/// SQLite gives its `-wal` and `-shm` the rights of the file itself, so the file is made before SQLite sees it.
pub(crate) fn make_private(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Err(StoreError::IsAFolder { path: path.to_owned() });
    }
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        io::ErrorKind::NotFound => StoreError::NoAccess {
            path: path.to_owned(),
            reason: "its folder is not there; make it".to_owned(),
        },
        _ => StoreError::NoAccess { path: path.to_owned(), reason: error.to_string() },
    };
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = file.map_err(refused)?;
    let rights = file.metadata().map_err(refused)?.permissions().mode();
    if rights & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600)).map_err(refused)?;
    }
    Ok(())
}

/// Makes the database ours: checks whose it is, brings its layout up to date, takes the next epoch. Tells whether a full disk
/// kept it from being written.
fn take_over(connection: &mut Connection, path: &Path) -> Result<(u64, bool), StoreError> {
    TASKS.admit(&schema::head(connection)?, path)?;
    prepare_file(connection)?;
    match take_epoch(connection) {
        Ok(epoch) => Ok((epoch, false)),
        // What was interrupted is read before anything can be written.
        Err(StoreError::Full) if schema::head(connection)?.layout == TASKS.newest() => {
            let epoch: i64 = connection.query_row(EPOCH, [], |row| row.get(0))?;
            Ok((epoch.cast_unsigned().saturating_add(1), true))
        }
        Err(error) => Err(error),
    }
}

fn take_epoch(connection: &mut Connection) -> Result<u64, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Again inside: another process may have migrated in between.
    let layout = schema::head(&transaction)?.layout;
    TASKS.migrate(&transaction, layout)?;
    let epoch: i64 = transaction.query_row(
        "UPDATE store SET epoch = epoch + 1 WHERE only_row = 1 RETURNING epoch",
        [],
        |row| row.get(0),
    )?;
    transaction.commit()?;
    Ok(epoch.cast_unsigned())
}

/// What holds for the file, whoever writes it.
pub(crate) fn prepare_file(connection: &Connection) -> Result<(), StoreError> {
    // Only an empty database can be told to give its free pages back bit by bit. To say so again would be a write, for which
    // a full disk has no room.
    let auto_vacuum: i64 = connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if auto_vacuum != INCREMENTAL {
        connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Deleted text inside a page that is written anyway is zeroed, which costs nothing. Where a secret goes, everything is
    // (see `secrets`): zeroing whole pages always would double what retention writes.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    // After a burst the log file shrinks to this again; it is four times the size at which SQLite begins anew.
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Opened, StoreSettings, open_reader, open_writer};

    #[test]
    fn what_is_committed_is_synced_and_readers_cannot_write() {
        let folder = tempfile::tempdir().unwrap();
        let settings = StoreSettings::at(folder.path().join("ostler.db"));
        let Opened { connection: writer, epoch, is_owed } = open_writer(&settings).unwrap();
        assert!(!is_owed);
        let pragma = |name: &str| {
            let value = writer
                .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0));
            format!("{:?}", value.unwrap())
        };
        let found = ["journal_mode", "synchronous", "auto_vacuum", "secure_delete"].map(pragma);
        // FULL is 2, INCREMENTAL is 2, FAST is 2.
        assert_eq!(found, ["Text(\"wal\")", "Integer(2)", "Integer(2)", "Integer(2)"]);
        assert_eq!(epoch, 1);

        let reader = open_reader(&settings).unwrap();
        let refused = reader.execute_batch("UPDATE store SET epoch = 9").unwrap_err();
        assert!(refused.to_string().contains("readonly"), "{refused}");
    }
}
