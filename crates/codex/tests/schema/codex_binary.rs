//! The real binaries the tests run, and the schemas they write.

use std::path::{Path, PathBuf};

use ostler_codex::schema::generate;
use ostler_testkit::{OLDEST, VERSIONS, codex_binary};
use tempfile::TempDir;

/// Every release we test against, oldest first.
pub(crate) fn supported() -> impl Iterator<Item = &'static str> {
    std::iter::once(OLDEST).chain(VERSIONS)
}

/// A folder with the schema that the binary of this version writes of itself.
pub(crate) async fn generated(version: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    generate(&codex_binary(version).unwrap(), folder.path()).await.unwrap();
    folder
}

pub(crate) fn schema_file(folder: &Path) -> PathBuf {
    folder.join("codex_app_server_protocol.schemas.json")
}
