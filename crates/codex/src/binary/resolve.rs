//! Which Codex to run: a ladder of places, tried from the most explicit to the most accidental.
//!
//! [`decide`] is pure: it says which rung to look at next or what the answer is. [`look`] does the looking.
//! [`resolve`] drives the two, so a binary that is not needed is never started.

use std::path::{Path, PathBuf};

use semver::Version;
use thiserror::Error;

use super::cache::{Cache, CacheError};
use super::environment::Environment;
use super::platform::{NativeError, Platform, PlatformError, native_binary};
use super::probe::{Probe, probe};

/// Where a binary comes from; the order is the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    ConfiguredPath,
    ConfiguredVersion,
    OnPath,
    NewestInstalled,
}

impl Source {
    pub const ALL: [Self; 4] =
        [Self::ConfiguredPath, Self::ConfiguredVersion, Self::OnPath, Self::NewestInstalled];

    /// A stable name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ConfiguredPath => "configured_path",
            Self::ConfiguredVersion => "configured_version",
            Self::OnPath => "on_path",
            Self::NewestInstalled => "newest_installed",
        }
    }
}

/// What the user settled on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub path: Option<PathBuf>,
    pub version: Option<Version>,
}

/// What a look at one rung found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Nothing was configured or found there, which is normal and needs no note.
    Empty,
    Unfit(Unfit),
    Fits {
        path: PathBuf,
        version: Version,
    },
}

/// Why a rung that had something was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unfit {
    #[error("{} {probe}", path.display())]
    Probe { path: PathBuf, probe: Probe },
    #[error("{} {reason}", path.display())]
    NoNative { path: PathBuf, reason: NativeError },
    #[error("Codex {version} is configured but not installed")]
    NotInstalled { version: Version },
    #[error("{reason}")]
    Damaged { reason: String },
    #[error(transparent)]
    Platform(#[from] PlatformError),
}

/// A rung that was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    pub source: Source,
    pub why: Unfit,
}

/// What is known so far: one finding for each rung that was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    findings: Vec<(Source, Finding)>,
}

impl Facts {
    pub fn add(&mut self, source: Source, finding: Finding) {
        self.findings.push((source, finding));
    }

    fn get(&self, source: Source) -> Option<&Finding> {
        self.findings.iter().find(|(known, _)| *known == source).map(|(_, finding)| finding)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Look(Source),
    Use(Resolution),
    GiveUp(NoBinary),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    pub path: PathBuf,
    pub version: Version,
    pub source: Source,
    pub passed: Vec<Passed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no Codex to run; install one with `ostler codex install`")]
pub struct NoBinary {
    pub passed: Vec<Passed>,
}

/// The next step, from what is known so far.
#[must_use]
pub fn decide(facts: &Facts) -> Step {
    let mut passed = Vec::new();
    for source in Source::ALL {
        match facts.get(source) {
            None => return Step::Look(source),
            Some(Finding::Empty) => {}
            Some(Finding::Unfit(why)) => passed.push(Passed { source, why: why.clone() }),
            Some(Finding::Fits { path, version }) => {
                return Step::Use(Resolution {
                    path: path.clone(),
                    version: version.clone(),
                    source,
                    passed,
                });
            }
        }
    }
    Step::GiveUp(NoBinary { passed })
}

/// Finds the Codex to run.
pub async fn resolve(
    settings: &Settings,
    cache: &Cache,
    environment: &Environment,
) -> Result<Resolution, NoBinary> {
    let mut facts = Facts::default();
    loop {
        match decide(&facts) {
            Step::Look(source) => {
                let finding = look(source, settings, cache, environment).await;
                facts.add(source, finding);
            }
            Step::Use(resolution) => return Ok(resolution),
            Step::GiveUp(nothing) => return Err(nothing),
        }
    }
}

/// Looks at one rung.
pub async fn look(
    source: Source,
    settings: &Settings,
    cache: &Cache,
    environment: &Environment,
) -> Finding {
    match source {
        Source::ConfiguredPath => match &settings.path {
            Some(path) => look_at(path, environment).await,
            None => Finding::Empty,
        },
        Source::ConfiguredVersion => match &settings.version {
            Some(version) => installed(cache, version),
            None => Finding::Empty,
        },
        Source::OnPath => match environment.find_executable("codex") {
            Some(path) => look_at(&path, environment).await,
            None => Finding::Empty,
        },
        Source::NewestInstalled => newest(cache),
    }
}

async fn look_at(path: &Path, environment: &Environment) -> Finding {
    let platform = match Platform::current() {
        Ok(platform) => platform,
        Err(error) => return Finding::Unfit(error.into()),
    };
    let native = match native_binary(path, platform) {
        Ok(native) => native,
        Err(reason) => {
            return Finding::Unfit(Unfit::NoNative { path: path.to_owned(), reason });
        }
    };
    match probe(&native, environment).await {
        Probe::Fits { version } => Finding::Fits { path: native, version },
        probe => Finding::Unfit(Unfit::Probe { path: path.to_owned(), probe }),
    }
}

/// An installed version is not started to learn what it is: its manifest was written after that was seen.
fn installed(cache: &Cache, version: &Version) -> Finding {
    match cache.installed(version) {
        Ok(Some(installed)) => Finding::Fits { path: installed.binary, version: installed.version },
        Ok(None) => Finding::Unfit(Unfit::NotInstalled { version: version.clone() }),
        Err(broken) => damaged(&broken),
    }
}

fn newest(cache: &Cache) -> Finding {
    let listed = match cache.list() {
        Ok(listed) => listed,
        Err(error @ CacheError::Io { .. }) => return damaged(&error),
        Err(_) => return Finding::Empty,
    };
    let mut first_broken = None;
    for entry in listed {
        match entry.state {
            Ok(installed) => {
                return Finding::Fits { path: installed.binary, version: installed.version };
            }
            Err(broken) => {
                first_broken.get_or_insert(broken);
            }
        }
    }
    first_broken.map_or(Finding::Empty, |broken| damaged(&broken))
}

fn damaged(reason: &dyn std::error::Error) -> Finding {
    Finding::Unfit(Unfit::Damaged { reason: reason.to_string() })
}

#[cfg(test)]
mod tests;
