//! Our folder of Codex versions, one sub-folder each.
//!
//! ```text
//! <root>/0.130.0/install.json            what was installed; its folder appears by one atomic rename
//! <root>/0.130.0/<triple>/…              npm's whole vendor folder: the binary and the siblings it runs
//! <root>/.locks/0.130.0                  held by whoever installs or removes that version
//! <root>/.staging/0.130.0/               work of the lock's holder; worth nothing without it
//! ```

mod lock;

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use semver::Version;
use thiserror::Error;

use super::digest::sync_tree;
use super::manifest::{FILE_NAME, Manifest};
pub(crate) use lock::VersionLock;

const STAGING: &str = ".staging";
const LOCKS: &str = ".locks";

#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// One version that is there and whole, as far as can be told without reading it all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub version: Version,
    pub folder: PathBuf,
    pub binary: PathBuf,
    pub manifest: Manifest,
}

/// A version's folder that does not count, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} is damaged: {reason}", folder.display())]
pub struct Broken {
    pub folder: PathBuf,
    pub reason: String,
}

/// A version's folder as the listing meets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub version: Version,
    pub state: Result<Installed, Broken>,
}

#[derive(Debug, Error)]
pub enum CacheError {
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "another process has been working on Codex {version} for more than {} s; wait for it or end it, then try again",
        waited.as_secs()
    )]
    Locked { version: Version, waited: Duration },
    #[error("Codex {version} is not installed")]
    NotInstalled { version: Version },
    #[error("Codex {version} is running (process {}); end it first", list(processes))]
    InUse { version: Version, processes: Vec<u32> },
}

impl Cache {
    /// The folder need not exist yet.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[must_use]
    pub fn folder(&self, version: &Version) -> PathBuf {
        self.root.join(version.to_string())
    }

    /// The version if it is there; an error if it is there but not whole.
    pub fn installed(&self, version: &Version) -> Result<Option<Installed>, Broken> {
        let folder = self.folder(version);
        let broken = |reason: String| Broken { folder: folder.clone(), reason };
        let text = match fs::read(folder.join(FILE_NAME)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound && !folder.exists() => {
                return Ok(None);
            }
            Err(error) => return Err(broken(format!("{FILE_NAME}: {error}"))),
        };
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|error| broken(format!("{FILE_NAME}: {error}")))?;
        if manifest.version != *version {
            let reason = format!("{FILE_NAME} speaks of version {}", manifest.version);
            return Err(broken(reason));
        }
        let inside = Path::new(&manifest.binary)
            .components()
            .all(|component| matches!(component, Component::Normal(_)));
        if !inside {
            return Err(broken(format!("{FILE_NAME} points outside the folder")));
        }
        let binary = folder.join(&manifest.binary);
        let size_bytes = fs::metadata(&binary)
            .map_err(|error| broken(format!("{}: {error}", manifest.binary)))?
            .len();
        if size_bytes != manifest.size_bytes {
            let expected = manifest.size_bytes;
            return Err(broken(format!(
                "{} has {size_bytes} bytes instead of {expected}",
                manifest.binary
            )));
        }
        Ok(Some(Installed { version: version.clone(), binary, manifest, folder }))
    }

    /// Every version's folder, newest first. A cache that was never used is empty.
    pub fn list(&self) -> Result<Vec<Listed>, CacheError> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("list", &self.root)(error)),
        };
        let mut versions: Vec<Version> = entries
            .flatten()
            .filter_map(|entry| Version::parse(entry.file_name().to_str()?).ok())
            .collect();
        versions.sort_by(|left, right| right.cmp(left));
        let listed = versions.into_iter().filter_map(|version| {
            let state = self.installed(&version).transpose()?;
            Some(Listed { version, state })
        });
        Ok(listed.collect())
    }

    /// The newest version that counts.
    pub fn newest(&self) -> Result<Option<Installed>, CacheError> {
        Ok(self.list()?.into_iter().find_map(|listed| listed.state.ok()))
    }

    /// Takes a version away. One that a process runs from is refused: it would lose its siblings on disk.
    pub async fn remove(&self, version: &Version, wait: Duration) -> Result<PathBuf, CacheError> {
        let folder = self.folder(version);
        if !folder.exists() {
            return Err(CacheError::NotInstalled { version: version.clone() });
        }
        let lock = self.lock(version, wait, || {}).await?;
        let processes = processes_running_from(&folder);
        if !processes.is_empty() {
            return Err(CacheError::InUse { version: version.clone(), processes });
        }
        let staging = self.fresh_staging(&lock)?;
        match fs::rename(&folder, staging.join("removed")) {
            // Somebody else removed it while we waited for the lock.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            renamed => renamed.map_err(failed("remove", &folder))?,
        }
        fs::remove_dir_all(&staging).map_err(failed("remove", &staging))?;
        Ok(folder)
    }

    /// Waits until nobody else works on the version. `on_wait` is called once if that is not at once.
    pub(crate) async fn lock(
        &self,
        version: &Version,
        deadline: Duration,
        on_wait: impl FnOnce(),
    ) -> Result<VersionLock, CacheError> {
        let folder = self.root.join(LOCKS);
        create_private(&folder)?;
        VersionLock::take(&folder, version, deadline, on_wait).await
    }

    /// An empty work folder that belongs to the lock's holder.
    pub(crate) fn fresh_staging(&self, lock: &VersionLock) -> Result<PathBuf, CacheError> {
        let staging = self.root.join(STAGING).join(lock.version().to_string());
        remove_if_there(&staging)?;
        create_private(&staging)?;
        Ok(staging)
    }

    /// The one step that makes an install count. A damaged folder of the same version makes room first.
    pub(crate) fn publish(&self, lock: &VersionLock, ready: &Path) -> Result<(), CacheError> {
        let folder = self.folder(lock.version());
        sync_tree(ready).map_err(failed("write", ready))?;
        if folder.exists() {
            let aside = ready.with_extension("replaced");
            fs::rename(&folder, &aside).map_err(failed("replace", &folder))?;
        }
        fs::rename(ready, &folder).map_err(failed("create", &folder))?;
        fs::File::open(&self.root)
            .and_then(|root| root.sync_all())
            .map_err(failed("write", &self.root))
    }

    /// Removes the work folders whose owners are gone. A lock that can be taken has no owner.
    pub(crate) fn sweep(&self) -> Result<(), CacheError> {
        let Ok(entries) = fs::read_dir(self.root.join(STAGING)) else {
            return Ok(());
        };
        let locks = self.root.join(LOCKS);
        create_private(&locks)?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(version) = name.to_str().and_then(|name| Version::parse(name).ok()) else {
                continue;
            };
            if let Some(_lock) = VersionLock::take_if_free(&locks, &version)? {
                tracing::debug!(codex.version = %version, "removing the remains of a dead install");
                remove_if_there(&entry.path())?;
            }
        }
        Ok(())
    }
}

pub(crate) fn failed(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> CacheError + use<> {
    let path = path.to_owned();
    move |source| CacheError::Io { action, path, source }
}

fn create_private(folder: &Path) -> Result<(), CacheError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed("create", folder))
}

fn remove_if_there(folder: &Path) -> Result<(), CacheError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(failed("remove", folder)),
    }
}

/// The processes whose executable lies in the folder. Known from `/proc`; where there is none, nobody is found.
fn processes_running_from(folder: &Path) -> Vec<u32> {
    let Ok(folder) = fs::canonicalize(folder) else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut processes: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process: &u32| {
            fs::read_link(format!("/proc/{process}/exe"))
                .is_ok_and(|executable| executable.starts_with(&folder))
        })
        .collect();
    processes.sort_unstable();
    processes
}

fn list(processes: &[u32]) -> String {
    let texts: Vec<String> = processes.iter().map(u32::to_string).collect();
    texts.join(", ")
}
