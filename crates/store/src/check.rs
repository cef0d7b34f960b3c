//! Looking whether the file is whole, for `doctor`.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::schema::{self, APPLICATION_ID, LAYOUT};

/// Faults that are listed; the first says enough.
const MOST: usize = 10;

/// Looks at the head and at every page of a database without changing it. Takes about a second for a gigabyte.
///
/// A running daemon may go on meanwhile.
pub fn quick_check(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Err(StoreError::IsAFolder { path: path.to_owned() });
    }
    check(path).map_err(|error| error.about(path))
}

fn check(path: &Path) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let head = schema::head(&connection)?;
    if head.application_id != APPLICATION_ID {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    if head.layout > LAYOUT {
        let (found, known) = (head.layout, LAYOUT);
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({MOST})"))?;
    let lines: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    match lines.as_slice() {
        [only] if only == "ok" => Ok(()),
        lines => Err(StoreError::Corrupt { path: path.to_owned(), detail: lines.join("; ") }),
    }
}
