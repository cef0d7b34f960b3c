//! Which Codex a task runs on.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ostler_codex::binary::{self, Cache, Environment, Passed, Settings, parse_version};
use ostler_codex::protocol::CodexVersion;
use ostler_codex::start_fault::StartFault;
use ostler_model::{Failure, FailureClass};

/// Looking means starting Codex to ask for its version; a new one may be installed meanwhile.
const REMEMBERED_FOR: Duration = Duration::from_secs(30);

/// The Codex binaries of this machine.
#[derive(Debug, Clone)]
pub struct Binaries {
    settings: Settings,
    cache: Cache,
    environment: Environment,
    found: Arc<Mutex<HashMap<Option<String>, Found>>>,
}

#[derive(Debug, Clone)]
struct Found {
    path: PathBuf,
    version: String,
    at: Instant,
    file: FileIdentity,
}

/// Another file, or another content, has another one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl FileIdentity {
    fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            changed: (file.mtime(), file.mtime_nsec()),
        })
    }
}

impl Binaries {
    pub fn new(settings: Settings, cache: Cache, environment: Environment) -> Self {
        Self { settings, cache, environment, found: Arc::default() }
    }

    /// The binary and its version: the one that is named, or else the one in use.
    pub async fn find(&self, wanted: Option<&str>) -> Result<(PathBuf, String), Failure> {
        let key = wanted.map(str::to_owned);
        let known = {
            let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.get(&key).filter(|found| found.at.elapsed() < REMEMBERED_FOR).cloned()
        };
        if let Some(Found { path, version, file, .. }) = known
            && FileIdentity::of(&path) == Some(file)
        {
            return Ok((path, version));
        }
        let (path, version) = self.look(wanted).await?;
        let Some(file) = FileIdentity::of(&path) else { return Ok((path, version)) };
        let found =
            Found { path: path.clone(), version: version.clone(), at: Instant::now(), file };
        self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found);
        Ok((path, version))
    }

    /// One of those installed that is not older than this: this one, or else the newest.
    pub(super) fn installed_since(&self, least: &CodexVersion) -> Option<(PathBuf, String)> {
        let listed = match self.cache.list() {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "the installed versions of Codex cannot be listed");
                return None;
            }
        };
        let installed = listed.into_iter().filter_map(|listed| listed.state.ok());
        let fits: Vec<_> =
            installed.filter(|installed| installed.version >= *least.semver()).collect();
        let exact = fits.iter().find(|installed| installed.version == *least.semver());
        let chosen = exact.or_else(|| fits.first())?;
        Some((chosen.binary.clone(), chosen.version.to_string()))
    }

    async fn look(&self, wanted: Option<&str>) -> Result<(PathBuf, String), Failure> {
        if let Some(wanted) = wanted {
            let version = parse_version(wanted)
                .map_err(|error| Failure::new(FailureClass::BadRequest, error.to_string()))?;
            let installed =
                self.cache.installed(&version).map_err(|error| no_codex(error.to_string()))?;
            if let Some(installed) = installed {
                return Ok((installed.binary, installed.version.to_string()));
            }
        }
        let resolution = binary::resolve(&self.settings, &self.cache, &self.environment).await;
        let passed = match &resolution {
            Ok(found) => &found.passed,
            Err(nothing) => &nothing.passed,
        };
        // One that could not be asked for the moment may be the one to use; another one is not taken in its place.
        if let Some(passed) =
            passed.iter().find(|passed| StartFault::of_unfit(&passed.why) == StartFault::Passing)
        {
            let message = format!("Codex cannot be asked for its version now: {}", passed.why);
            return Err(Failure::new(FailureClass::ServerGone, message));
        }
        let found = resolution.map_err(|nothing| no_codex(why_none(&nothing.passed)))?;
        let version = found.version.to_string();
        match wanted {
            Some(wanted) if wanted != version => Err(no_codex(format!(
                "Codex {wanted} is not installed; run `ostler codex install {wanted}`"
            ))),
            _ => Ok((found.path, version)),
        }
    }
}

fn why_none(passed: &[Passed]) -> String {
    let reasons: Vec<String> = passed.iter().map(|passed| passed.why.to_string()).collect();
    match reasons.is_empty() {
        true => "no Codex was found; run `ostler codex install`".to_owned(),
        false => format!(
            "no Codex can be used ({}); mend it, or run `ostler codex install`",
            reasons.join("; ")
        ),
    }
}

fn no_codex(message: String) -> Failure {
    Failure::new(FailureClass::NoCodex, message)
}
