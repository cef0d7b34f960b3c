//! Looks whether a binary is sound: unchanged since its install, the right version, able to start an app-server.

use std::path::Path;
use std::time::Duration;

use super::cache::Installed;
use super::child::{self, Run};
use super::digest::record_file;
use super::environment::Environment;
use super::manifest::FileRecord;
use super::probe::{Probe, probe, quote};

/// The help text comes at once; the margin is for a cold disk, as with the version.
const HELP_DEADLINE: Duration = Duration::from_secs(10);

/// One thing that was looked at. The text is a whole sentence part, such as `codex --version says 0.130.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    Sound(String),
    Problem(String),
}

impl Finding {
    #[must_use]
    pub fn is_problem(&self) -> bool {
        matches!(self, Self::Problem(_))
    }
}

/// An installed version: its files against the manifest, then as [`verify_binary`].
pub async fn verify_installed(installed: &Installed, environment: &Environment) -> Vec<Finding> {
    let owned = installed.clone();
    // Reading hundreds of megabytes blocks.
    let mut findings = tokio::task::spawn_blocking(move || verify_files(&owned))
        .await
        .unwrap_or_else(|error| vec![Finding::Problem(format!("the check ended early: {error}"))]);
    findings.extend(run_binary(&installed.binary, environment, Some(&installed.version)).await);
    findings
}

/// Any other binary: its version and whether it can start an app-server.
pub async fn verify_binary(path: &Path, environment: &Environment) -> Vec<Finding> {
    run_binary(path, environment, None).await
}

fn verify_files(installed: &Installed) -> Vec<Finding> {
    let manifest = &installed.manifest;
    let binary = FileRecord { size_bytes: manifest.size_bytes, sha256: manifest.sha256.clone() };
    let mut expected = manifest.files.clone();
    expected.insert(manifest.binary.clone(), binary);
    let problems: Vec<Finding> = expected
        .iter()
        .filter_map(|(name, expected)| {
            let problem = match record_file(&installed.folder.join(name)) {
                Ok(found) if found == *expected => return None,
                Ok(found) if found.size_bytes != expected.size_bytes => format!(
                    "{name} has {} bytes instead of {}",
                    found.size_bytes, expected.size_bytes
                ),
                Ok(_) => format!("{name} was changed: its sha256 is not the one recorded"),
                Err(error) => format!("{name} cannot be read: {error}"),
            };
            Some(Finding::Problem(problem))
        })
        .collect();
    if problems.is_empty() {
        let count = expected.len();
        return vec![Finding::Sound(format!(
            "sha256 of {count} files is as recorded at the install"
        ))];
    }
    problems
}

async fn run_binary(
    path: &Path,
    environment: &Environment,
    expected: Option<&semver::Version>,
) -> Vec<Finding> {
    let version = match (probe(path, environment).await, expected) {
        (Probe::Fits { version }, Some(expected)) if version != *expected => {
            Finding::Problem(format!("`codex --version` says {version} instead of {expected}"))
        }
        (Probe::Fits { version }, _) => Finding::Sound(format!("`codex --version` says {version}")),
        (other, _) => Finding::Problem(format!("the binary {other}")),
    };
    vec![version, start_app_server(path, environment).await]
}

async fn start_app_server(path: &Path, environment: &Environment) -> Finding {
    let mut command = child::codex_command(path, environment);
    command.args(["app-server", "--help"]);
    match child::run(command, HELP_DEADLINE).await {
        Run::Finished(finished) if finished.status.success() => {
            Finding::Sound("`codex app-server` starts".to_owned())
        }
        Run::Finished(finished) => Finding::Problem(format!(
            "`codex app-server --help` failed ({}): {}",
            finished.status,
            quote(&finished.stderr, environment)
        )),
        Run::TimedOut => Finding::Problem(format!(
            "`codex app-server --help` did not end within {} s",
            HELP_DEADLINE.as_secs()
        )),
        Run::NotStarted(error) => {
            Finding::Problem(format!("`codex app-server` does not start: {error}"))
        }
    }
}
