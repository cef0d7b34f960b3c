//! A throw-away database, opened as often as a test likes.

use std::time::Duration;

use ostler_store::{Batch, Committed, Store, StoreError, StoreSettings, Write};
use tempfile::TempDir;

/// The only part that knows which database it is.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(self.settings()).unwrap()
    }

    /// Whether the text stands anywhere in the files of the database.
    pub(crate) fn holds_on_disk(&self, text: &str) -> bool {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        files.into_iter().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        })
    }

    /// The text is gone from the disk soon, although the store goes on.
    pub(crate) async fn wait_until_gone(&self, store: &Store, text: &str) {
        until(async || !self.holds_on_disk(text)).await;
        // It is not that the store has ended.
        store.commit(Batch::new()).await.unwrap();
        assert!(!self.holds_on_disk(text));
    }

    /// The table has so many rows soon.
    pub(crate) async fn wait_until_rows(&self, store: &Store, table: &str, rows: i64) {
        self.wait_until_rows_of_nobody(table, rows).await;
        store.commit(Batch::new()).await.unwrap();
    }

    /// The same where no store is open: one that was opened to look would fence off whoever still writes.
    pub(crate) async fn wait_until_rows_of_nobody(&self, table: &str, rows: i64) {
        let connection = rusqlite::Connection::open(self.settings().path).unwrap();
        let count = format!("SELECT count(*) FROM {table}");
        until(async || {
            let found: i64 = connection.query_row(&count, [], |row| row.get(0)).unwrap();
            found == rows
        })
        .await;
    }

    pub(crate) fn settings(&self) -> StoreSettings {
        StoreSettings::at(self.folder.path().join("ostler.db"))
    }
}

async fn until(holds: impl AsyncFn() -> bool) {
    let waited = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waited).await.expect("it does not come");
}

/// Writes that must succeed.
pub(crate) async fn write(store: &Store, writes: Vec<Write>) -> Committed {
    store.commit(Batch(writes)).await.unwrap()
}

/// Writes that must not.
pub(crate) async fn refused(store: &Store, writes: Vec<Write>) -> StoreError {
    store.commit(Batch(writes)).await.unwrap_err()
}
