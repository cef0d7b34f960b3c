//! One task that is loaded: its machine, its thread, its asks, and the loop that performs what the machine wants.
//!
//! The loop has three phases: take what has happened, write it down, do what follows from it. Nothing is sent, answered or
//! told before it is written. If nothing can be written, the turn goes on and its events wait in memory, up to a bound.
//!
//! Start reading at [`Runner::run`]; `hear` takes what the thread tells, `asks` decides who answers, `perform` does what the
//! machine wants, `open` opens the thread, `log` gathers what is to be written.

mod answer;
mod asks;
mod desk;
mod hear;
mod log;
mod open;
mod perform;
mod recall;
mod turn_notes;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ostler_codex::thread::{Thread, ThreadUpdate, ThreadUpdates};
use ostler_model::task::machine::{Loaded, Machine, Signal, Unsettled};
use ostler_model::task::{DecisionRecord, Intent, IntentState, Wish};
use ostler_model::{AskId, IntentId, TaskId};
use ostler_store::{Committed, Seqs, StoreError, Write};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::hub::News;
use crate::pool::Seat;
use crate::shared::{Shared, now};
pub(crate) use answer::AnswerOrder;
pub use answer::{AnswerError, Reach, Remembering};
use desk::Desk;
use log::Log;
use open::Opened;
use perform::Todo;
use turn_notes::TurnNotes;

/// News that are taken before they are written down together. As many as a driver lets wait.
const TAKEN_AT_ONCE: usize = 1024;

/// Text that grows waits so long for more of it; people do not see the difference, and the disk does.
const LINGER: Duration = Duration::from_millis(5);

/// From one attempt to write to the next while the disk is full.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// What a runner is told.
#[derive(Debug)]
pub(crate) enum Order {
    /// It is written down already.
    Submit(Box<Intent>),
    Answer(Box<AnswerOrder>),
    /// There is room for it.
    Placed,
    /// Its time has come.
    Wake,
    /// Something may be written down for it that it was not told.
    Look,
    /// Ends the task for good; nothing of it may go on.
    Remove {
        done: oneshot::Sender<()>,
    },
}

/// What became of a runner.
#[derive(Debug)]
pub(crate) struct RunnerEnd {
    /// Unix milliseconds at which something is to be done on the task.
    pub(crate) wake_at: Option<i64>,
    /// There is no such task any more.
    pub(crate) is_gone: bool,
    pub(crate) result: Result<(), StoreError>,
}

pub(crate) struct Runner {
    id: TaskId,
    shared: Arc<Shared>,
    machine: Machine,
    /// Those that are not settled.
    intents: HashMap<IntentId, Intent>,
    /// Those that were there when the task was loaded. Whoever wrote one tells it too, and it may be settled by then.
    found: HashSet<IntentId>,
    desk: Desk,
    notes: TurnNotes,
    log: Log,
    todo: Vec<Todo>,
    stage: Option<Stage>,
    /// What runs beside the loop.
    works: JoinSet<Work>,
    /// When to leave if nothing happens.
    leave_at: Option<Instant>,
    /// The dispatcher knows that we may be let go.
    has_left: bool,
    /// When to try to write again.
    blocked_until: Option<Instant>,
    is_removed: bool,
}

/// The thread, and the app-server it is in.
struct Stage {
    thread: Thread,
    updates: ThreadUpdates,
    seat: Seat,
}

/// What comes back from beside the loop.
enum Work {
    Opened(Box<Result<Opened, ostler_model::Failure>>),
    /// The approver's word on an ask; none if it leaves the ask to people.
    Approved {
        ask: AskId,
        decision: Option<Box<DecisionRecord>>,
    },
    Done,
}

/// One thing that happened.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and most are the large one")]
enum Happened {
    Order(Order),
    Update(Option<ThreadUpdate>),
    Work(Work),
    Time,
    /// The dispatcher has let go of us.
    LetGo,
}

impl Runner {
    /// Loads the task and works on it until there is nothing to do, or until the daemon ends.
    pub(crate) async fn run(
        shared: Arc<Shared>,
        id: TaskId,
        mut inbox: mpsc::Receiver<Order>,
        stop: CancellationToken,
    ) -> RunnerEnd {
        let mut runner = match Self::load(shared, &id).await {
            Ok(Some(runner)) => runner,
            Ok(None) => return RunnerEnd { wake_at: None, is_gone: true, result: Ok(()) },
            Err(error) => return RunnerEnd { wake_at: None, is_gone: false, result: Err(error) },
        };
        let result = runner.work(&mut inbox, &stop).await;
        let wake_at = runner.clock();
        if !stop.is_cancelled() {
            runner.leave().await;
        }
        RunnerEnd { wake_at, is_gone: runner.is_removed, result }
    }

    async fn load(shared: Arc<Shared>, id: &TaskId) -> Result<Option<Self>, StoreError> {
        let store = &shared.store;
        let Some(task) = store.task(id).await? else { return Ok(None) };
        let intents = store.open_intents_of(id).await?;
        let mut desk = Desk::load(store, id).await?;
        desk.recall_escalations(store, &task).await?;
        let notes = TurnNotes::load(store, &task).await?;
        let unsettled = intents.iter().filter_map(unsettled).collect();
        let loaded = Loaded { intents: unsettled, asks: desk.for_people() };
        let (machine, effects) = Machine::load(now(), task, loaded);
        let mut runner = Self {
            id: id.clone(),
            log: Log::new(id.clone()),
            shared,
            machine,
            found: intents.iter().map(|intent| intent.id.clone()).collect(),
            intents: intents.into_iter().map(|intent| (intent.id.clone(), intent)).collect(),
            desk,
            notes,
            todo: Vec::new(),
            stage: None,
            works: JoinSet::new(),
            leave_at: None,
            has_left: false,
            blocked_until: None,
            is_removed: false,
        };
        runner.absorb(effects);
        runner.hear_decided();
        Ok(Some(runner))
    }

    async fn work(
        &mut self,
        inbox: &mut mpsc::Receiver<Order>,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        self.settle().await?;
        loop {
            self.plan_to_leave();
            let happened = tokio::select! {
                () = stop.cancelled() => return self.settle().await,
                happened = self.next(inbox) => happened,
            };
            if let Happened::LetGo = happened {
                return self.settle().await;
            }
            self.take(happened).await?;
            self.gather().await;
            self.settle().await?;
            if self.is_removed {
                return Ok(());
            }
        }
    }

    async fn next(&mut self, inbox: &mut mpsc::Receiver<Order>) -> Happened {
        let wake = self.wake_at();
        let update = async {
            match &mut self.stage {
                Some(stage) => stage.updates.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            order = inbox.recv() => order.map_or(Happened::LetGo, Happened::Order),
            update = update => Happened::Update(update),
            Some(work) = self.works.join_next() => Happened::Work(work.unwrap_or_else(|error| {
                tracing::error!(%error, "work beside a task failed");
                Work::Done
            })),
            () = until(wake) => Happened::Time,
        }
    }

    async fn take(&mut self, happened: Happened) -> Result<(), StoreError> {
        match happened {
            Happened::Order(order) => self.obey(order).await?,
            Happened::Update(Some(update)) => self.hear(update),
            Happened::Update(None) => self.lose_thread(),
            Happened::Work(Work::Opened(opened)) => self.opened(*opened),
            Happened::Work(Work::Approved { ask, decision }) => self.approved(&ask, decision),
            Happened::Work(Work::Done) | Happened::LetGo => {}
            Happened::Time => self.on_time(),
        }
        Ok(())
    }

    /// Takes what else is there. Text alone waits a moment for more of it.
    async fn gather(&mut self) {
        let linger = Instant::now() + LINGER;
        for _ in 0..TAKEN_AT_ONCE {
            let Some(stage) = &mut self.stage else { return };
            let update = match stage.updates.next().now_or_never() {
                Some(update) => update,
                None if self.log.is_empty() || self.log.is_worth_writing() => return,
                None => {
                    tokio::select! {
                        update = stage.updates.next() => update,
                        () = sleep_until(linger) => return,
                    }
                }
            };
            match update {
                Some(update) => self.hear(update),
                None => return self.lose_thread(),
            }
        }
    }

    /// Writes down what happened, then does what follows, until nothing follows any more.
    async fn settle(&mut self) -> Result<(), StoreError> {
        loop {
            self.tidy_asks();
            if !self.write().await? {
                return Ok(());
            }
            let todo = std::mem::take(&mut self.todo);
            if todo.is_empty() && self.log.is_empty() {
                return Ok(());
            }
            for todo in todo {
                self.perform(todo).await;
            }
        }
    }

    /// False if it must wait: then nothing that follows may be done yet.
    async fn write(&mut self) -> Result<bool, StoreError> {
        if self.log.is_empty() {
            return Ok(true);
        }
        if self.blocked_until.is_some_and(|until| Instant::now() < until) {
            // Not for each thing that happens: what waits is written whole, and there is more of it each time.
            return Ok(false);
        }
        let only_streams = self.log.only_streams();
        let batch = self.log.take(now());
        if only_streams {
            // Nothing follows from text that grows, so nobody waits for the disk; the store keeps it if it is full.
            return match self.shared.store.append(batch).await {
                Ok(()) => Ok(true),
                Err(error) if error.is_passing() => Ok(true),
                Err(error) => Err(error),
            };
        }
        let kept = batch.clone();
        match self.shared.store.commit(batch).await {
            Ok(Committed::Written(seqs)) => {
                self.blocked_until = None;
                self.tell_logged(&seqs);
                Ok(true)
            }
            Ok(other) => {
                tracing::error!(?other, task = %self.id, "a batch was not written as it is");
                Ok(true)
            }
            Err(error) if error.is_passing() => {
                if self.blocked_until.is_none() {
                    tracing::error!(%error, task = %self.id, "nothing can be written; the turn goes on");
                }
                self.log.put_back(kept);
                self.blocked_until = Some(Instant::now() + WRITE_AGAIN);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn tell_logged(&self, seqs: &[Seqs]) {
        if let Some(seqs) = seqs.iter().find(|seqs| seqs.task == self.id) {
            self.shared.hub.tell(&self.id, News::Logged { seq: seqs.last });
        }
    }

    async fn obey(&mut self, order: Order) -> Result<(), StoreError> {
        match order {
            Order::Submit(intent) => self.submit(*intent),
            Order::Answer(order) => self.answer(*order).await?,
            Order::Placed => self.step(Signal::Placed),
            Order::Wake => self.on_time(),
            Order::Look => {
                for intent in self.shared.store.open_intents_of(&self.id).await? {
                    self.submit(intent);
                }
            }
            Order::Remove { done } => {
                self.remove().await;
                if done.send(()).is_err() {
                    tracing::debug!(task = %self.id, "whoever removed it has gone");
                }
            }
        }
        Ok(())
    }

    /// An intent that was there when the task was loaded is known already.
    fn submit(&mut self, intent: Intent) {
        if self.found.contains(&intent.id) || self.intents.contains_key(&intent.id) {
            return;
        }
        let signal = match &intent.wish {
            Wish::Send { if_busy, .. } => {
                Signal::Submit { intent: intent.id.clone(), if_busy: *if_busy }
            }
            Wish::Interrupt => {
                Signal::Interrupt { intent: intent.id.clone(), by: intent.by.clone() }
            }
            Wish::Answer { .. } => return,
        };
        self.intents.insert(intent.id.clone(), intent);
        self.step(signal);
    }

    fn step(&mut self, signal: Signal) {
        let effects = self.machine.step(now(), signal);
        self.absorb(effects);
    }

    fn on_time(&mut self) {
        self.escalate();
        if self.leave_at.is_some_and(|at| at <= Instant::now()) {
            self.leave_at = None;
            self.todo.push(Todo::Leave);
        }
        self.step(Signal::Tick);
    }

    fn wake_at(&self) -> Option<Instant> {
        let clock = self.clock().map(|at| {
            let wait = u64::try_from(at.saturating_sub(now())).unwrap_or(0);
            Instant::now() + Duration::from_millis(wait)
        });
        [clock, self.leave_at, self.blocked_until].into_iter().flatten().min()
    }

    /// Unix milliseconds at which something is to be done, whatever else happens.
    fn clock(&self) -> Option<i64> {
        let clock = [self.machine.wake_at(), self.desk.escalates_at(self.machine.task())];
        clock.into_iter().flatten().min()
    }

    /// A thread stays open for a while, because more may be sent. What has none is let go at once.
    fn plan_to_leave(&mut self) {
        if self.has_left || !self.machine.is_at_rest() || !self.works.is_empty() {
            self.leave_at = None;
        } else if self.leave_at.is_none() {
            let wait = self.stage.as_ref().map_or(Duration::ZERO, |_| self.shared.idle_thread);
            self.leave_at = Some(Instant::now() + wait);
        }
    }

    /// The driver has ended, or we could not follow it.
    fn lose_thread(&mut self) {
        tracing::warn!(task = %self.id, "the thread is no longer driven; it is opened again");
        self.stage = None;
        self.desk.disconnected();
        self.step(Signal::ThreadLost);
    }

    /// Turns away from the thread. A turn that runs goes on without us.
    async fn leave(&mut self) {
        self.close_thread().await;
        self.machine.unloaded();
    }

    async fn close_thread(&mut self) {
        if let Some(Stage { thread, updates, seat }) = self.stage.take() {
            drop(updates);
            thread.close().await;
            drop(seat);
        }
    }

    /// Ends what runs, and forgets the task.
    async fn remove(&mut self) {
        if let Some(stage) = &self.stage {
            stage.thread.interrupt("removal of the task").await;
        }
        self.leave().await;
        self.is_removed = true;
    }

    /// The task's row anew; written with whatever else is written.
    fn note_task(&mut self) {
        let task = Box::new(self.machine.task().clone());
        self.log.push(Write::Task(task));
    }
}

fn unsettled(intent: &Intent) -> Option<Unsettled> {
    let id = intent.id.clone();
    Some(match (&intent.wish, &intent.state) {
        (Wish::Interrupt, _) => Unsettled::Interrupt { intent: id, by: intent.by.clone() },
        (Wish::Send { .. }, IntentState::Sent { .. }) => Unsettled::Sent(id),
        (Wish::Send { .. }, _) if intent.by == perform::OURSELVES => Unsettled::Owed(id),
        (Wish::Send { if_busy, .. }, _) => Unsettled::Waiting { intent: id, if_busy: *if_busy },
        (Wish::Answer { .. }, _) => return None,
    })
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
