//! The note beside a worktree: which repository it belongs to, whatever becomes of its task.

use std::path::{Path, PathBuf};

use ostler_model::TaskId;
use ostler_model::task::Worktree;
use serde::{Deserialize, Serialize};

use super::{Work, WorktreeError, Worktrees};

const EXTENSION: &str = "json";

/// A worktree and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeShown {
    pub task: TaskId,
    pub worktree: Worktree,
    /// Work that is nowhere else; none if it cannot be seen, and then `trouble` says why.
    pub work: Option<Work>,
    pub trouble: Option<String>,
}

impl Worktrees {
    /// All of them, also those whose task was removed.
    pub(crate) async fn list(&self) -> Vec<WorktreeShown> {
        let mut shown = Vec::new();
        for (task, worktree) in self.notes() {
            let (work, trouble) = match self.work(&task, &worktree).await {
                Ok(work) => (Some(work), None),
                Err(error) => (None, Some(error.to_string())),
            };
            shown.push(WorktreeShown { task, worktree, work, trouble });
        }
        shown
    }

    pub(super) fn notes(&self) -> Vec<(TaskId, Worktree)> {
        noted_worktrees(&self.settings.folder)
    }

    pub(super) fn write_note(
        &self,
        task: &TaskId,
        worktree: &Worktree,
    ) -> Result<(), WorktreeError> {
        let path = self.note(task);
        let text = serde_json::to_vec_pretty(worktree).unwrap_or_default();
        let draft = path.with_extension("draft");
        let written = std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, &path));
        written.map_err(|error| WorktreeError::File {
            action: "write",
            path,
            reason: error.to_string(),
        })
    }

    pub(super) fn remove_note(&self, task: &TaskId) -> Result<(), WorktreeError> {
        let path = self.note(task);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(WorktreeError::File { action: "remove", path, reason: error.to_string() })
            }
            _ => Ok(()),
        }
    }

    fn note(&self, task: &TaskId) -> PathBuf {
        self.settings.folder.join(format!("{task}.{EXTENSION}"))
    }
}

/// The worktrees of a folder by the id of their task, also where no store knows the task. A note that cannot be read is left for
/// somebody to look at it.
pub fn noted_worktrees(folder: &Path) -> Vec<(TaskId, Worktree)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |path: PathBuf| {
        let task = TaskId::new(path.file_stem()?.to_str()?);
        path.extension().filter(|extension| *extension == EXTENSION)?;
        let note = std::fs::read(&path).ok()?;
        match serde_json::from_slice(&note) {
            Ok(worktree) => Some((task, worktree)),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the note of a worktree cannot be read");
                None
            }
        }
    };
    let mut notes: Vec<_> = entries.filter_map(|entry| read(entry.path())).collect();
    notes.sort_by(|(one, _), (other, _)| one.cmp(other));
    notes
}
