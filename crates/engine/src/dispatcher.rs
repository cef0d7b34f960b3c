//! The one who decides which task is loaded, which may run, and when one is to go on.
//!
//! Everything that is to be done on a task is written down before it comes here; a task that is not loaded finds it when
//! it is. So nothing is lost if this ends at any point.

mod loaded;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ostler_model::task::{Awaited, Cause, Wish};
use ostler_model::{TaskId, TaskState};
use ostler_store::StoreError;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::line::Line;
use crate::runner::{Order, RunnerEnd};
use crate::shared::{Shared, instant_of, now};
use loaded::Loaded;
pub(crate) use words::{FromDoor, FromRunner, Waiting};

pub(crate) struct Dispatcher {
    shared: Arc<Shared>,
    line: Line,
    loaded: HashMap<TaskId, Loaded>,
    runners: JoinSet<RunnerEnd>,
    tasks: HashMap<tokio::task::Id, TaskId>,
    /// When which parked task goes on, in unix milliseconds.
    wakes: BTreeSet<(i64, TaskId)>,
    idle_at: Option<Instant>,
    stop: CancellationToken,
}

impl Dispatcher {
    pub(crate) fn new(shared: Arc<Shared>, line: Line, stop: CancellationToken) -> Self {
        Self {
            shared,
            line,
            loaded: HashMap::new(),
            runners: JoinSet::new(),
            tasks: HashMap::new(),
            wakes: BTreeSet::new(),
            idle_at: None,
            stop,
        }
    }

    /// Takes up what an earlier daemon left, then works until it is stopped. An error means that nothing can be written any
    /// more for good.
    pub(crate) async fn run(
        mut self,
        mut doors: mpsc::Receiver<FromDoor>,
        mut runners: mpsc::Receiver<FromRunner>,
    ) -> Result<(), StoreError> {
        self.recover().await?;
        self.serve_line();
        let mut result = Ok(());
        loop {
            let next_wake = self.next_wake();
            tokio::select! {
                () = self.stop.cancelled() => break,
                word = runners.recv() => match word {
                    Some(word) => self.hear(word),
                    None => break,
                },
                Some(want) = doors.recv() => self.want(want),
                Some(ended) = self.runners.join_next_with_id() => {
                    let (id, end) = match ended {
                        Ok((id, end)) => (id, Some(end)),
                        Err(error) => {
                            tracing::error!(%error, "a runner failed; its task is loaded again");
                            (error.id(), None)
                        }
                    };
                    if let Err(error) = self.ended(id, end) {
                        result = Err(error);
                        break;
                    }
                }
                () = self.shared.pool.login_changed.notified() => self.wake_for_login().await,
                () = self.shared.pool.wants_look.notified() => self.idle_at = Some(Instant::now()),
                () = until(next_wake) => self.on_time().await,
            }
            self.serve_line();
            self.make_look();
        }
        self.stop.cancel();
        self.loaded.clear();
        while self.runners.join_next().await.is_some() {
            // Each writes down what it has; what it tells nobody hears any more.
            while runners.try_recv().is_ok() {}
        }
        self.shared.pool.close().await;
        self.shared.on_disk.close().await;
        result
    }

    async fn recover(&mut self) -> Result<(), StoreError> {
        self.shared.pool.adopt().await;
        let mut waits = HashSet::new();
        for task in self.shared.store.unfinished().await? {
            match (task.state, task.wake_at) {
                (TaskState::Queued, _) => self.stand(&Waiting::of(&task)),
                (TaskState::Parked, Some(at)) => drop(self.wakes.insert((at, task.id.clone()))),
                // It was at work, or somebody decides whether it goes on and may have done so.
                _ => self.load(&task.id, false),
            }
            waits.insert(task.id);
        }
        // What was wanted and never heard. A send to a task that is not over waits with it.
        for intent in self.shared.store.open_intents().await? {
            let is_known = matches!(intent.wish, Wish::Send { .. }) && waits.contains(&intent.task);
            if !is_known && !self.loaded.contains_key(&intent.task) {
                self.load(&intent.task, false);
            }
        }
        self.idle_at = Some(Instant::now());
        Ok(())
    }

    /// Those that wait for another login look whether it is theirs.
    async fn wake_for_login(&mut self) {
        let unfinished = match self.shared.store.unfinished().await {
            Ok(unfinished) => unfinished,
            Err(error) => {
                return tracing::warn!(%error, "tasks that wait for a login were not woken");
            }
        };
        for task in unfinished {
            let waits = matches!(task.cause, Cause::Waiting { on: Awaited::Login, .. });
            if task.state == TaskState::Parked && waits {
                self.order(task.id, Order::Wake);
            }
        }
    }

    fn stand(&mut self, waiting: &Waiting) {
        self.line.wait(waiting.task.clone(), &waiting.starter, &waiting.pool);
    }

    /// Lets those run for whom there is room.
    fn serve_line(&mut self) {
        while let Some(task) = self.line.next() {
            match self.loaded.get(&task).map(|loaded| loaded.want) {
                Some(want) => self.order(task, Order::Placed { want }),
                None => self.load(&task, true),
            }
        }
    }

    fn hear(&mut self, word: FromRunner) {
        match word {
            FromRunner::WantPlace(waiting, want) => self.want_place(waiting, want),
            FromRunner::KeepPlace(Waiting { task, pool, .. }) => self.line.keep(&task, &pool),
            FromRunner::LeavePlace { task } => self.leave_line(&task),
            // It may be in line without having asked for a place itself.
            FromRunner::Moved { task, state } if state.is_over() || state == TaskState::Parked => {
                self.leave_line(&task);
            }
            FromRunner::Moved { task, state } => {
                self.line.set_waits(&task, state.waits_for_a_person());
            }
            FromRunner::AtRest { task } => {
                if let Some(loaded) =
                    self.loaded.get_mut(&task).filter(|loaded| loaded.late.is_none())
                {
                    loaded.late = Some(Vec::new());
                    // Its runner takes what it was told before, and ends.
                    loaded.orders = mpsc::channel(1).0;
                }
            }
            FromRunner::NewRule(rule) => self.shared.add_rule(*rule),
        }
    }

    fn want_place(&mut self, waiting: Waiting, want: u64) {
        if let Some(loaded) = self.loaded.get_mut(&waiting.task) {
            loaded.want = want;
            loaded.is_placed = false;
        }
        // It was loaded for its place, or its runner failed before it heard of it.
        if self.line.has_place(&waiting.task) {
            return self.order(waiting.task, Order::Placed { want });
        }
        self.stand(&waiting);
    }

    /// The place that it was loaded for is gone, too.
    fn leave_line(&mut self, task: &TaskId) {
        if let Some(loaded) = self.loaded.get_mut(task) {
            loaded.is_placed = false;
        }
        self.line.leave(task);
    }

    fn want(&mut self, want: FromDoor) {
        match want {
            FromDoor::Queue(waiting) => self.stand(&waiting),
            FromDoor::Do { task, order } => self.order(task, order),
            FromDoor::Room { most, most_per_pool } => self.line.set_room(most, most_per_pool),
            // Whoever knocked may have gone.
            FromDoor::Knock { done } => drop(done.send(())),
            FromDoor::Settle { task, done } => match self.loaded.contains_key(&task) {
                true => self.order(task, Order::Settle { done }),
                // Its runner has written all it had. Whoever asked may have gone.
                false => drop(done.send(())),
            },
            FromDoor::Release { task, done } => match self.loaded.contains_key(&task) {
                true => self.order(task, Order::Release { done }),
                // It has no thread open. Whoever asked may have gone.
                false => drop(done.send(true)),
            },
            FromDoor::Remove { task, done } => {
                // Its runner leaves the line when it ends.
                self.order(task, Order::Remove { done });
            }
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let wake = self.wakes.first().map(|(at, _)| instant_of(*at));
        [wake, self.idle_at].into_iter().flatten().min()
    }

    async fn on_time(&mut self) {
        if self.idle_at.is_some_and(|at| at <= Instant::now()) {
            self.idle_at = self.shared.pool.look().await.map(Instant::from_std);
        }
        while let Some((at, task)) = self.wakes.first().cloned() {
            if at > now() {
                break;
            }
            self.wakes.remove(&(at, task.clone()));
            self.order(task, Order::Wake);
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
