//! Who watches which task. Nothing is told here before it is durable, but for text that grows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Text that has grown; `text` is only the new part.
    Grown(Arc<Partial>),
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
    all: broadcast::Sender<Changed>,
}

impl Hub {
    pub(crate) fn new() -> Self {
        Self { tasks: Arc::default(), all: broadcast::channel(BEHIND).0 }
    }

    pub(crate) fn watch(&self, task: &TaskId) -> broadcast::Receiver<News> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|_, watchers| watchers.receiver_count() > 0);
        let watchers = tasks.entry(task.clone()).or_insert_with(|| broadcast::channel(BEHIND).0);
        watchers.subscribe()
    }

    pub(crate) fn watch_all(&self) -> broadcast::Receiver<Changed> {
        self.all.subscribe()
    }

    /// Nobody may be watching.
    pub(crate) fn tell(&self, task: &TaskId, news: News) {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watchers) = tasks.get(task) {
            drop(watchers.send(news));
        }
    }

    pub(crate) fn tell_changed(&self, task: &TaskId, state: TaskState) {
        drop(self.all.send(Changed { task: task.clone(), state }));
    }
}
