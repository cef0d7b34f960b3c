//! What it means at the door that a thread cannot be opened.

use ostler_codex::thread::InputError;
use ostler_codex::thread::open::OpenError;

use super::{Exit, Failure};

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let message = error.to_string();
        match error {
            OpenError::Invalid(_) | OpenError::Unsupported(_) => Self::new(Exit::Usage, message),
            OpenError::NotFound { .. } => Self::new(Exit::NotFound, message)
                .hint("is it in another CODEX_HOME? a thread lives in the one it was made in"),
            OpenError::Archived { .. } => Self::new(Exit::Failed, message),
            OpenError::BusyElsewhere { .. } => Self::new(Exit::TryAgainLater, message)
                .hint("`ostler keeper list` shows the app-servers that ostler started"),
            OpenError::Closing { .. } => Self::new(Exit::TryAgainLater, message),
            OpenError::Wider { .. } => Self::new(Exit::Failed, message).hint(
                "give --sandbox and --approval as the thread has them to use it all the same",
            ),
            _ => Self::new(Exit::Failed, message),
        }
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self::new(Exit::Usage, error.to_string())
    }
}
