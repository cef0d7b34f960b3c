//! The task's share of what may run at once, and whether its thread is open.

use super::Machine;
use super::search::Search;
use super::signal::{Effect, WhyAsk};
use super::waits::waits_for;
use crate::failure::{Failure, FailureClass};
use crate::task::intent::IntentState;
use crate::task::state::{Cause, TaskState};

/// The thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Closed,
    Opening,
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    None,
    Wanted,
    Held,
}

impl Machine {
    /// How often it has wanted a place since it was loaded. A place is given for one want: the word of it may be on its way
    /// while the task gives the place back and wants another, and must not be taken for that one.
    pub fn wants(&self) -> u64 {
        self.wants
    }

    pub(super) fn placed(&mut self, want: u64, out: &mut Vec<Effect>) {
        match self.place {
            Place::None => out.push(Effect::LeavePlace),
            // It began to run by itself meanwhile, and is counted.
            Place::Held => {}
            // That place was given back before we heard of it, and may be another's now.
            Place::Wanted if want != self.wants => {}
            Place::Wanted => {
                self.place = Place::Held;
                self.go_on(out);
            }
        }
    }

    /// It runs, whether there is room or not.
    pub(super) fn keep_place(&mut self, out: &mut Vec<Effect>) {
        if self.place != Place::Held {
            self.place = Place::Held;
            out.push(Effect::KeepPlace);
        }
    }

    /// An opening that is under way goes on: there must never be two.
    pub(super) fn let_go(&mut self, out: &mut Vec<Effect>) {
        if std::mem::replace(&mut self.place, Place::None) != Place::None {
            out.push(Effect::LeavePlace);
        }
        self.stop = None;
    }

    pub(super) fn opened(&mut self, out: &mut Vec<Effect>) {
        self.phase = Phase::Open;
        self.has_started();
        self.search = Search::NotBegun;
        match self.place {
            // Nobody wants it any more, or not yet.
            Place::None | Place::Wanted => return,
            Place::Held => {}
        }
        let is_busy = self.is_busy();
        if let Some(by) = self.stop.take().filter(|_| is_busy || self.awaits_goal()) {
            out.push(Effect::Interrupt { by });
        }
        if self.task.turn.is_some() {
            self.show_work(Cause::Rejoined, out);
            self.flush_goal_changes(out);
            return self.give_steers(out);
        }
        if is_busy {
            return;
        }
        if self.awaits_goal() {
            // Codex tells next how the goal stands, after what happened meanwhile, and starts the next turn.
            self.task.tally.goal_held = false;
            self.show_work(Cause::Rejoined, out);
            return self.flush_goal_changes(out);
        }
        self.settle_interrupts(None, out);
        match !self.has_work() {
            true if self.is_at_an_end_in_doubt() => self.go_on_if_settled(out),
            // It was between two states when our process ended, and has nothing left to do.
            true => self.end(TaskState::Cancelled, Cause::Rejoined, out),
            false => self.go_on(out),
        }
    }

    pub(super) fn open_failed(&mut self, failure: &Failure, out: &mut Vec<Effect>) {
        self.phase = Phase::Closed;
        match self.place {
            // It is tried again when its time has come.
            Place::None | Place::Wanted => return,
            Place::Held => {}
        }
        if let Some(on) = waits_for(&failure.class) {
            return self.wait_to_open(on, failure, out);
        }
        self.task.turn = None;
        self.task.tally.running = None;
        self.stop_clock();
        for intent in std::mem::take(&mut self.given) {
            let why = format!("the thread could not be opened again: {}", failure.message);
            out.push(Effect::Settle { intent, to: IntentState::Unknown { why } });
        }
        if failure.class == FailureClass::Missing && self.interrupts.is_empty() {
            // A person may bring it back, and then nothing is lost.
            let cause = Cause::StartFailed { failure: failure.clone() };
            return self.pause(WhyAsk::Missing(failure.clone()), cause, out);
        }
        self.settle_interrupts(None, out);
        self.end(TaskState::Failed, Cause::StartFailed { failure: failure.clone() }, out);
    }

    /// The thread is open no more, and we did not close it.
    pub(super) fn thread_lost(&mut self, out: &mut Vec<Effect>) {
        self.phase = Phase::Closed;
        let is_over = !self.is_at_an_end_in_doubt() && !self.awaits_goal() && !self.owes_goal();
        if !self.is_busy() && is_over {
            return self.go_on(out);
        }
        self.keep_place(out);
        self.phase = Phase::Opening;
        // Whoever wanted the turn to end still does.
        self.stop = self.interrupts.last().map(|(_, by)| by.clone()).or_else(|| self.stops_for());
        out.push(Effect::Open);
    }
}
