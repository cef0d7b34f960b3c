//! What changed on disk while a task worked, whoever changed it: the state of its folder before and after each turn.
//!
//! A state is a git tree in an object store of ours, also where the folder is in no repository (see `tree`). What Codex says of a
//! turn has only what it patched itself; what its commands wrote is seen here. What cannot be known is said to be unknown.
//!
//! Start reading at [`OnDisk::begin`] and [`OnDisk::ended`]; `found` makes diffs of what they recorded.

mod found;
mod record;
#[cfg(test)]
mod tests;
mod tree;
mod withheld;

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_codex::secrets::Secrets;
use ostler_model::{Task, TaskId, TurnId};
use ostler_store::Store;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::worktree::git::Git;
use crate::worktree::programs::named_by_repository;
pub(crate) use found::{DiskDiff, DiskDiffOf};
use record::{Record, State, TurnRecord};
use tree::NotTaken;

/// A state that takes longer is unknown, and so are all others of its task: a turn must not wait for it each time.
const DEADLINE: Duration = Duration::from_secs(10);

/// Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct OnDisk {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Holds one folder per task.
    folder: PathBuf,
    git: Git,
    /// The logins of all Codex homes that tasks were seen in, and the secret variables that app-servers are given.
    secrets: Secrets,
    tasks: Mutex<HashMap<TaskId, Seen>>,
    jobs: Mutex<JoinSet<()>>,
}

/// What this process has seen of a task.
#[derive(Debug, Clone)]
struct Seen {
    /// Ends of turns that are not recorded yet.
    pending: watch::Sender<usize>,
    /// One place, which is taken while its states are taken or read.
    turn: Arc<Semaphore>,
    /// Its last turn began, or an earlier one ended, while we looked.
    is_witnessed: bool,
    /// Where it works at this moment.
    works_in: Option<PathBuf>,
    /// Who worked there at the same time.
    others: BTreeSet<TaskId>,
}

impl OnDisk {
    pub(crate) fn new(folder: PathBuf, environment: &[(OsString, OsString)]) -> Self {
        let git = Git::new(environment);
        let secrets = Secrets::default();
        secrets.learn_environment(environment);
        let (tasks, jobs) = (Mutex::default(), Mutex::default());
        Self { inner: Arc::new(Inner { folder, git, secrets, tasks, jobs }) }
    }

    /// What git runs in a folder because only the repository there names it.
    pub(crate) async fn programs_in(&self, folder: &Path) -> Vec<(String, String)> {
        named_by_repository(&self.inner.git, folder).await
    }

    /// Before a turn is begun.
    pub(crate) async fn begin(&self, task: &Task) {
        let seen = self.seen(&task.id);
        wait_for(&seen).await;
        let _turn = seen.turn.acquire().await;
        let mut record = self.read(&task.id).await;
        let state = self.state(&task.id, task, &mut record).await;
        if record.begin.is_none() {
            record.begin = Some(match task.last_result {
                None => state.clone(),
                Some(_) => State::unknown("it began before changes on disk were recorded"),
            });
        }
        record.before = Some(state);
        self.enter(&task.id, record.top().unwrap_or(Path::new(&task.settings.cwd)));
        self.write(&task.id, &record).await;
    }

    /// A turn has ended. The state is taken beside whatever follows; whoever asks for a diff waits for it.
    pub(crate) fn ended(&self, task: &Task, turn: &TurnId) {
        let seen = self.seen(&task.id);
        let pending = Pending::new(seen.pending.clone());
        let others = self.leave(&task.id);
        let (disk, task, turn) = (self.clone(), task.clone(), turn.clone());
        let mut jobs = self.inner.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        while jobs.try_join_next().is_some() {}
        jobs.spawn(async move {
            let _pending = pending;
            let _turn = seen.turn.acquire().await;
            let mut record = disk.read(&task.id).await;
            if record.turns.iter().any(|known| known.turn == turn) {
                return;
            }
            let after = disk.state(&task.id, &task, &mut record).await;
            let last = record.turns.last().map(|last| last.after.clone());
            // One that Codex began by itself goes on from where the last one ended.
            let before = record.before.take().or(last);
            let before = before
                .unwrap_or_else(|| State::unknown("the daemon was not there when the turn began"));
            let is_late = !seen.is_witnessed;
            record.turns.push(TurnRecord { turn, before, after, is_late, others });
            disk.write(&task.id, &record).await;
        });
    }

    /// With the task.
    pub(crate) async fn forget(&self, task: &TaskId) {
        let seen = self.tasks().remove(task);
        if let Some(seen) = seen {
            // What is recorded at this moment would be left behind.
            wait_for(&seen).await;
        }
        let folder = self.folder_of(task);
        match tokio::fs::remove_dir_all(&folder).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, folder = %folder.display(), "states of a removed task stay");
            }
            _ => {}
        }
    }

    /// Nothing is done on the task for now.
    pub(crate) fn unloaded(&self, task: &TaskId) {
        let mut tasks = self.tasks();
        // One is ours and one that of whoever calls; a third begins a turn at this moment.
        let is_idle = |seen: &Seen| {
            let is_used = Arc::strong_count(&seen.turn) > 2 || *seen.pending.borrow() > 0;
            seen.works_in.is_none() && !is_used
        };
        if tasks.get(task).is_some_and(is_idle) {
            tasks.remove(task);
        }
    }

    /// Removes what is left of tasks that were removed while the daemon died.
    pub(crate) async fn tidy(&self, store: &Store) {
        let Ok(mut entries) = tokio::fs::read_dir(&self.inner.folder).await else { return };
        while let Ok(Some(entry)) = entries.next_entry().await {
            let task = entry.file_name().to_str().map(TaskId::new);
            if let Some(task) = task
                && let Ok(None) = store.task(&task).await
            {
                self.forget(&task).await;
            }
        }
    }

    /// Until all that was begun is recorded. Each has its deadline.
    pub(crate) async fn close(&self) {
        let jobs =
            std::mem::take(&mut *self.inner.jobs.lock().unwrap_or_else(PoisonError::into_inner));
        drop(jobs.join_all().await);
    }

    /// What must not be shown or kept of what this task's commands may have read, as it is now.
    pub(crate) async fn secrets(&self, task: &Task) -> Secrets {
        let secrets = self.inner.secrets.clone();
        let (watched, home) = (secrets.clone(), task.settings.codex.home.clone());
        // It reads a small file for each home.
        let watch = move || match home {
            Some(home) => watched.watch_login(Path::new(&home)),
            None => watched.look_again(true),
        };
        drop(tokio::task::spawn_blocking(watch).await);
        secrets
    }

    /// The folder as it is now. One that was too large or too slow once is not tried again.
    async fn state(&self, id: &TaskId, task: &Task, record: &mut Record) -> State {
        if let Some(why) = &record.hopeless {
            return State::unknown(why.clone());
        }
        let cwd = Path::new(&task.settings.cwd);
        let own = self.folder_of(id);
        let secrets = self.secrets(task).await;
        let taken = tree::take(&self.inner.git, &own, cwd, &secrets, record);
        let (why, is_hopeless) = match timeout(DEADLINE, taken).await {
            Ok(Ok(state)) => return state,
            Ok(Err(NotTaken::TooMuch(why))) => (why, true),
            Ok(Err(NotTaken::Failed(why))) => (why, false),
            Err(_) => (format!("reading it took longer than {} s", DEADLINE.as_secs()), true),
        };
        let why = format!("the state of {} is not known: {why}", cwd.display());
        record.hopeless = is_hopeless.then(|| why.clone());
        State::unknown(why)
    }

    fn seen(&self, task: &TaskId) -> Seen {
        let new = || Seen {
            pending: watch::Sender::new(0),
            turn: Arc::new(Semaphore::new(1)),
            is_witnessed: false,
            works_in: None,
            others: BTreeSet::new(),
        };
        self.tasks().entry(task.clone()).or_insert_with(new).clone()
    }

    /// Those who work in the same place are told of each other.
    fn enter(&self, task: &TaskId, top: &Path) {
        let mut tasks = self.tasks();
        let is_near = |seen: &Seen| {
            let works_in = seen.works_in.as_deref();
            works_in.is_some_and(|other| other.starts_with(top) || top.starts_with(other))
        };
        let mut others = BTreeSet::new();
        for (other, seen) in
            tasks.iter_mut().filter(|(other, seen)| *other != task && is_near(seen))
        {
            others.insert(other.clone());
            seen.others.insert(task.clone());
        }
        if let Some(seen) = tasks.get_mut(task) {
            seen.works_in = Some(top.to_owned());
            seen.is_witnessed = true;
            seen.others = others;
        }
    }

    fn leave(&self, task: &TaskId) -> BTreeSet<TaskId> {
        let mut tasks = self.tasks();
        let Some(seen) = tasks.get_mut(task) else { return BTreeSet::new() };
        seen.works_in = None;
        // Who begins in the next moment did not work beside the turn that has ended.
        seen.is_witnessed = true;
        std::mem::take(&mut seen.others)
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<TaskId, Seen>> {
        self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder_of(&self, task: &TaskId) -> PathBuf {
        self.inner.folder.join(task.as_str())
    }
}

/// Twice the deadline: one end may stand behind another. After that what is there counts.
async fn wait_for(seen: &Seen) {
    let mut pending = seen.pending.subscribe();
    drop(timeout(DEADLINE * 2, pending.wait_for(|pending| *pending == 0)).await);
}

/// Counts an end that is not recorded yet, until it is dropped.
struct Pending(watch::Sender<usize>);

impl Pending {
    fn new(pending: watch::Sender<usize>) -> Self {
        pending.send_modify(|pending| *pending += 1);
        Self(pending)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.send_modify(|pending| *pending -= 1);
    }
}
