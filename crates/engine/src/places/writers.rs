//! Which tasks may write where at this moment.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_model::task::SandboxMode;
use ostler_model::{ItemId, Task, TaskId};

/// The tasks that are loaded: of others nothing runs.
#[derive(Debug, Default)]
pub(crate) struct Writers(Mutex<HashMap<TaskId, Writer>>);

#[derive(Debug, Default)]
struct Writer {
    /// As they are on the disk. None if its sandbox lets it write nowhere; without a sandbox it needs nobody's change to write.
    folders: Vec<PathBuf>,
    is_at_work: bool,
    /// Its commands of which no end was heard, also when their turn is over.
    commands: HashSet<ItemId>,
}

impl Writers {
    /// How the task stands.
    pub(crate) fn note(&self, task: &Task) {
        let settings = &task.settings;
        let folders = match settings.sandbox.mode {
            SandboxMode::WorkspaceWrite => {
                let roots = settings.sandbox.writable_roots.iter();
                let named = roots.chain([&settings.cwd]).map(PathBuf::from);
                let all = named.chain([PathBuf::from("/tmp")]);
                all.map(|folder| std::fs::canonicalize(&folder).unwrap_or(folder)).collect()
            }
            SandboxMode::ReadOnly | SandboxMode::DangerFullAccess => Vec::new(),
        };
        let mut writers = self.writers();
        let writer = writers.entry(task.id.clone()).or_default();
        (writer.folders, writer.is_at_work) = (folders, !task.state.is_over());
    }

    pub(crate) fn command_began(&self, task: &TaskId, item: &ItemId) {
        if let Some(writer) = self.writers().get_mut(task) {
            writer.commands.insert(item.clone());
        }
    }

    pub(crate) fn command_ended(&self, task: &TaskId, item: &ItemId) {
        if let Some(writer) = self.writers().get_mut(task) {
            writer.commands.remove(item);
        }
    }

    /// Nothing of it runs any more.
    pub(crate) fn unloaded(&self, task: &TaskId) {
        self.writers().remove(task);
    }

    /// Who may put a link into one of these folders while the change of this task is made.
    pub(crate) fn who_may_write(&self, own: &TaskId, folders: &[PathBuf]) -> Option<String> {
        let writers = self.writers();
        let mut found: Vec<(&TaskId, &Writer)> = writers
            .iter()
            .filter(|(id, writer)| {
                let is_active = !writer.commands.is_empty() || (*id != own && writer.is_at_work);
                let writes = |root: &PathBuf| folders.iter().any(|it| it.starts_with(root));
                is_active && writer.folders.iter().any(writes)
            })
            .collect();
        found.sort_by_key(|(id, _)| id.as_str());
        let (id, _) = found.first()?;
        Some(match *id == own {
            true => "a command of this task still runs and may write there".to_owned(),
            false => format!("task {id} may write there at the same time"),
        })
    }

    fn writers(&self) -> MutexGuard<'_, HashMap<TaskId, Writer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
