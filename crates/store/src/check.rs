//! Looking whether the file is whole, for `doctor`.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::schema::{self, CONVERSATIONS, Layouts, TASKS};

/// Faults that are listed; the first says enough.
const MOST: usize = 10;

/// A database that is whole, and how it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sound {
    pub layout: i64,
    /// The layout that this program writes: an older one is brought up to it by the next daemon.
    pub newest_layout: i64,
    pub bytes: u64,
    /// What of these holds nothing any more.
    pub free_bytes: u64,
    /// What is in the log and not in the file yet.
    pub log_bytes: u64,
}

/// Looks at the head and at every page of a database without changing it. Takes about a second for a gigabyte.
///
/// A running daemon may go on meanwhile.
pub fn quick_check(path: &Path) -> Result<Sound, StoreError> {
    check(path, &TASKS)
}

/// The same for the database of the conversations.
pub fn quick_check_conversations(path: &Path) -> Result<Sound, StoreError> {
    check(path, &CONVERSATIONS)
}

fn check(path: &Path, layouts: &Layouts) -> Result<Sound, StoreError> {
    if path.is_dir() {
        return Err(StoreError::IsAFolder { path: path.to_owned() });
    }
    look(path, layouts).map_err(|error| error.about(path))
}

fn look(path: &Path, layouts: &Layouts) -> Result<Sound, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let head = schema::head(&connection)?;
    layouts.recognize(&head, path)?;
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({MOST})"))?;
    let lines: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    match lines.as_slice() {
        [only] if only == "ok" => {}
        lines => {
            let detail = lines.join("; ");
            return Err(StoreError::Corrupt { path: path.to_owned(), detail });
        }
    }
    let pages = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, u64>(0));
    let page_bytes = pages("PRAGMA page_size")?;
    Ok(Sound {
        layout: head.layout,
        newest_layout: layouts.newest(),
        bytes: page_bytes.saturating_mul(pages("PRAGMA page_count")?),
        free_bytes: page_bytes.saturating_mul(pages("PRAGMA freelist_count")?),
        log_bytes: log_of(path).metadata().map_or(0, |log| log.len()),
    })
}

pub(crate) fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}
