//! Brings one version into the cache: npm into a private folder, a look at what came, one atomic rename.

mod staging;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use semver::Version;
use thiserror::Error;

use super::cache::{Cache, CacheError, Installed, VersionLock};
use super::digest::bytes_below;
use super::environment::Environment;
use super::npm::{Npm, NpmError};
use super::platform::{Platform, PlatformError};
use super::probe::{Probe, probe};
use super::version::{VersionError, VersionRequest, parse_version};
use staging::Staging;

/// How often the work folder is measured while npm fills it: four times a second looks like movement.
const MEASURE_EVERY: Duration = Duration::from_millis(250);

/// How long each wait of an install may last.
#[derive(Debug, Clone, Copy)]
pub struct InstallLimits {
    /// For npm to fetch and unpack.
    pub npm: Duration,
    /// For another process that works on the same version.
    pub lock: Duration,
}

impl Default for InstallLimits {
    /// Half an hour carries the largest package so far (172 MB packed, 0.166.0) over a line of 1 Mbit/s. Whoever waits for
    /// another installer waits a little longer than that one may take.
    fn default() -> Self {
        Self { npm: Duration::from_secs(30 * 60), lock: Duration::from_secs(31 * 60) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallPhase {
    /// Asking the registry which version is newest.
    Asking,
    /// Another process works on the same version.
    Waiting,
    /// npm downloads and unpacks.
    Fetching,
    /// Running the new binary and taking its checksums.
    Verifying,
}

/// Where an install stands. Told several times a second while npm works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallProgress {
    pub phase: InstallPhase,
    /// `None` while the newest version is being asked for.
    pub version: Option<Version>,
    pub unpacked_bytes: u64,
    /// Not every registry tells.
    pub expected_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallOutcome {
    pub installed: Installed,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Fetched,
    AlreadyThere,
    /// The newest was asked for, the registry did not answer, and this is the newest that is here.
    NewestUnknown {
        because: String,
    },
}

#[derive(Debug, Error)]
pub enum InstallError {
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error(transparent)]
    Platform(#[from] PlatformError),
    #[error("cannot learn which Codex is newest: {0}")]
    Newest(#[source] NpmError),
    #[error("cannot install Codex {version}: {source}")]
    Npm { version: Version, source: NpmError },
    #[error("what npm installed for Codex {version} is not whole: {reason}")]
    Incomplete { version: Version, reason: String },
    #[error("what npm installed for Codex {version} does not run as that version: it {probe}")]
    WrongBinary { version: Version, probe: Probe },
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("the install of Codex {version} ended early: {reason}")]
    Aborted { version: Version, reason: String },
}

/// Called with each progress report, on the task that installs; it should return at once.
pub type OnProgress<'a> = &'a mut (dyn FnMut(InstallProgress) + Send);

#[derive(Debug, Clone)]
pub struct Installer {
    cache: Cache,
    environment: Environment,
    limits: InstallLimits,
}

impl Installer {
    #[must_use]
    pub fn new(cache: Cache, environment: Environment) -> Self {
        Self { cache, environment, limits: InstallLimits::default() }
    }

    #[must_use]
    pub fn with_limits(mut self, limits: InstallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Makes the version be there. One that is already there needs no npm and no network.
    ///
    /// Dropping the future ends npm and removes the work folder; what a killed process leaves behind does not count
    /// and is removed by the next install.
    pub async fn install(
        &self,
        request: &VersionRequest,
        on_progress: OnProgress<'_>,
    ) -> Result<InstallOutcome, InstallError> {
        let version = match request {
            VersionRequest::Exact(version) => version.clone(),
            VersionRequest::Latest => {
                on_progress(InstallProgress {
                    phase: InstallPhase::Asking,
                    version: None,
                    unpacked_bytes: 0,
                    expected_bytes: None,
                });
                match self.newest_published().await {
                    Ok(version) => parse_version(&version.to_string())?,
                    Err(error) => return self.fall_back(error),
                }
            }
        };
        self.install_exact(version, on_progress).await
    }

    async fn newest_published(&self) -> Result<Version, NpmError> {
        let npm = Npm::find(&self.environment)?;
        npm.newest(Path::new("/")).await
    }

    fn fall_back(&self, error: NpmError) -> Result<InstallOutcome, InstallError> {
        match self.cache.newest()? {
            Some(installed) => Ok(InstallOutcome {
                installed,
                origin: Origin::NewestUnknown { because: error.to_string() },
            }),
            None => Err(InstallError::Newest(error)),
        }
    }

    async fn install_exact(
        &self,
        version: Version,
        on_progress: OnProgress<'_>,
    ) -> Result<InstallOutcome, InstallError> {
        self.sweep().await;
        if let Some(outcome) = self.already_there(&version) {
            return Ok(outcome);
        }
        let platform = Platform::current()?;
        let mut report = Report::new(&version, on_progress);
        let lock = self
            .cache
            .lock(&version, self.limits.lock, || {
                report.tell(InstallPhase::Waiting);
            })
            .await?;
        if let Some(outcome) = self.already_there(&version) {
            return Ok(outcome);
        }
        let staging = Staging::create(&self.cache, lock.clone())?;
        self.fetch(&lock, staging.npm(), platform, &mut report)
            .await
            .map_err(|source| InstallError::Npm { version: version.clone(), source })?;
        report.tell(InstallPhase::Verifying);
        let vendor = staging.vendor(platform)?;
        let found = probe(&vendor.folder.join(vendor.binary), &self.environment).await;
        if found != (Probe::Fits { version: version.clone() }) {
            let probe = found;
            return Err(InstallError::WrongBinary { version, probe });
        }
        // Hashing and syncing hundreds of megabytes blocks; the closure owns the lock, so that the version stays ours
        // even if this future is dropped meanwhile.
        let cache = self.cache.clone();
        let publishing = tokio::task::spawn_blocking(move || staging.publish(&cache, &vendor));
        publishing.await.map_err(|error| InstallError::Aborted {
            version: version.clone(),
            reason: error.to_string(),
        })??;
        match self.cache.installed(&version) {
            Ok(Some(installed)) => Ok(InstallOutcome { installed, origin: Origin::Fetched }),
            Ok(None) => Err(CacheError::NotInstalled { version }.into()),
            Err(broken) => Err(InstallError::Incomplete { version, reason: broken.to_string() }),
        }
    }

    fn already_there(&self, version: &Version) -> Option<InstallOutcome> {
        // A damaged folder counts as absent here and is replaced.
        let installed = self.cache.installed(version).ok()??;
        Some(InstallOutcome { installed, origin: Origin::AlreadyThere })
    }

    async fn fetch(
        &self,
        lock: &VersionLock,
        folder: PathBuf,
        platform: Platform,
        report: &mut Report<'_>,
    ) -> Result<(), NpmError> {
        let npm = Npm::find(&self.environment)?;
        let mut installing = pin!(npm.install(&folder, lock, self.limits.npm));
        let mut asking = pin!(npm.unpacked_bytes(&folder, lock.version(), platform));
        let mut asked = false;
        let mut ticks = tokio::time::interval(MEASURE_EVERY);
        loop {
            // Both futures are polled in place until they end, so no branch loses work when another one wins.
            tokio::select! {
                result = &mut installing => {
                    report.measure(&folder);
                    return result;
                }
                bytes = &mut asking, if !asked => {
                    asked = true;
                    report.expected_bytes = bytes;
                }
                _ = ticks.tick() => report.measure(&folder),
            }
        }
    }

    /// The remains of dead installs are an untidiness, not a reason to refuse work.
    async fn sweep(&self) {
        let cache = self.cache.clone();
        match tokio::task::spawn_blocking(move || cache.sweep()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "cannot remove the remains of an install"),
            Err(error) => tracing::warn!(%error, "removing the remains of an install ended early"),
        }
    }
}

struct Report<'a> {
    version: Version,
    unpacked_bytes: u64,
    expected_bytes: Option<u64>,
    on_progress: OnProgress<'a>,
}

impl<'a> Report<'a> {
    fn new(version: &Version, on_progress: OnProgress<'a>) -> Self {
        Self { version: version.clone(), unpacked_bytes: 0, expected_bytes: None, on_progress }
    }

    fn measure(&mut self, folder: &Path) {
        self.unpacked_bytes = bytes_below(folder);
        self.tell(InstallPhase::Fetching);
    }

    fn tell(&mut self, phase: InstallPhase) {
        (self.on_progress)(InstallProgress {
            phase,
            version: Some(self.version.clone()),
            unpacked_bytes: self.unpacked_bytes,
            expected_bytes: self.expected_bytes,
        });
    }
}
