//! One task that is loaded: its machine, its thread, its asks, and the loop that performs what the machine wants.
//!
//! The loop has three phases: take what has happened, write it down, do what follows from it. Nothing is sent, answered or
//! told before it is written. If nothing can be written, the turn goes on and its events wait in memory; past a bound they
//! wait with Codex.
//!
//! Start reading at [`Runner::run`]; `take`, `write` and `perform` are the three phases. `hear` takes what the thread tells,
//! `asks` what it asks, `decide` finds who answers, `open` opens the thread and `leave` turns away from it, `log` gathers
//! what is to be written.

mod answer;
mod asks;
mod clock;
mod decide;
mod desk;
mod goal;
mod hear;
mod leave;
mod log;
mod login;
mod missing;
mod model_choice;
mod open;
mod own_tools;
mod perform;
mod recall;
mod search;
mod take;
mod tell;
#[cfg(test)]
mod tests;
mod turn_notes;
mod waited;
mod write;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ostler_codex::thread::{Thread, ThreadUpdates};
use ostler_model::task::machine::{Loaded, Machine, Signal, Unsettled};
use ostler_model::task::{DecisionRecord, Intent, IntentState, Wish};
use ostler_model::{AskId, Failure, Goal, IntentId, ItemId, RuleId, TaskId};
use ostler_store::StoreError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::hub::News;
use crate::places::Led;
use crate::pool::Seat;
use crate::refusal::Refusal;
use crate::shared::{Shared, now};
pub(crate) use answer::AnswerOrder;
pub use answer::{AnswerError, Reach, Remembering};
pub(crate) use asks::short_id;
use desk::Desk;
pub(crate) use desk::asked_of;
use log::Log;
use open::Opened;
use perform::Todo;
use take::Happened;
use turn_notes::TurnNotes;

/// What a runner is told.
#[derive(Debug)]
pub(crate) enum Order {
    /// It is written down already.
    Submit(Box<Intent>),
    Answer(Box<AnswerOrder>),
    /// There is room for what it wanted.
    Placed {
        want: u64,
    },
    /// Its time has come.
    Wake,
    /// Something may be written down for it that it was not told.
    Look,
    /// Tells when all that was told of the task is written.
    Settle {
        done: oneshot::Sender<()>,
    },
    /// Closes its thread if nothing is done there. Tells whether it is closed.
    Release {
        done: oneshot::Sender<bool>,
    },
    /// Ends the task for good; nothing of it may go on.
    Remove {
        done: oneshot::Sender<Result<(), Refusal>>,
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
    /// Those that were there when the task was loaded, and those that are settled since. Whoever wrote one tells it too, and
    /// the store may still have it as open: it must not be taken for a new one.
    known: HashSet<IntentId>,
    desk: Desk,
    notes: TurnNotes,
    log: Log,
    /// Text that grew behind events that are not written yet. A round of the loop has few of them.
    held: Vec<News>,
    todo: Vec<Todo>,
    stage: Option<Stage>,
    /// The thread is being opened beside the loop.
    is_opening: bool,
    /// What runs beside the loop.
    works: JoinSet<Work>,
    /// When to leave if nothing happens.
    leave_at: Option<Instant>,
    /// The dispatcher knows that we may be let go.
    has_left: bool,
    /// Who waits until all that was told is written.
    waiting: Vec<oneshot::Sender<()>>,
    /// When to try to write again.
    blocked_until: Option<Instant>,
    /// By their steps: changes of files that a rule allowed, and where they led.
    led: HashMap<ItemId, (RuleId, Led)>,
    is_removed: bool,
    /// Something that is to be told is among what is written next.
    has_mail: bool,
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
    /// Our program that asks about its tool, by the driver's name of the ask; or why it is not taken for ours.
    Verified {
        driver: AskId,
        genuine: Result<String, String>,
    },
    /// The approver's word on an ask; none if it leaves the ask to people.
    Approved {
        ask: AskId,
        decision: Option<Box<DecisionRecord>>,
    },
    /// How the goal stands, and the wish that is fulfilled by it.
    Goal {
        intent: Option<IntentId>,
        outcome: Box<Result<Option<Goal>, Failure>>,
    },
    Done,
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
        runner.shared.on_disk.unloaded(&runner.id);
        runner.shared.writers.unloaded(&runner.id);
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
            log: Log::new(id.clone(), &store.partials(id).await?),
            shared,
            machine,
            known: intents.iter().map(|intent| intent.id.clone()).collect(),
            intents: intents.into_iter().map(|intent| (intent.id.clone(), intent)).collect(),
            desk,
            notes,
            held: Vec::new(),
            todo: Vec::new(),
            stage: None,
            is_opening: false,
            works: JoinSet::new(),
            leave_at: None,
            has_left: false,
            waiting: Vec::new(),
            blocked_until: None,
            led: HashMap::new(),
            is_removed: false,
            has_mail: false,
        };
        runner.shared.writers.note(runner.machine.task());
        runner.absorb(effects);
        runner.hear_decided();
        runner.look_at_login();
        Ok(Some(runner))
    }

    async fn work(
        &mut self,
        inbox: &mut mpsc::Receiver<Order>,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        self.settle_all().await?;
        let mut meanwhile = None;
        loop {
            self.plan_to_leave();
            let happened = match meanwhile.take() {
                Some(happened) => happened,
                None => tokio::select! {
                    () = stop.cancelled() => return self.settle_all().await,
                    happened = self.next(inbox) => happened,
                },
            };
            if let Happened::LetGo = happened {
                return self.settle_all().await;
            }
            self.take(happened).await?;
            loop {
                meanwhile = self.gather(inbox).await;
                self.settle().await?;
                if self.is_removed {
                    return Ok(());
                }
                // What the last steps left behind is written with what comes next, or after a moment.
                if meanwhile.is_some() || self.log.is_empty() || self.blocked_until.is_some() {
                    break;
                }
            }
        }
    }

    fn step(&mut self, signal: Signal) {
        let is_noted = is_in_the_row(&signal);
        let effects = self.machine.step(now(), signal);
        // Nothing may follow yet from what happened, and the row must say that it did: the turn of a task that ended while an
        // input was in doubt would be waited for without end by whoever finds it running there.
        if effects.is_empty() && is_noted {
            self.note_task();
        }
        self.absorb(effects);
    }
}

/// Whether a task's row may be another after this, though nothing follows.
fn is_in_the_row(signal: &Signal) -> bool {
    !matches!(signal, Signal::Tick)
}

fn unsettled(intent: &Intent) -> Option<Unsettled> {
    let id = intent.id.clone();
    Some(match (&intent.wish, &intent.state) {
        (Wish::Interrupt, _) => Unsettled::Interrupt { intent: id, by: intent.by.clone() },
        (Wish::Send { .. }, IntentState::Sent { .. }) => Unsettled::Sent(id),
        (Wish::Send { .. }, _) if intent.by == Intent::OURSELVES => Unsettled::Owed(id),
        (Wish::Send { if_busy, .. }, _) => Unsettled::Waiting { intent: id, if_busy: *if_busy },
        (Wish::Goal { goal }, _) => Unsettled::Goal { intent: id, change: goal.clone() },
        (Wish::Answer { .. }, _) => return None,
    })
}
