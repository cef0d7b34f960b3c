//! The one who decides which task is loaded, which may run, and when one is to go on.
//!
//! Everything that is to be done on a task is written down before it comes here; a task that is not loaded finds it when
//! it is. So nothing is lost if this ends at any point.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ostler_model::policy::Rule;
use ostler_model::task::Wish;
use ostler_model::{Task, TaskId, TaskState};
use ostler_store::StoreError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::engine::pool_name;
use crate::line::Line;
use crate::runner::{Order, Runner, RunnerEnd};
use crate::shared::{Shared, now};

/// Orders that wait for a runner, which takes them within milliseconds.
const QUEUED_ORDERS: usize = 64;

/// A runner that failed is not started again at once, lest it fail in a circle.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// What a runner tells.
#[derive(Debug)]
pub(crate) enum FromRunner {
    WantPlace(Waiting),
    KeepPlace(Waiting),
    LeavePlace {
        task: TaskId,
    },
    Moved {
        task: TaskId,
        state: TaskState,
    },
    /// It has nothing to do any more and may be let go.
    AtRest {
        task: TaskId,
    },
    NewRule(Box<Rule>),
}

/// What doors want.
#[derive(Debug)]
pub(crate) enum FromDoor {
    /// A new task, or one that has got something to do, which is written down.
    Do {
        task: TaskId,
        order: Order,
    },
    /// A new task that waits for its time.
    Queue(Waiting),
    Remove {
        task: TaskId,
        done: oneshot::Sender<()>,
    },
}

/// A task in line.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    task: TaskId,
    /// Those who start tasks take turns.
    starter: String,
    pool: String,
}

impl Waiting {
    pub(crate) fn of(task: &Task) -> Self {
        let (starter, pool) = (task.started_by.clone(), pool_name(&task.settings));
        Self { task: task.id.clone(), starter, pool }
    }
}

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

struct Loaded {
    orders: mpsc::Sender<Order>,
    /// It was let go and has not ended yet; these came since.
    late: Option<Vec<Order>>,
    /// It was loaded because there is room for it.
    is_placed: bool,
    /// It could not be told something that is written down.
    must_look: bool,
    /// It could not be told that there is room for it.
    must_place: bool,
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

    fn stand(&mut self, waiting: &Waiting) {
        self.line.wait(waiting.task.clone(), &waiting.starter, &waiting.pool);
    }

    /// Lets those run for whom there is room.
    fn serve_line(&mut self) {
        while let Some(task) = self.line.next() {
            match self.loaded.get(&task) {
                Some(_) => self.order(task, Order::Placed),
                None => self.load(&task, true),
            }
        }
    }

    fn load(&mut self, task: &TaskId, is_placed: bool) {
        let (orders, inbox) = mpsc::channel(QUEUED_ORDERS);
        let loaded = Loaded { orders, late: None, is_placed, must_look: false, must_place: false };
        self.loaded.insert(task.clone(), loaded);
        let runner = Runner::run(self.shared.clone(), task.clone(), inbox, self.stop.clone());
        let id = self.runners.spawn(runner).id();
        self.tasks.insert(id, task.clone());
    }

    fn hear(&mut self, word: FromRunner) {
        match word {
            FromRunner::WantPlace(waiting) => self.want_place(waiting),
            FromRunner::KeepPlace(Waiting { task, pool, .. }) => self.line.keep(&task, &pool),
            FromRunner::LeavePlace { task } => self.line.leave(&task),
            // It may be in line without having asked for a place itself.
            FromRunner::Moved { task, state } if state.is_over() || state == TaskState::Parked => {
                self.line.leave(&task);
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

    fn want_place(&mut self, waiting: Waiting) {
        let loaded = self.loaded.get_mut(&waiting.task);
        if let Some(loaded) = loaded.filter(|loaded| loaded.is_placed) {
            loaded.is_placed = false;
            return self.order(waiting.task, Order::Placed);
        }
        self.stand(&waiting);
    }

    fn want(&mut self, want: FromDoor) {
        match want {
            FromDoor::Queue(waiting) => self.stand(&waiting),
            FromDoor::Do { task, order } => self.order(task, order),
            FromDoor::Remove { task, done } => {
                self.line.leave(&task);
                self.wakes.retain(|(_, waiting)| *waiting != task);
                self.order(task, Order::Remove { done });
            }
        }
    }

    /// Never waits for a runner: one that waits for us would wait for ever.
    fn order(&mut self, task: TaskId, order: Order) {
        let Some(loaded) = self.loaded.get_mut(&task) else {
            self.load(&task, false);
            return self.order(task, order);
        };
        if let Some(late) = &mut loaded.late {
            return late.push(order);
        }
        match loaded.orders.try_send(order) {
            Ok(()) => {}
            // What is written down is found when the runner looks for it; who waits for an answer is told that there is none.
            Err(mpsc::error::TrySendError::Full(Order::Placed)) => loaded.must_place = true,
            Err(mpsc::error::TrySendError::Full(_)) => loaded.must_look = true,
            // It has just ended; it is loaded again when its end is heard.
            Err(mpsc::error::TrySendError::Closed(order)) => loaded.late = Some(vec![order]),
        }
    }

    /// Those whose queue was full look at what is written down for them.
    fn make_look(&mut self) {
        for loaded in self.loaded.values_mut().filter(|loaded| loaded.must_look) {
            loaded.must_look = loaded.orders.try_send(Order::Look).is_err();
        }
        for loaded in self.loaded.values_mut().filter(|loaded| loaded.must_place) {
            loaded.must_place = loaded.orders.try_send(Order::Placed).is_err();
        }
    }

    fn ended(&mut self, id: tokio::task::Id, ended: Option<RunnerEnd>) -> Result<(), StoreError> {
        let Some(task) = self.tasks.remove(&id) else { return Ok(()) };
        let loaded = self.loaded.remove(&task);
        let has_left_place = loaded.as_ref().is_some_and(|loaded| loaded.is_placed);
        let late = loaded.and_then(|loaded| loaded.late).unwrap_or_default();
        self.wakes.retain(|(_, waiting)| *waiting != task);
        if has_left_place || ended.as_ref().is_some_and(|end| end.is_gone) {
            self.line.leave(&task);
        }
        let again = now().saturating_add(i64::try_from(AFTER_FAILURE.as_millis()).unwrap_or(0));
        match ended {
            None => drop(self.wakes.insert((again, task.clone()))),
            Some(RunnerEnd { result: Err(error), .. }) if !error.is_of_the_batch() => {
                return Err(error);
            }
            Some(RunnerEnd { result: Err(error), .. }) => {
                tracing::error!(%error, %task, "a task cannot go on; it is tried again");
                self.wakes.insert((again, task.clone()));
            }
            Some(RunnerEnd { wake_at, .. }) => {
                self.wakes.extend(wake_at.map(|at| (at, task.clone())));
            }
        }
        for order in late {
            self.order(task.clone(), order);
        }
        Ok(())
    }

    fn next_wake(&self) -> Option<Instant> {
        let wake = self.wakes.first().map(|(at, _)| {
            let wait = u64::try_from(at.saturating_sub(now())).unwrap_or(0);
            Instant::now() + Duration::from_millis(wait)
        });
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
