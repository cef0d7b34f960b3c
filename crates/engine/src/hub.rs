//! Who watches which task. Nothing is told here before it is durable, but for text that grows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ostler_codex::driver::{Lines, WeakLines};
use ostler_model::task::Partial;
use ostler_model::{TaskId, TaskState};
use tokio::sync::broadcast;

/// News that a watcher may be behind. One that is further behind reads the store again.
const BEHIND: usize = 256;

/// Something to know about a task that is watched.
#[derive(Debug, Clone)]
pub enum News {
    /// The log has grown to this seq.
    Logged { seq: u64 },
    /// Text that has grown; `text` is only the new part, which begins at this byte of the whole.
    Grown { begins: u64, partial: Arc<Partial> },
    /// The task was removed, and its log with it.
    Gone,
}

/// A task has changed: for lists.
#[derive(Debug, Clone)]
pub struct Changed {
    pub task: TaskId,
    pub state: TaskState,
}

#[derive(Debug, Clone)]
pub(crate) struct Hub {
    tasks: Arc<Mutex<HashMap<TaskId, broadcast::Sender<News>>>>,
    /// Of tasks whose thread is open, or whose lines somebody looks at.
    lines: Arc<Mutex<HashMap<TaskId, WeakLines>>>,
    all: broadcast::Sender<Changed>,
}

impl Hub {
    pub(crate) fn new() -> Self {
        Self { tasks: Arc::default(), lines: Arc::default(), all: broadcast::channel(BEHIND).0 }
    }

    pub(crate) fn watch(&self, task: &TaskId) -> broadcast::Receiver<News> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|_, watchers| watchers.receiver_count() > 0);
        let watchers = tasks.entry(task.clone()).or_insert_with(|| broadcast::channel(BEHIND).0);
        watchers.subscribe()
    }

    /// Where Codex's own lines about a task are told, and heard.
    pub(crate) fn lines(&self, task: &TaskId) -> Lines {
        let mut all = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(task).and_then(WeakLines::upgrade) {
            return known;
        }
        all.retain(|_, lines| lines.upgrade().is_some());
        let lines = Lines::default();
        all.insert(task.clone(), lines.downgrade());
        lines
    }

    pub(crate) fn watch_all(&self) -> broadcast::Receiver<Changed> {
        self.all.subscribe()
    }

    /// Nobody may be watching: then the news are not even made.
    pub(crate) fn tell(&self, task: &TaskId, news: impl FnOnce() -> News) {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watchers) = tasks.get(task) {
            drop(watchers.send(news()));
        }
    }

    pub(crate) fn is_watched(&self, task: &TaskId) -> bool {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.get(task).is_some_and(|watchers| watchers.receiver_count() > 0)
    }

    /// To those who look at the task, and to those who keep a list.
    pub(crate) fn tell_gone(&self, task: &TaskId) {
        self.tell(task, || News::Gone);
        self.tell_changed(task, TaskState::Cancelled);
    }

    pub(crate) fn tell_changed(&self, task: &TaskId, state: TaskState) {
        drop(self.all.send(Changed { task: task.clone(), state }));
    }
}
