//! Whether a turn still gets on. Silence alone ends nothing: we look, say what we found, and do what the caller chose.

use super::effect::{Effect, Finding, ServerWanted, Update};
use super::inputs::GivenState;
use super::limits::OnStall;
use super::link::Link;
use super::machine::Machine;
use super::signal::{SaidEnd, SeenState, View};
use super::turns::{InterruptCause, Turn, Word};
use crate::failure::{Failure, FailureClass};
use crate::moment::Moment;
use crate::turn::{Interrupter, TurnEnd};

/// Whether an answer to [`Effect::Look`] is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looking {
    No,
    UnderWay,
    /// It is, but the thread was opened again since, and that answer is the newer one.
    Void,
}

impl Machine {
    pub(super) fn progress(&mut self, now: Moment) {
        let stall_after = self.limits.stall_after;
        if let Some(turn) = &mut self.turn {
            turn.last_progress = now;
            turn.next_look = now.after(stall_after);
            turn.looks = 0;
            turn.look_for_stall = false;
        }
    }

    pub(super) fn child_spoke(&mut self, now: Moment, waiting: bool) {
        self.child_waits = waiting;
        self.progress(now);
    }

    pub(super) fn look(&mut self, out: &mut Vec<Effect>) {
        if self.link == Link::Up && self.looking == Looking::No {
            self.looking = Looking::UnderWay;
            self.mark_asked();
            out.push(Effect::Look);
        }
    }

    pub(super) fn looked(
        &mut self,
        now: Moment,
        view: Result<View, String>,
        out: &mut Vec<Effect>,
    ) {
        let looking = std::mem::replace(&mut self.looking, Looking::No);
        if self.link != Link::Up {
            return;
        }
        if looking == Looking::Void {
            return self.look_again(out);
        }
        let was_asked = looking == Looking::UnderWay;
        let found = match view {
            Ok(view) => {
                // What nobody asked for is how the thread stood when it was opened.
                self.broken |= !was_asked;
                self.apply(now, &view, out);
                self.go_on(now, out);
                Finding::Answers { state: view.state }
            }
            Err(_) if !was_asked => return,
            Err(reason) => {
                self.look_again_later(now);
                Finding::Silent { reason }
            }
        };
        self.stalled(now, &found, out);
    }

    /// The answer was void; whatever wanted to know is still without one.
    fn look_again(&mut self, out: &mut Vec<Effect>) {
        self.next(out);
        if self.turn.as_ref().is_some_and(|turn| turn.look_for_stall) {
            self.look(out);
        }
    }

    /// Reports a turn that stands still, if the look was about that, and does what the caller chose.
    fn stalled(&mut self, now: Moment, found: &Finding, out: &mut Vec<Effect>) {
        let waits = self.waits_for_people();
        let interval = self.turn.as_ref().map(|turn| self.look_interval(turn.looks + 1));
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.ending.is_none()) else { return };
        if !std::mem::take(&mut turn.look_for_stall) {
            return;
        }
        turn.looks += 1;
        turn.next_look = now.after(interval.unwrap_or_default());
        let retrying = turn.retrying.as_ref().map(|(_, failure)| failure.clone());
        out.push(Effect::Tell(Update::Stalled {
            turn: turn.id.clone(),
            quiet_ms: u64::try_from(now.since(turn.last_progress).as_millis()).unwrap_or(u64::MAX),
            found: found.clone(),
            retrying: retrying.clone(),
        }));
        let is_asked = *found == (Finding::Answers { state: SeenState::Waiting });
        if is_asked && !waits && self.may_reopen() {
            // Codex waits for an answer to a question that we do not have; joining the thread brings it again.
            return self.reopen(ServerWanted::Same, out);
        }
        match self.limits.on_stall {
            OnStall::Warn => {}
            OnStall::Interrupt => {
                self.stop_turn(now, InterruptCause::By(Interrupter::Stall), out);
            }
            OnStall::Fail => {
                let failure = retrying.unwrap_or_else(|| {
                    let message = "the model sent nothing for too long";
                    Failure::new(FailureClass::TimedOut, message)
                });
                self.stop_turn(now, InterruptCause::Failed(failure), out);
            }
        }
    }

    pub(super) fn tick(&mut self, now: Moment, out: &mut Vec<Effect>) {
        self.decline_overdue(now, out);
        self.finish_if_settled(now, out);
        self.tick_marker(now, out);
        self.tick_interrupt(now, out);
        self.tick_budget(now, out);
        let overdue = self.given.iter().any(|given| self.given_deadline(given.since) <= now);
        if overdue && self.turn.is_none() && self.link == Link::Up {
            for given in &mut self.given {
                if matches!(given.state, GivenState::Acknowledged(_)) {
                    given.state = GivenState::InDoubt;
                }
                given.since = now;
            }
            self.look(out);
        }
        let waits = self.waits_for_people();
        if let Some(turn) = self.turn.as_mut()
            && turn.ending.is_none()
            && turn.interrupt.is_none()
            && !waits
            && turn.next_look <= now
            && self.link == Link::Up
        {
            turn.look_for_stall = true;
            turn.next_look = now.after(self.limits.stall_after);
            self.look(out);
        }
    }

    /// Old versions wrote a marker into a message instead of ending the turn.
    fn tick_marker(&mut self, now: Moment, out: &mut Vec<Effect>) {
        let settle = self.limits.settle;
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.ending.is_none()) else { return };
        if turn.marked_aborted.is_some_and(|at| at.after(settle) <= now) {
            self.stop_turn(now, InterruptCause::By(Interrupter::Codex), out);
            self.end_turn(now, SaidEnd::Interrupted, Word::Heard, out);
        }
    }

    /// A turn that was interrupted must end soon; if Codex does not obey, it is not waited for.
    fn tick_interrupt(&mut self, now: Moment, out: &mut Vec<Effect>) {
        let bound = self.limits.interrupt_bound;
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.ending.is_none()) else { return };
        let Some(interrupt) = turn.interrupt.as_mut().filter(|it| it.until <= now) else { return };
        if !std::mem::replace(&mut interrupt.looked, true) {
            interrupt.until = now.after(bound);
            return self.look(out);
        }
        let end = match &interrupt.cause {
            InterruptCause::By(by) => TurnEnd::Interrupted { by: by.clone() },
            InterruptCause::Failed(failure) => TurnEnd::Failed { failure: failure.clone() },
        };
        self.conclude(now, end, true, out);
        if self.link == Link::Up {
            // What comes next must not get into the turn that does not end.
            self.reopen(ServerWanted::Fresh, out);
        }
    }

    fn tick_budget(&mut self, now: Moment, out: &mut Vec<Effect>) {
        let Some(budget) = self.limits.budget else { return };
        let Some(turn) = &self.turn else { return };
        let running = turn.clock_since.map(|since| now.since(since)).unwrap_or_default();
        if turn.interrupt.is_none() && turn.clock + running >= budget {
            let message = format!("the turn used up its {} s", budget.as_secs());
            let failure = Failure::new(FailureClass::TimedOut, message);
            self.stop_turn(now, InterruptCause::Failed(failure), out);
        }
    }

    /// When the running turn wants to be looked after next.
    pub(super) fn turn_deadline(&self, turn: &Turn) -> Option<Moment> {
        if let Some(ending) = &turn.ending {
            return Some(ending.until);
        }
        let marker = turn.marked_aborted.map(|at| at.after(self.limits.settle));
        let interrupt = turn.interrupt.as_ref().map(|interrupt| interrupt.until);
        let is_stopping = turn.interrupt.is_some();
        let budget = match (self.limits.budget, turn.clock_since) {
            (Some(budget), Some(since)) if !is_stopping => {
                Some(since.after(budget.saturating_sub(turn.clock)))
            }
            _ => None,
        };
        let is_watched = !is_stopping && self.link == Link::Up && !self.waits_for_people();
        let stall = is_watched.then_some(turn.next_look);
        [marker, interrupt, budget, stall].into_iter().flatten().min()
    }

    /// An input that Codex has taken begins a turn at once; if not, we look where it is.
    pub(super) fn given_deadline(&self, since: Moment) -> Moment {
        since.after(self.limits.interrupt_bound)
    }
}
