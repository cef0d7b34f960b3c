//! Real Codex binaries on demand.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, anyhow};
use ostler_codex::binary::{Cache, Environment, Installer, VersionRequest};

/// The versions that every end-to-end flow runs on: both layouts of the package, and the newest protocol.
pub const VERSIONS: [&str; 3] = ["0.130.0", "0.142.5", "0.166.0"];

/// The oldest version that is supported.
pub const OLDEST: &str = "0.125.0";

/// The newest version that we know to work.
pub const NEWEST: &str = "0.169.0";

/// Where the binaries are kept; with this variable, several checkouts can share one folder.
const CACHE_VARIABLE: &str = "OSTLER_TEST_CODEX_CACHE";

type Slot = Arc<Mutex<Option<PathBuf>>>;

static SLOTS: LazyLock<Mutex<HashMap<String, Slot>>> = LazyLock::new(Mutex::default);

/// The native binary of a version, installed with the product's own installer if it is not there yet.
///
/// Any number of tests and test processes may ask at once; each version is fetched once. The call blocks, and may be
/// made inside or outside an async runtime.
pub fn codex_binary(version: &str) -> anyhow::Result<PathBuf> {
    // A test that panicked while it held a lock left nothing half done: a slot is filled or not.
    let slot = SLOTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(version.to_owned())
        .or_default()
        .clone();
    let mut path = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*path {
        return Ok(path.clone());
    }
    let found = install(version).with_context(|| format!("Codex {version} for the tests"))?;
    Ok(path.insert(found).clone())
}

/// The cache that holds these versions, for what chooses among several.
pub fn codex_cache(versions: &[&str]) -> anyhow::Result<Cache> {
    for version in versions {
        codex_binary(version)?;
    }
    Ok(Cache::new(cache_folder()))
}

/// Runs on a thread of its own, because a runtime cannot be started inside the runtime of the calling test.
fn install(version: &str) -> anyhow::Result<PathBuf> {
    let request: VersionRequest = version.parse()?;
    let installer = Installer::new(Cache::new(cache_folder()), environment());
    let working = thread::Builder::new().name("codex-install".to_owned()).spawn(
        move || -> anyhow::Result<PathBuf> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let outcome = runtime.block_on(installer.install(&request, &mut |_| {}))?;
            Ok(outcome.installed.binary)
        },
    )?;
    working.join().map_err(|_| anyhow!("the installing thread panicked"))?
}

fn environment() -> Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests have no door above them that could hand the environment down"
    )]
    let variables = env::vars_os();
    Environment::new(variables)
}

fn cache_folder() -> PathBuf {
    environment()
        .get(CACHE_VARIABLE)
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .unwrap_or_else(|| {
            let testkit = Path::new(env!("CARGO_MANIFEST_DIR"));
            testkit.with_file_name("target").join("codex-cache")
        })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[tokio::test]
    async fn every_version_is_there_and_is_native() {
        for version in VERSIONS {
            let path = codex_binary(version).unwrap();
            let answer = Command::new(&path).arg("--version").output().unwrap();
            let text = String::from_utf8(answer.stdout).unwrap();
            assert_eq!(text, format!("codex-cli {version}\n"));
            assert_eq!(codex_binary(version).unwrap(), path);
        }
    }

    #[test]
    fn a_version_that_is_too_old_is_refused() {
        let error = codex_binary("0.99.0").unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "Codex 0.99.0 for the tests: Codex 0.99.0 is too old; the oldest that works is 0.125.0"
        );
    }
}
