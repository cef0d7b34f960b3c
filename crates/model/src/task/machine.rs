//! The rules of a task that is at work: signals in, effects out.
//!
//! The thread's own machine keeps turns, inputs and asks in order; this one says what becomes of the task: when it may run,
//! what it does after a turn, a limit, a crash or an edge of its budget, and what is proven of what we owe it. It holds the
//! [`Task`] as it stands; whoever performs the effects writes the task and the effects down before anything of it is told.
//!
//! A task that is over or parked has no turn and nothing given that is not proven: before that is known, it is at work.
//!
//! Start reading at [`Machine::step`]; `inputs` gives what is to be done, `place` waits for room and opens the thread,
//! `ends` says what follows from the end of a turn, `goal` what a goal of Codex's own keeps open, `search` looks for what a
//! turn that died was given, `budget` says where it stops to ask, `waits` what it tries again by itself.

mod budget;
mod ends;
mod goal;
mod inputs;
mod load;
mod place;
mod search;
mod signal;
mod waits;

pub use load::{Loaded, Unsettled};
pub use signal::{AskedOf, Effect, MayContinue, Owed, Signal, WhyAsk};

use std::collections::{BTreeMap, VecDeque};

use super::intent::{IntentState, Receipt};
use super::state::{Cause, TaskState};
use super::{Edge, Retrying, Running, Task};
use crate::failure::Failure;
use crate::goal::{Goal, GoalChange};
use crate::id::{AskId, IntentId, TurnId};
use crate::thread::Update;
use ends::Ended;
use inputs::{Rank, Waiting};
use place::{Phase, Place};
use search::Search;

/// A task that is loaded.
#[derive(Debug, Clone)]
pub struct Machine {
    task: Task,
    /// Unix milliseconds of the signal at hand.
    now: i64,
    phase: Phase,
    place: Place,
    wants: u64,
    /// Inputs not yet given, in order.
    queue: VecDeque<Waiting>,
    /// Inputs given and not yet proven.
    given: Vec<IntentId>,
    /// Wishes to end the turn that runs, and whose they are.
    interrupts: Vec<(IntentId, String)>,
    /// Who wants the turn to end that runs as soon as the thread is open.
    stop: Option<String>,
    asks: BTreeMap<AskId, AskedOf>,
    /// Changes of the goal that wait for the thread, in order.
    goal_changes: VecDeque<(IntentId, GoalChange)>,
    /// Changes of the goal that were handed over and not answered.
    changing: Vec<IntentId>,
    /// The goal is being resumed; whether it is open again is not known yet.
    resuming: bool,
    /// App-servers in a row that were lost meanwhile.
    lost_resumes: u32,
    /// The goal was open when the turn at hand ran, whatever became of it in the turn.
    goal_ran: bool,
    /// Since when Codex is to start the next turn of its goal, in unix milliseconds.
    awaits_since: Option<i64>,
    /// The connection broke, and the thread was not opened again since.
    is_cut: bool,
    /// What was done since then to have it do so.
    prods: u32,
    /// How the last turn ended, if nothing followed from it yet because an input is not proven.
    ended: Option<Ended>,
    /// An edge was reached in the running turn, which is being interrupted for it.
    edge: Option<Edge>,
    search: Search,
    /// Tokens of the running turn, without sub-agents.
    turn_tokens: u64,
    /// Since when the running turn works without waiting for people and without that being noted. What it works while nobody
    /// looks is not counted.
    working_since: Option<i64>,
}

impl Machine {
    /// A task that was just started.
    pub fn new(task: Task) -> Self {
        let task_has_open_goal = task.goal.as_ref().is_some_and(Goal::is_open);
        Self {
            now: task.updated_at,
            task,
            phase: Phase::Closed,
            place: Place::None,
            wants: 0,
            queue: VecDeque::new(),
            given: Vec::new(),
            interrupts: Vec::new(),
            stop: None,
            asks: BTreeMap::new(),
            goal_changes: VecDeque::new(),
            changing: Vec::new(),
            resuming: false,
            lost_resumes: 0,
            goal_ran: task_has_open_goal,
            awaits_since: None,
            is_cut: false,
            prods: 0,
            ended: None,
            edge: None,
            search: Search::NotBegun,
            turn_tokens: 0,
            working_since: None,
        }
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
            Signal::Interrupt { intent, by } => self.interrupt(intent, by, &mut out),
            Signal::Placed { want } => self.placed(want, &mut out),
            Signal::Opened => self.opened(&mut out),
            Signal::CannotGive { intent, failure } => {
                self.cannot_give(&intent, failure, &mut out);
            }
            Signal::OpenFailed { failure } => self.open_failed(&failure, &mut out),
            Signal::ThreadLost => self.thread_lost(&mut out),
            Signal::Looked { missing } => self.looked(missing, &mut out),
            Signal::LookFailed { failure } => self.look_failed(failure, &mut out),
            Signal::Told(update) => self.told(*update, &mut out),
            Signal::Asked { ask, of } => self.asked(ask, of, &mut out),
            Signal::AskGone { ask } => self.ask_gone(&ask, &mut out),
            Signal::MayContinue { answer, by } => self.may_continue(answer, by, &mut out),
            Signal::AgentUsed { agent, tokens } => {
                self.task.tally.agents.insert(agent, tokens);
                self.note_tokens();
                self.watch_budget(&mut out);
            }
            Signal::ChangeGoal { intent, change } => self.change_goal(intent, change, &mut out),
            Signal::GoalChanged { intent, outcome } => {
                self.goal_changed(intent, outcome, &mut out);
            }
            Signal::LoginChanged => self.login_changed(&mut out),
            Signal::Tick => self.tick(&mut out),
        }
        self.keep_time();
        self.keep_waiting();
        out
    }

    /// Unix milliseconds at which [`Signal::Tick`] is wanted at the latest.
    pub fn wake_at(&self) -> Option<i64> {
        let waits = self.task.state == TaskState::Parked || self.waits_to_open();
        let wake = self.task.wake_at.filter(|_| waits);
        let parked = wake.filter(|_| self.task.state == TaskState::Parked);
        parked.or_else(|| [wake, self.edge_at(), self.prods_at()].into_iter().flatten().min())
    }

    /// Whether nothing goes on and nothing waits to: the task need not be loaded.
    pub fn is_at_rest(&self) -> bool {
        !self.is_busy() && self.place == Place::None && self.phase != Phase::Opening
    }

    /// The thread was closed because nothing is done on it.
    pub fn unloaded(&mut self) {
        self.phase = Phase::Closed;
    }

    /// Whether Codex works on something, or may.
    fn is_busy(&self) -> bool {
        self.task.turn.is_some() || !self.given.is_empty()
    }

    fn told(&mut self, update: Update, out: &mut Vec<Effect>) {
        match update {
            Update::TurnBegan { turn } => self.turn_began(turn, out),
            Update::InputTaken { input, turn } => {
                let intent = IntentId::new(input.as_str());
                let to = IntentState::Done { receipt: Receipt::Taken { turn } };
                if self.settle_given(intent, to, out) {
                    self.go_on_if_settled(out);
                }
            }
            Update::InputRefused { input, failure, may_have_run } => {
                self.refused(IntentId::new(input.as_str()), failure, may_have_run, out);
            }
            Update::Usage { usage, .. } => {
                self.turn_tokens = usage.turn.total();
                self.note_tokens();
                self.watch_budget(out);
            }
            Update::Retrying { failure, .. } => self.note_retry(failure),
            Update::ItemBegan { .. } | Update::ItemEnded { .. } => self.answered(),
            Update::TurnEnded { result } => self.turn_ended(*result, out),
            Update::Goal { goal } => {
                self.note_goal(goal);
                self.go_on_with_goal(None, out);
            }
            Update::Disconnected { .. } => self.is_cut = true,
            Update::Reconnected => self.is_cut = false,
            _ => {}
        }
    }

    fn turn_began(&mut self, turn: TurnId, out: &mut Vec<Effect>) {
        if self.task.turn.as_ref() != Some(&turn) {
            self.forget_tokens();
            self.is_overtaken();
            self.task.tally.running =
                Some(Running { began_at: self.now, tokens: 0, retrying: None });
        }
        self.task.turn = Some(turn.clone());
        // Whatever it waited for, it works.
        self.task.wake_at = None;
        self.ended = None;
        self.edge = None;
        self.keep_place(out);
        self.show_work(Cause::TurnBegan { turn }, out);
        self.goal_turn_began(out);
        self.give_steers(out);
    }

    fn note_tokens(&mut self) {
        let tokens = self.turn_tokens.saturating_add(self.agents_tokens());
        if let Some(running) = &mut self.task.tally.running {
            running.tokens = tokens;
        }
    }

    fn note_retry(&mut self, failure: Failure) {
        let now = self.now;
        let Some(running) = &mut self.task.tally.running else { return };
        let before = running.retrying.take();
        let (since, attempts) = before.map_or((now, 0), |before| (before.since, before.attempts));
        running.retrying = Some(Retrying { since, attempts: attempts.saturating_add(1), failure });
    }

    /// The model has answered after all.
    fn answered(&mut self) {
        if let Some(running) = &mut self.task.tally.running {
            running.retrying = None;
        }
    }

    /// Codex has failed to reach the model, and tries again.
    pub fn is_retrying(&self) -> bool {
        self.task.tally.running.as_ref().is_some_and(|running| running.retrying.is_some())
    }

    fn asked(&mut self, ask: AskId, of: AskedOf, out: &mut Vec<Effect>) {
        self.asks.insert(ask.clone(), of);
        // One that belongs to no turn of ours is open, and says nothing of the task.
        if self.task.turn.is_some() || self.task.state.is_at_work() {
            self.show_work(Cause::AskOpened { ask }, out);
        }
    }

    fn ask_gone(&mut self, ask: &AskId, out: &mut Vec<Effect>) {
        if self.asks.remove(ask).is_none() {
            return;
        }
        if self.task.turn.is_some() {
            // A turn that is being ended takes its asks back first, and does not go on to work.
            if !self.is_stopping() {
                self.show_work(Cause::AsksClosed, out);
            }
        } else if self.asks.is_empty() && self.task.state.waits_for_a_person() {
            self.shift(TaskState::Starting, Cause::AsksClosed, out);
        }
    }

    /// Whether somebody wants the running turn to end, or an edge of the budget does.
    fn is_stopping(&self) -> bool {
        !self.interrupts.is_empty()
            || self.edge.is_some()
            || self.queue.iter().any(|waiting| waiting.rank == Rank::First)
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
