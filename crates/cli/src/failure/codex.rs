//! What goes wrong with Codex binaries.

use ostler_codex::binary::{CacheError, InstallError, NoBinary, NpmError, NpmFailure};

use super::{Exit, Failure};

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        let message = error.to_string();
        match error {
            InstallError::Version(_) => Self::new(Exit::Usage, message),
            InstallError::Npm { source, .. } | InstallError::Newest(source) => {
                npm_failure(message, &source)
            }
            InstallError::Cache(error) => error.into(),
            InstallError::WrongBinary { .. }
            | InstallError::Incomplete { .. }
            | InstallError::Platform(_)
            | InstallError::Aborted { .. } => Self::new(Exit::Failed, message),
        }
    }
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        let message = error.to_string();
        match error {
            CacheError::NotInstalled { version } => Self::new(Exit::NotFound, message)
                .hint(format!("run `ostler codex install {version}`")),
            CacheError::Locked { .. } => Self::new(Exit::TryAgainLater, message),
            CacheError::InUse { .. } | CacheError::Io { .. } => Self::new(Exit::Failed, message),
        }
    }
}

impl From<NoBinary> for Failure {
    fn from(nothing: NoBinary) -> Self {
        let message = match nothing.passed.as_slice() {
            [] => "no Codex was found".to_owned(),
            passed => {
                let reasons: Vec<String> =
                    passed.iter().map(|passed| format!("\n  {}", passed.why)).collect();
                format!("no Codex that works was found:{}", reasons.concat())
            }
        };
        Self::new(Exit::NotFound, message).hint("run `ostler codex install` to fetch one")
    }
}

fn npm_failure(message: String, error: &NpmError) -> Failure {
    match error {
        NpmError::Failed { failure: NpmFailure::NotPublished, .. } => {
            Failure::new(Exit::NotFound, message)
                .hint("`npm view @openai/codex versions` lists what there is")
        }
        NpmError::Missing => Failure::new(Exit::Failed, message)
            .hint("or name a Codex that you have: `ostler codex use /path/to/codex`"),
        _ => Failure::new(Exit::Failed, message),
    }
}
