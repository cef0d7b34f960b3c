//! Asks a binary which Codex it is.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use semver::Version;

use super::child::{self, Run};
use super::environment::Environment;
use super::version::{OLDEST, first_version_in};
use crate::keeper::redact;

/// `codex --version` takes about 0.1 s; a cold disk or a loaded machine takes seconds.
const DEADLINE: Duration = Duration::from_secs(10);

/// How much of a failed probe's own words is repeated to the person.
const QUOTED_CHARS: usize = 400;

/// What came of `codex --version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    Fits { version: Version },
    TooOld { version: Version },
    NotFound,
    NotExecutable { reason: String },
    TimedOut { after: Duration },
    Failed { status: String, stderr: String },
    Unparsable { output: String },
}

impl fmt::Display for Probe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fits { version } => write!(formatter, "is Codex {version}"),
            Self::TooOld { version } => write!(
                formatter,
                "is Codex {version}, which is too old; the oldest that works is {OLDEST}"
            ),
            Self::NotFound => formatter.write_str("is not there"),
            Self::NotExecutable { reason } => write!(formatter, "cannot be executed: {reason}"),
            Self::TimedOut { after } => {
                write!(formatter, "did not answer `--version` within {} s", after.as_secs())
            }
            Self::Failed { status, stderr } if stderr.is_empty() => {
                write!(formatter, "failed on `--version` ({status})")
            }
            Self::Failed { status, stderr } => {
                write!(formatter, "failed on `--version` ({status}): {stderr}")
            }
            Self::Unparsable { output } => {
                write!(formatter, "answered `--version` without a version number: {output:?}")
            }
        }
    }
}

/// Runs `path --version` with closed stdin.
pub async fn probe(path: &Path, environment: &Environment) -> Probe {
    probe_within(path, environment, DEADLINE).await
}

async fn probe_within(path: &Path, environment: &Environment, deadline: Duration) -> Probe {
    let mut command = child::codex_command(path, environment);
    command.arg("--version");
    let finished = match child::run(command, deadline).await {
        Run::Finished(finished) => finished,
        Run::TimedOut => return Probe::TimedOut { after: deadline },
        // A script whose interpreter is missing also fails with "not found", although the file is there.
        Run::NotStarted(error) if error.kind() == ErrorKind::NotFound && !path.exists() => {
            return Probe::NotFound;
        }
        Run::NotStarted(error) => {
            return Probe::NotExecutable { reason: error.to_string() };
        }
    };
    if !finished.status.success() {
        return Probe::Failed {
            status: finished.status.to_string(),
            stderr: quote(&finished.stderr, environment),
        };
    }
    match first_version_in(&finished.stdout) {
        None => Probe::Unparsable { output: quote(&finished.stdout, environment) },
        Some(version) if version < OLDEST => Probe::TooOld { version },
        Some(version) => Probe::Fits { version },
    }
}

/// Without secrets, before anything is cut: half a secret would not be recognised.
pub(super) fn quote(text: &str, environment: &Environment) -> String {
    redact(text, environment.variables()).trim().chars().take(QUOTED_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use ostler_testkit::write_script;

    use super::*;

    async fn check(script: &str, mode: u32, expected: Probe) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("codex");
        write_script(&path, script, mode).unwrap();
        let environment = Environment::default().with("PATH", "/usr/bin:/bin");
        // Only the hanging script reaches this deadline; the others end at once.
        let deadline = if script.contains("sleep") { 1 } else { 60 };
        let outcome = probe_within(&path, &environment, Duration::from_secs(deadline)).await;
        assert_eq!(outcome, expected, "{script:?}");
    }

    #[tokio::test]
    async fn every_outcome_has_its_name() {
        let version = Version::new(0, 130, 0);
        check("#!/bin/sh\necho codex-cli 0.130.0", 0o755, Probe::Fits { version }).await;
        let version = Version::new(0, 99, 0);
        check("#!/bin/sh\necho codex-cli 0.99.0", 0o755, Probe::TooOld { version }).await;
        let reason = "Permission denied (os error 13)".to_owned();
        check("#!/bin/sh\n", 0o644, Probe::NotExecutable { reason }).await;
        let reason = "No such file or directory (os error 2)".to_owned();
        check("#!/no/such/shell\n", 0o755, Probe::NotExecutable { reason }).await;
        let after = Duration::from_secs(1);
        check("#!/bin/sh\nsleep 600", 0o755, Probe::TimedOut { after }).await;
        check(
            "#!/bin/sh\necho no glibc >&2; exit 7",
            0o755,
            Probe::Failed { status: "exit status: 7".to_owned(), stderr: "no glibc".to_owned() },
        )
        .await;
        let output = "hello".to_owned();
        check("#!/bin/sh\necho hello", 0o755, Probe::Unparsable { output }).await;
        let nowhere = Path::new("/no/such/codex");
        assert_eq!(probe(nowhere, &Environment::default()).await, Probe::NotFound);
    }

    #[tokio::test]
    async fn a_secret_reaches_neither_the_binary_nor_the_quote() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("codex");
        let script = r#"#!/bin/sh
echo "[$GH_TOKEN] [$OPENAI_API_KEY] $CODEX_HOME" >&2; exit 1"#;
        write_script(&path, script, 0o755).unwrap();
        let environment = Environment::default()
            .with("PATH", "/usr/bin:/bin")
            .with("GH_TOKEN", "ghp_canary0123456789")
            .with("OPENAI_API_KEY", "canary-without-a-form");
        let outcome = probe(&path, &environment).await;
        let stderr = "[] [[OPENAI_API_KEY]] /dev/null/none".to_owned();
        assert_eq!(outcome, Probe::Failed { status: "exit status: 1".to_owned(), stderr });
    }

    #[tokio::test]
    async fn stdin_is_closed() {
        let version = Version::new(0, 130, 0);
        check("#!/bin/sh\nread line && exit 1\necho 0.130.0", 0o755, Probe::Fits { version }).await;
    }
}
