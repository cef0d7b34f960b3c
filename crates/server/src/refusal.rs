//! What the engine and the store refuse, as problems: one table for this door.

use ostler_engine::{AnswerError, Refusal, StoreError, WorktreeError};
use serde_json::json;

use crate::problem::{Problem, Trouble};

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let trouble = match &error {
            StoreError::NoTask(_) | StoreError::NoAsk(_) | StoreError::NoNotification(_) => {
                Trouble::NotFound
            }
            StoreError::KeyReused { .. }
            | StoreError::TaskIdTaken(_)
            | StoreError::AskIdTaken(_) => Trouble::Conflict,
            _ if error.is_passing() => Trouble::Unavailable,
            StoreError::Closed | StoreError::Fenced => Trouble::Closing,
            _ => Trouble::Internal,
        };
        Self::new(trouble, error.to_string())
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::Invalid { problems } => {
                Self::new(Trouble::BadRequest, detail).data(json!({ "problems": problems }))
            }
            Refusal::NoTask(_) | Refusal::NoTurn { .. } => Self::new(Trouble::NotFound, detail),
            Refusal::QueueFull { .. }
            | Refusal::TooManyAsks { .. }
            | Refusal::Overloaded { .. } => Self::new(Trouble::Unavailable, detail),
            Refusal::Busy { .. } => Self::new(Trouble::Busy, detail),
            Refusal::NothingRuns { ref task, what, .. } => Self::new(Trouble::Conflict, detail)
                .hint(match what {
                    "steered" => format!("`ostler send {task} \"…\"` gives it more to do"),
                    _ => "there is nothing to do".to_owned(),
                }),
            Refusal::AskKeyReused { .. } => Self::new(Trouble::Conflict, detail),
            Refusal::RuleOfFile { .. } => Self::new(Trouble::Conflict, detail)
                .hint("edit the file and send the daemon SIGHUP, or restart it"),
            Refusal::RuleNameTaken { .. } => Self::new(Trouble::Conflict, detail)
                .hint("to change a rule of the configuration, edit the file"),
            Refusal::Codex(failure) => {
                Self::new(Trouble::BadRequest, detail).hint(failure.advice())
            }
            Refusal::Worktree(error) => error.into(),
            Refusal::Ending => Self::new(Trouble::Closing, detail),
            Refusal::Store(error) => error.into(),
        }
    }
}

impl From<WorktreeError> for Problem {
    fn from(error: WorktreeError) -> Self {
        let detail = error.to_string();
        match error {
            WorktreeError::None { .. } => Self::new(Trouble::NotFound, detail),
            WorktreeError::NotMerged { work, kept_as } => Self::new(Trouble::Conflict, detail)
                .data(json!({ "work": work, "kept_as": kept_as })),
            WorktreeError::OnlyIgnored { work } => {
                Self::new(Trouble::Conflict, detail).data(json!({ "work": work }))
            }
            WorktreeError::Conflicts { into, files } => Self::new(Trouble::Conflict, detail)
                .data(json!({ "into": into, "conflicts": files })),
            WorktreeError::Removed { .. }
            | WorktreeError::AtWork { .. }
            | WorktreeError::NoTarget { .. }
            | WorktreeError::TargetGone { .. }
            | WorktreeError::TargetBusy { .. }
            | WorktreeError::Nested { .. } => Self::new(Trouble::Conflict, detail),
            WorktreeError::TooSlow { .. } | WorktreeError::File { .. } => {
                Self::new(Trouble::Unavailable, detail)
            }
            WorktreeError::NoGit { .. }
            | WorktreeError::Git { .. }
            | WorktreeError::TooLarge { .. }
            | WorktreeError::NoRepository { .. }
            | WorktreeError::NoCheckout { .. }
            | WorktreeError::NoCommit { .. }
            | WorktreeError::IsSubmodule { .. }
            | WorktreeError::HasSubmodules { .. }
            | WorktreeError::FolderNotCommitted { .. }
            | WorktreeError::Programs { .. }
            | WorktreeError::OwnPrograms { .. }
            | WorktreeError::InsideRepository { .. } => Self::new(Trouble::BadRequest, detail),
        }
    }
}

impl From<AnswerError> for Problem {
    fn from(error: AnswerError) -> Self {
        let detail = error.to_string();
        match error {
            AnswerError::NotFound(_) => Self::new(Trouble::NotFound, detail),
            AnswerError::Decided { by } => {
                Self::new(Trouble::Conflict, detail).data(json!({ "decided_by": by }))
            }
            AnswerError::Closed => Self::new(Trouble::Conflict, detail)
                .hint("`ostler why TASK` says what became of it"),
            AnswerError::NotOffered { offers } => {
                Self::new(Trouble::Conflict, detail).data(json!({ "offers": offers }))
            }
            AnswerError::NoRule(_) => {
                Self::new(Trouble::BadRequest, detail).hint("answer with `once` or `session`")
            }
            AnswerError::Agent(_) => Self::new(Trouble::AgentRefused, detail),
            AnswerError::Overloaded => Self::new(Trouble::Unavailable, detail),
            AnswerError::Ending => Self::new(Trouble::Closing, detail),
            AnswerError::Store(error) => error.into(),
        }
    }
}
