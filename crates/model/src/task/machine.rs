//! The rules of a task that is at work: signals in, effects out.
//!
//! The thread's own machine keeps turns, inputs and asks in order; this one says what becomes of the task: when it may run,
//! what it does after a turn, a limit, a crash or an edge of its budget, and what is proven of what we owe it. It holds the
//! [`Task`] as it stands; whoever performs the effects writes the task and the effects down before anything of it is told.

mod budget;
mod ends;
mod signal;

pub use signal::{AskedOf, Effect, MayContinue, Owed, Signal, WhyAsk};

use std::collections::{BTreeMap, VecDeque};

use super::intent::{IntentState, NotDone, Receipt};
use super::state::{Cause, TaskState};
use super::{Edge, Task};
use crate::failure::{Failure, FailureClass};
use crate::id::{AskId, IntentId, TurnId};
use crate::thread::{IfBusy, Update};

/// An interrupt of which only the intent is known.
const EARLIER: &str = "an earlier interrupt";

/// A task that is loaded.
#[derive(Debug, Clone)]
pub struct Machine {
    task: Task,
    /// Unix milliseconds of the signal at hand.
    now: i64,
    phase: Phase,
    place: Place,
    /// Inputs not yet given, in order.
    queue: VecDeque<IntentId>,
    /// Inputs given and not yet proven.
    given: Vec<IntentId>,
    interrupts: Vec<IntentId>,
    /// Who wants the turn to end that runs as soon as the thread is open.
    stop: Option<String>,
    asks: BTreeMap<AskId, AskedOf>,
    /// An edge was reached in the running turn, which is being interrupted for it.
    edge: Option<Edge>,
    /// Tokens of the running turn, without and with sub-agents.
    turn_tokens: u64,
    agents_tokens: u64,
    /// Since when the running turn works without waiting for people.
    working_since: Option<i64>,
    crashes: u32,
}

/// The thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed,
    Opening,
    Open,
}

/// The task's share of what may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    None,
    Wanted,
    Held,
}

/// What a task is loaded with beside its row.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// Inputs that are not proven, oldest first.
    pub pending: Vec<IntentId>,
    /// Those that may have reached Codex.
    pub sent: Vec<IntentId>,
    /// Interrupts that are not proven.
    pub interrupts: Vec<IntentId>,
    /// Asks for people that are open or parked.
    pub asks: BTreeMap<AskId, AskedOf>,
}

impl Machine {
    /// A task that was just started.
    pub fn new(task: Task) -> Self {
        Self {
            now: task.updated_at,
            task,
            phase: Phase::Closed,
            place: Place::None,
            queue: VecDeque::new(),
            given: Vec::new(),
            interrupts: Vec::new(),
            stop: None,
            asks: BTreeMap::new(),
            edge: None,
            turn_tokens: 0,
            agents_tokens: 0,
            working_since: None,
            crashes: 0,
        }
    }

    /// A task from the store. If it was at work when our process ended, it is found out what became of it.
    pub fn load(now: i64, task: Task, loaded: Loaded) -> (Self, Vec<Effect>) {
        let mut machine = Self::new(task);
        machine.now = now;
        machine.queue = loaded.pending.into();
        machine.given = loaded.sent;
        machine.interrupts = loaded.interrupts;
        let mut out = Vec::new();
        let was_at_work = machine.task.state.is_at_work();
        if was_at_work || machine.task.turn.is_some() || !machine.given.is_empty() {
            machine.asks = loaded.asks;
            machine.shift(TaskState::Recovering, Cause::DaemonStarted, &mut out);
            machine.stop = (!machine.interrupts.is_empty()).then(|| EARLIER.to_owned());
            machine.phase = Phase::Opening;
            machine.place = Place::Held;
            // It runs already: whether there is room is no question.
            out.extend([Effect::KeepPlace, Effect::Open]);
        } else if machine.task.state == TaskState::Queued {
            machine.go_on(&mut out);
        }
        (machine, out)
    }

    pub fn task(&self) -> &Task {
        &self.task
    }

    /// For what the rules do not look at: the thread's name, the keeper, the log's length.
    pub fn task_mut(&mut self) -> &mut Task {
        &mut self.task
    }

    pub fn step(&mut self, now: i64, signal: Signal) -> Vec<Effect> {
        let mut out = Vec::new();
        self.now = now;
        match signal {
            Signal::Submit { intent, if_busy } => self.submit(intent, if_busy, &mut out),
            Signal::Interrupt { intent, by } => self.interrupt(intent, &by, &mut out),
            Signal::Placed => self.placed(&mut out),
            Signal::Opened => self.opened(&mut out),
            Signal::OpenFailed { failure } => self.open_failed(failure, &mut out),
            Signal::Told(update) => self.told(*update, &mut out),
            Signal::Asked { ask, of } => self.asked(ask, of, &mut out),
            Signal::AskGone { ask } => self.ask_gone(&ask, &mut out),
            Signal::MayContinue { answer, by } => self.may_continue(answer, by, &mut out),
            Signal::AgentsUsed { tokens } => {
                self.agents_tokens = tokens;
                self.watch_budget(&mut out);
            }
            Signal::Tick => self.tick(&mut out),
        }
        self.keep_time();
        out
    }

    /// Unix milliseconds at which [`Signal::Tick`] is wanted at the latest.
    pub fn wake_at(&self) -> Option<i64> {
        let most = self.task.budget.work_ms?;
        let since = self.working_since?;
        let left = most.saturating_sub(self.task.spent.work_ms);
        self.edge.is_none().then(|| since.saturating_add(i64::try_from(left).unwrap_or(i64::MAX)))
    }

    /// Whether nothing goes on and nothing waits to: the task need not be loaded.
    pub fn is_at_rest(&self) -> bool {
        self.task.turn.is_none()
            && self.given.is_empty()
            && self.place == Place::None
            && self.phase != Phase::Opening
    }

    fn submit(&mut self, intent: IntentId, if_busy: IfBusy, out: &mut Vec<Effect>) {
        let is_busy = self.task.turn.is_some() || !self.given.is_empty();
        match if_busy {
            IfBusy::Fail if is_busy || !self.queue.is_empty() => {
                let failure = Failure::new(FailureClass::Busy, "the task is at work");
                let to = IntentState::NotDone { why: NotDone::Refused { failure } };
                return out.push(Effect::Settle { intent, to });
            }
            IfBusy::Steer if is_busy && self.phase == Phase::Open => {
                return self.give(intent, if_busy, out);
            }
            IfBusy::Interrupt if is_busy => {
                self.queue.push_front(intent.clone());
                return self.stop_turn("a new input", out);
            }
            _ => self.queue.push_back(intent.clone()),
        }
        if self.task.state.is_over() {
            self.shift(TaskState::Queued, Cause::Submitted { intent }, out);
        }
        self.go_on(out);
    }

    /// An input of our own goes first.
    pub fn owe(&mut self, now: i64, intent: IntentId) -> Vec<Effect> {
        let mut out = Vec::new();
        self.now = now;
        self.queue.push_front(intent);
        self.go_on(&mut out);
        self.keep_time();
        out
    }

    fn interrupt(&mut self, intent: IntentId, by: &str, out: &mut Vec<Effect>) {
        if self.task.turn.is_some() || !self.given.is_empty() {
            self.interrupts.push(intent);
            return self.stop_turn(by, out);
        }
        if self.task.state.is_over() && self.queue.is_empty() {
            let to = IntentState::NotDone { why: NotDone::TooLate };
            return out.push(Effect::Settle { intent, to });
        }
        for waiting in std::mem::take(&mut self.queue) {
            let why = NotDone::Withdrawn { by: by.to_owned() };
            out.push(Effect::Settle { intent: waiting, to: IntentState::NotDone { why } });
        }
        let to = IntentState::Done { receipt: Receipt::Nothing };
        out.push(Effect::Settle { intent, to });
        self.task.wake_at = None;
        if !self.task.state.is_over() {
            self.end(TaskState::Cancelled, Cause::Withdrawn { by: by.to_owned() }, out);
        }
    }

    pub(super) fn stop_turn(&mut self, by: &str, out: &mut Vec<Effect>) {
        match self.phase {
            Phase::Open => out.push(Effect::Interrupt { by: by.to_owned() }),
            _ => self.stop = Some(by.to_owned()),
        }
    }

    fn placed(&mut self, out: &mut Vec<Effect>) {
        if self.place != Place::Wanted {
            return out.push(Effect::LeavePlace);
        }
        self.place = Place::Held;
        self.go_on(out);
    }

    fn opened(&mut self, out: &mut Vec<Effect>) {
        if self.phase != Phase::Opening {
            // Nobody wants it any more.
            self.phase = Phase::Open;
            return out.push(Effect::Rest);
        }
        self.phase = Phase::Open;
        let is_busy = self.task.turn.is_some() || !self.given.is_empty();
        if let Some(by) = self.stop.take().filter(|_| is_busy) {
            out.push(Effect::Interrupt { by });
        }
        if self.task.turn.is_some() {
            return self.show_work(Cause::Rejoined, out);
        }
        if is_busy {
            return;
        }
        self.settle_interrupts(None, out);
        match self.queue.is_empty() {
            // It was between two states when our process ended, and has nothing left to do.
            true => self.end(TaskState::Cancelled, Cause::Rejoined, out),
            false => self.go_on(out),
        }
    }

    fn open_failed(&mut self, failure: Failure, out: &mut Vec<Effect>) {
        self.phase = Phase::Closed;
        self.task.turn = None;
        for intent in std::mem::take(&mut self.given) {
            let why = format!("the thread could not be opened again: {}", failure.message);
            out.push(Effect::Settle { intent, to: IntentState::Unknown { why } });
        }
        self.settle_interrupts(None, out);
        // The input at the front is what could not be done; those behind it are held until somebody says more.
        if let Some(intent) = self.queue.pop_front() {
            let why = NotDone::Refused { failure: failure.clone() };
            out.push(Effect::Settle { intent, to: IntentState::NotDone { why } });
        }
        self.end(TaskState::Failed, Cause::StartFailed { failure }, out);
    }

    fn told(&mut self, update: Update, out: &mut Vec<Effect>) {
        match update {
            Update::TurnBegan { turn } => self.turn_began(turn, out),
            Update::InputTaken { input, turn } => {
                let intent = IntentId::new(input.as_str());
                self.given.retain(|given| *given != intent);
                let to = IntentState::Done { receipt: Receipt::Taken { turn } };
                out.push(Effect::Settle { intent, to });
            }
            Update::InputRefused { input, failure } => {
                self.refused(IntentId::new(input.as_str()), failure, out)
            }
            Update::Usage { usage, .. } => {
                self.turn_tokens = usage.turn.total();
                self.watch_budget(out);
            }
            Update::TurnEnded { result } => self.turn_ended(*result, out),
            _ => {}
        }
    }

    fn turn_began(&mut self, turn: TurnId, out: &mut Vec<Effect>) {
        if self.task.turn.as_ref() != Some(&turn) {
            self.turn_tokens = 0;
            self.agents_tokens = 0;
        }
        self.task.turn = Some(turn.clone());
        if self.place != Place::Held {
            // Codex began by itself.
            self.place = Place::Held;
            out.push(Effect::KeepPlace);
        }
        self.show_work(Cause::TurnBegan { turn }, out);
    }

    fn refused(&mut self, intent: IntentId, failure: Failure, out: &mut Vec<Effect>) {
        self.given.retain(|given| *given != intent);
        let why = NotDone::Refused { failure: failure.clone() };
        out.push(Effect::Settle { intent, to: IntentState::NotDone { why } });
        if self.task.turn.is_none() && self.given.is_empty() {
            self.settle_interrupts(None, out);
            match self.queue.is_empty() {
                true => self.end(TaskState::Failed, Cause::StartFailed { failure }, out),
                false => self.go_on(out),
            }
        }
    }

    fn go_on(&mut self, out: &mut Vec<Effect>) {
        let is_busy = self.task.turn.is_some() || !self.given.is_empty();
        let state = self.task.state;
        if is_busy || self.queue.is_empty() || state == TaskState::Parked || state.is_over() {
            return;
        }
        if let Some(edge) = self.edge_before_turn() {
            return self.pause(WhyAsk::Budget(edge), Cause::BudgetUsed { edge }, out);
        }
        match (self.place, self.phase) {
            (Place::None, _) => {
                self.place = Place::Wanted;
                out.push(Effect::WantPlace);
            }
            (Place::Wanted, _) | (Place::Held, Phase::Opening) => {}
            (Place::Held, Phase::Closed) => {
                self.phase = Phase::Opening;
                self.start(out);
                out.push(Effect::Open);
            }
            (Place::Held, Phase::Open) => {
                self.start(out);
                if let Some(intent) = self.queue.pop_front() {
                    self.give(intent, IfBusy::Queue, out);
                }
            }
        }
    }

    fn start(&mut self, out: &mut Vec<Effect>) {
        if !self.task.state.is_at_work() {
            self.shift(TaskState::Starting, Cause::Placed, out);
        }
    }

    fn give(&mut self, intent: IntentId, if_busy: IfBusy, out: &mut Vec<Effect>) {
        self.given.push(intent.clone());
        out.push(Effect::Give { intent, if_busy });
    }

    /// The thread was closed because nothing is done on it.
    pub fn unloaded(&mut self) {
        self.phase = Phase::Closed;
    }

    fn asked(&mut self, ask: AskId, of: AskedOf, out: &mut Vec<Effect>) {
        self.asks.insert(ask.clone(), of);
        self.show_work(Cause::AskOpened { ask }, out);
    }

    fn ask_gone(&mut self, ask: &AskId, out: &mut Vec<Effect>) {
        if self.asks.remove(ask).is_some() && self.task.turn.is_some() {
            self.show_work(Cause::AsksClosed, out);
        }
    }

    /// The state of a task whose turn runs follows from its asks.
    fn show_work(&mut self, cause: Cause, out: &mut Vec<Effect>) {
        let state = match self.asks.values().next() {
            None => TaskState::Working,
            Some(_) if self.asks.values().any(|of| *of == AskedOf::Approval) => {
                TaskState::WaitingForApproval
            }
            Some(_) => TaskState::WaitingForUserInput,
        };
        if self.task.state != state {
            self.shift(state, cause, out);
        }
    }

    fn shift(&mut self, to: TaskState, cause: Cause, out: &mut Vec<Effect>) {
        let from = std::mem::replace(&mut self.task.state, to);
        self.task.cause = cause.clone();
        self.task.updated_at = self.now;
        if !to.is_over() {
            self.task.ended_at = None;
        }
        out.push(Effect::Moved { from, to, cause });
    }
}
