//! The real binaries the tests run, and the schemas they write.

use std::fs;
use std::path::{Path, PathBuf};

use ostler_codex::schema::generate;
use tempfile::TempDir;

/// Every release we test against, oldest first.
pub(crate) const SUPPORTED: [&str; 4] = ["0.125.0", "0.130.0", "0.142.5", "0.166.0"];

/// A folder with the schema that the binary of this version writes of itself.
pub(crate) async fn generated(version: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    generate(&codex_binary(version), folder.path())
        .await
        .unwrap();
    folder
}

pub(crate) fn schema_file(folder: &Path) -> PathBuf {
    folder.join("codex_app_server_protocol.schemas.json")
}

/// The native binary of this version.
fn codex_binary(version: &str) -> PathBuf {
    let root = Path::new("/tmp/cx")
        .join(version)
        .join("node_modules/@openai");
    find(&root).unwrap_or_else(|| panic!("no codex {version} below {}", root.display()))
}

/// The npm package also holds a launcher script named `codex`; the binary is the one that lies in `vendor`.
fn find(folder: &Path) -> Option<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .ok()?
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    entries.into_iter().find_map(|path| match path.is_dir() {
        true => find(&path),
        false => {
            (path.ends_with("codex") && path.iter().any(|part| part == "vendor")).then_some(path)
        }
    })
}
