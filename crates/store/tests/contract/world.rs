//! A throw-away database, opened as often as a test likes.

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

    pub(crate) fn settings(&self) -> StoreSettings {
        StoreSettings::at(self.folder.path().join("ostler.db"))
    }
}

/// Writes that must succeed.
pub(crate) async fn write(store: &Store, writes: Vec<Write>) -> Committed {
    store.commit(Batch(writes)).await.unwrap()
}

/// Writes that must not.
pub(crate) async fn refused(store: &Store, writes: Vec<Write>) -> StoreError {
    store.commit(Batch(writes)).await.unwrap_err()
}
