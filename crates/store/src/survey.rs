//! Looking what lies where the database should be, before it is opened: a daemon must not begin anew where there were tasks.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::check::log_of;
use crate::open::EPOCH;
use crate::schema::{self, TASKS};

/// How many tasks there ever were: their numbers are never used again.
const TASKS_EVER: &str =
    "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'tasks'), 0)";

/// What lies at the path of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survey {
    Missing,
    /// A file without anything in it: it was never filled, or what filled it was in a log that is gone.
    Empty,
    Found {
        epoch: u64,
        /// Tasks that were ever written to it.
        tasks_ever: u64,
    },
}

/// Looks without changing anything.
pub fn survey(path: &Path) -> Result<Survey, StoreError> {
    look(path).map_err(|error| error.about(path))
}

/// Whether SQLite's log is there. It is removed when the last one closes the database, and only then: after a kill it is there.
pub fn has_log(path: &Path) -> bool {
    log_of(path).exists()
}

/// A name under which SQLite reads the file alone.
fn as_it_lies(path: &Path) -> OsString {
    let mut name = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => name.extend(format!("%{byte:02X}").into_bytes()),
            byte => name.push(*byte),
        }
    }
    name.extend_from_slice(b"?immutable=1");
    OsString::from_vec(name)
}

fn look(path: &Path) -> Result<Survey, StoreError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Survey::Missing),
        Err(error) => {
            let (path, reason) = (path.to_owned(), error.to_string());
            return Err(StoreError::NoAccess { path, reason });
        }
        Ok(found) if found.is_dir() => {
            return Err(StoreError::IsAFolder { path: path.to_owned() });
        }
        Ok(found) if found.len() == 0 => return Ok(Survey::Empty),
        Ok(_) => {}
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match has_log(path) {
        true => Connection::open_with_flags(path, flags)?,
        // SQLite would make the log that is missing.
        false => Connection::open_with_flags(as_it_lies(path), flags | OpenFlags::SQLITE_OPEN_URI)?,
    };
    let head = schema::head(&connection)?;
    TASKS.admit(&head, path)?;
    if head.is_empty {
        return Ok(Survey::Empty);
    }
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let (epoch, tasks_ever) = (number(EPOCH)?.cast_unsigned(), number(TASKS_EVER)?.cast_unsigned());
    Ok(Survey::Found { epoch, tasks_ever })
}
