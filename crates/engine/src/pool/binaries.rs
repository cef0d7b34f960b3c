//! Which Codex a task runs on.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ostler_codex::binary::{self, Cache, Environment, Settings, parse_version};
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
        let (path, version) = match known {
            Some(Found { path, version, .. }) => return Ok((path, version)),
            None => self.look(wanted).await?,
        };
        let found = Found { path: path.clone(), version: version.clone(), at: Instant::now() };
        self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found);
        Ok((path, version))
    }

    async fn look(&self, wanted: Option<&str>) -> Result<(PathBuf, String), Failure> {
        if let Some(wanted) = wanted {
            let version = parse_version(wanted).map_err(|error| unfit(error.to_string()))?;
            let installed =
                self.cache.installed(&version).map_err(|error| unfit(error.to_string()))?;
            if let Some(installed) = installed {
                return Ok((installed.binary, installed.version.to_string()));
            }
        }
        let resolution = binary::resolve(&self.settings, &self.cache, &self.environment).await;
        let found = resolution
            .map_err(|_| unfit("no Codex was found; run `ostler codex install`".to_owned()))?;
        let version = found.version.to_string();
        match wanted {
            Some(wanted) if wanted != version => Err(unfit(format!(
                "Codex {wanted} is not installed; run `ostler codex install {wanted}`"
            ))),
            _ => Ok((found.path, version)),
        }
    }
}

fn unfit(message: String) -> Failure {
    Failure::new(FailureClass::BadRequest, message)
}
