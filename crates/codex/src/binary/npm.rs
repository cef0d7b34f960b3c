//! The user's `npm`, which fetches the packages and verifies their integrity with the user's own registry settings.

mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use semver::Version;
use serde::Deserialize;
use thiserror::Error;

use super::cache::VersionLock;
use super::child::{self, Finished, Run};
use super::environment::Environment;
use super::manifest::PackageRecord;
use super::platform::Platform;
use crate::keeper::redact;
pub use report::NpmFailure;

const PACKAGE: &str = "@openai/codex";

/// Asking the registry a question takes a second or two; its retries below add a few more.
const QUESTION_DEADLINE: Duration = Duration::from_secs(30);

/// npm's own patience (two retries, 10 s and 60 s apart) is made for installs; a question gets one quick retry, so
/// that a machine without a network learns it in seconds.
const QUICK: [&str; 3] =
    ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000"];

#[derive(Debug, Error)]
pub enum NpmError {
    #[error("npm is not on PATH; install Node.js with npm, or put npm on PATH")]
    Missing,
    #[error("cannot start {}: {source}", npm.display())]
    NotStarted { npm: PathBuf, source: std::io::Error },
    #[error("npm did not finish within {} s and was ended; try again", after.as_secs())]
    TimedOut { after: Duration },
    #[error("{failure}{}", report::attached(stderr))]
    Failed { failure: NpmFailure, stderr: String },
    #[error("npm answered {answer:?} where a version was expected")]
    OddAnswer { answer: String },
}

pub(crate) struct Npm<'a> {
    program: PathBuf,
    environment: &'a Environment,
}

impl<'a> Npm<'a> {
    pub(crate) fn find(environment: &'a Environment) -> Result<Self, NpmError> {
        let program = environment.find_executable("npm").ok_or(NpmError::Missing)?;
        Ok(Self { program, environment })
    }

    /// The version that the registry's `latest` tag names. `folder` is where npm stands: any that has no project in it.
    pub(crate) async fn newest(&self, folder: &Path) -> Result<Version, NpmError> {
        let package = format!("{PACKAGE}@latest");
        let answer = self.ask(folder, &package, "version").await?;
        serde_json::from_str(&answer).map_err(|_| NpmError::OddAnswer { answer })
    }

    /// How many bytes the platform's package has when unpacked, if the registry knows.
    pub(crate) async fn unpacked_bytes(
        &self,
        folder: &Path,
        version: &Version,
        platform: Platform,
    ) -> Option<u64> {
        let package = format!("{PACKAGE}@{version}-{}", platform.npm_name);
        let answer = self.ask(folder, &package, "dist.unpackedSize").await.ok()?;
        serde_json::from_str(&answer).ok()
    }

    /// Installs into `<folder>/node_modules`. The settings that a user may have in an npmrc and that would take the
    /// files elsewhere or leave the native package out are stated here again.
    pub(crate) async fn install(
        &self,
        folder: &Path,
        lock: &VersionLock,
        deadline: Duration,
    ) -> Result<(), NpmError> {
        let mut command = child::command(&self.program, self.environment);
        command
            .arg("install")
            .arg("--prefix")
            .arg(folder)
            .args([
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--prefer-offline",
                "--no-global",
                "--no-dry-run",
                "--package-lock",
                "--include=optional",
                "--install-strategy=hoisted",
                "--loglevel=warn",
            ])
            .arg(format!("{PACKAGE}@{}", lock.version()))
            .current_dir(folder)
            .stdin(lock.as_stdin().map_err(|source| self.not_started(source))?);
        self.finish(command, deadline).await.map(drop)
    }

    async fn ask(&self, folder: &Path, package: &str, field: &str) -> Result<String, NpmError> {
        let mut command = child::command(&self.program, self.environment);
        command
            .args(["view", package, field, "--json", "--prefer-online"])
            .args(QUICK)
            .current_dir(folder);
        let finished = self.finish(command, QUESTION_DEADLINE).await?;
        Ok(finished.stdout.trim().to_owned())
    }

    async fn finish(
        &self,
        command: tokio::process::Command,
        deadline: Duration,
    ) -> Result<Finished, NpmError> {
        match child::run(command, deadline).await {
            Run::Finished(finished) if finished.status.success() => Ok(finished),
            Run::Finished(finished) => Err(NpmError::Failed {
                failure: NpmFailure::read(&finished.stderr, finished.status),
                stderr: report::tail(&redact(&finished.stderr, self.environment.variables())),
            }),
            Run::TimedOut => Err(NpmError::TimedOut { after: deadline }),
            Run::NotStarted(source) => Err(self.not_started(source)),
        }
    }

    fn not_started(&self, source: std::io::Error) -> NpmError {
        NpmError::NotStarted { npm: self.program.clone(), source }
    }
}

/// The packages in npm's record of a finished install, with the integrity strings it verified.
pub(crate) fn read_packages(lockfile: &[u8]) -> Result<Vec<PackageRecord>, serde_json::Error> {
    let lockfile: Lockfile = serde_json::from_slice(lockfile)?;
    let records = lockfile.packages.into_iter().filter_map(|(place, package)| {
        Some(PackageRecord {
            name: place.strip_prefix("node_modules/")?.to_owned(),
            version: package.version?,
            integrity: package.integrity?,
        })
    });
    Ok(records.collect())
}

#[derive(Deserialize)]
struct Lockfile {
    #[serde(default)]
    packages: std::collections::BTreeMap<String, LockedPackage>,
}

#[derive(Deserialize)]
struct LockedPackage {
    version: Option<String>,
    integrity: Option<String>,
}
