//! How what is wanted of a task gets to its thread: in order, once, and settled once.

use super::signal::{Effect, WhyAsk};
use super::{Machine, Phase, Place};
use crate::failure::{Failure, FailureClass};
use crate::id::IntentId;
use crate::task::OnCrash;
use crate::task::intent::{IntentState, NotDone, Receipt};
use crate::task::state::{Cause, TaskState};
use crate::thread::IfBusy;

/// An input that has not been given to the thread.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) intent: IntentId,
    if_busy: IfBusy,
    pub(super) rank: Rank,
}

/// Who goes first; those of one rank go in the order in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Our own: it goes on with what was cut off.
    Ours,
    /// It came to end what runs.
    First,
    InLine,
}

impl Machine {
    pub(super) fn submit(&mut self, intent: IntentId, if_busy: IfBusy, out: &mut Vec<Effect>) {
        let has_work = self.is_busy()
            || self.has_work()
            || self.awaits_goal()
            || self.task.state == TaskState::Parked;
        match if_busy {
            IfBusy::Fail if has_work => {
                let failure = Failure::new(FailureClass::Busy, "the task is at work");
                let to = IntentState::NotDone { why: NotDone::Refused { failure } };
                return out.push(Effect::Settle { intent, to });
            }
            IfBusy::SteerOnly if self.task.state.is_over() => {
                let to = IntentState::NotDone { why: NotDone::TooLate };
                return out.push(Effect::Settle { intent, to });
            }
            IfBusy::Steer | IfBusy::SteerOnly if self.is_busy() && self.phase == Phase::Open => {
                return self.give(intent, IfBusy::Steer, out);
            }
            IfBusy::Interrupt => {
                self.line_up(intent.clone(), if_busy, Rank::First);
                if self.is_busy() {
                    return self.stop_turn("a new input", out);
                }
            }
            _ => self.line_up(intent.clone(), if_busy, Rank::InLine),
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
        self.line_up(intent, IfBusy::Queue, Rank::Ours);
        self.go_on(&mut out);
        self.keep_time();
        out
    }

    pub(super) fn line_up(&mut self, intent: IntentId, if_busy: IfBusy, rank: Rank) {
        let at = self.queue.partition_point(|waiting| waiting.rank <= rank);
        self.queue.insert(at, Waiting { intent, if_busy, rank });
    }

    /// One that was given in vain goes before all that came after it.
    pub(super) fn line_up_again(&mut self, intent: IntentId) {
        let at = self.queue.partition_point(|waiting| waiting.rank < Rank::InLine);
        self.queue.insert(at, Waiting { intent, if_busy: IfBusy::Queue, rank: Rank::InLine });
    }

    pub(super) fn interrupt(&mut self, intent: IntentId, by: String, out: &mut Vec<Effect>) {
        if self.is_busy() || self.awaits_goal() || self.resuming {
            self.stop_turn(&by, out);
            return self.interrupts.push((intent, by));
        }
        if self.task.state.is_over() {
            let to = IntentState::NotDone { why: NotDone::TooLate };
            return out.push(Effect::Settle { intent, to });
        }
        let to = IntentState::Done { receipt: Receipt::Nothing };
        out.push(Effect::Settle { intent, to });
        self.end(TaskState::Cancelled, Cause::Withdrawn { by }, out);
    }

    pub(super) fn stop_turn(&mut self, by: &str, out: &mut Vec<Effect>) {
        match self.phase {
            Phase::Open => out.push(Effect::Interrupt { by: by.to_owned() }),
            _ => self.stop = Some(by.to_owned()),
        }
    }

    /// Gives the next input to the thread if it is its time, or takes the next step towards that.
    pub(super) fn go_on(&mut self, out: &mut Vec<Effect>) {
        let state = self.task.state;
        let has_work = !self.queue.is_empty() || !self.goal_changes.is_empty() || self.owes_goal();
        if self.is_busy() || !has_work || state == TaskState::Parked || state.is_over() {
            return;
        }
        if let Some(edge) = self.edge_before_turn() {
            return self.pause(WhyAsk::Budget(edge), Cause::BudgetUsed { edge }, out);
        }
        match (self.place, self.phase) {
            (Place::None, _) => {
                self.place = Place::Wanted;
                self.wants = self.wants.saturating_add(1);
                out.push(Effect::WantPlace);
            }
            (Place::Wanted, _) => {}
            (Place::Held, Phase::Opening) => self.start(out),
            (Place::Held, Phase::Closed) => {
                self.task.wake_at = None;
                self.phase = Phase::Opening;
                self.start(out);
                out.push(Effect::Open);
            }
            (Place::Held, Phase::Open) => {
                self.start(out);
                if self.must_search(out) {
                    return;
                }
                match self.queue.pop_front() {
                    Some(waiting) => self.give(waiting.intent, IfBusy::Queue, out),
                    None if self.goal_changes.is_empty() => self.resume_goal(out),
                    None => self.flush_goal_changes(out),
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

    /// The input waits for a person, as the first one.
    pub(super) fn cannot_give(
        &mut self,
        intent: &IntentId,
        failure: Failure,
        out: &mut Vec<Effect>,
    ) {
        let Some(at) = self.given.iter().position(|given| given == intent) else { return };
        self.given.remove(at);
        self.line_up(intent.clone(), IfBusy::Queue, Rank::First);
        out.push(Effect::GiveBack { intent: intent.clone() });
        if self.is_busy() || self.task.state == TaskState::Parked {
            return;
        }
        self.settle_interrupts(None, out);
        let cause = Cause::StartFailed { failure: failure.clone() };
        self.pause(WhyAsk::Missing(failure), cause, out);
    }

    /// What was to be put into the turn, and had to wait for it.
    pub(super) fn give_steers(&mut self, out: &mut Vec<Effect>) {
        if self.phase != Phase::Open || self.task.turn.is_none() {
            return;
        }
        let (steers, others): (Vec<Waiting>, Vec<Waiting>) = std::mem::take(&mut self.queue)
            .into_iter()
            .partition(|waiting| waiting.if_busy.is_steer());
        self.queue = others.into();
        for steer in steers {
            self.give(steer.intent, IfBusy::Steer, out);
        }
    }

    /// The turn that they were meant for is over before they could be given to it.
    pub(super) fn refuse_late_steers(&mut self, out: &mut Vec<Effect>) {
        self.queue.retain(|waiting| {
            let is_late = waiting.if_busy == IfBusy::SteerOnly;
            if is_late {
                let to = IntentState::NotDone { why: NotDone::TooLate };
                out.push(Effect::Settle { intent: waiting.intent.clone(), to });
            }
            !is_late
        });
    }

    /// False if it is none of those that were given.
    pub(super) fn settle_given(
        &mut self,
        intent: IntentId,
        to: IntentState,
        out: &mut Vec<Effect>,
    ) -> bool {
        let Some(at) = self.given.iter().position(|given| *given == intent) else { return false };
        self.given.remove(at);
        out.push(Effect::Settle { intent, to });
        true
    }

    pub(super) fn refused(
        &mut self,
        intent: IntentId,
        failure: Failure,
        may_have_run: bool,
        out: &mut Vec<Effect>,
    ) {
        if self.may_give_again(&intent, &failure) {
            return self.give_again(failure, out);
        }
        let is_missing = failure.class == FailureClass::Missing;
        if is_missing && !may_have_run {
            return self.cannot_give(&intent, failure, out);
        }
        if self.is_to_wait(&intent, &failure, may_have_run) {
            return self.take_back(intent, &failure, out);
        }
        let to = match may_have_run {
            true => IntentState::Unknown { why: failure.message.clone() },
            false => IntentState::NotDone { why: NotDone::Refused { failure: failure.clone() } },
        };
        if !self.settle_given(intent, to, out) || self.is_busy() {
            return;
        }
        if self.ended.is_some() {
            return self.go_on_if_settled(out);
        }
        self.settle_interrupts(None, out);
        if is_missing {
            let cause = Cause::StartFailed { failure: failure.clone() };
            return self.pause(WhyAsk::Missing(failure), cause, out);
        }
        match self.queue.is_empty() {
            true => self.end(TaskState::Failed, Cause::StartFailed { failure }, out),
            false => self.go_on(out),
        }
    }

    /// An app-server that died with an input in its hands may have begun with it or not. That is looked for when the thread
    /// is open again, so the input stays given. So it is with one that was on its way into a turn which has ended since,
    /// unless somebody wanted that turn to end.
    fn may_give_again(&self, intent: &IntentId, failure: &Failure) -> bool {
        failure.class == FailureClass::ServerGone
            && self.given.contains(intent)
            && self.task.turn.is_none()
            && self.ended.as_ref().is_none_or(|ended| !ended.is_wanted())
            && self.interrupts.is_empty()
            && self.task.settings.on_crash == OnCrash::Continue
            && self.task.tally.crashes < self.task.settings.crash_limit
    }

    fn give_again(&mut self, failure: Failure, out: &mut Vec<Effect>) {
        if self.phase == Phase::Opening {
            // It is being looked for already, with another one.
            return;
        }
        self.count_crash();
        self.shift(TaskState::Recovering, Cause::ServerLost { failure }, out);
        self.thread_lost(out);
    }

    /// What is not given any more, because the task is over.
    pub(super) fn leave_undone(&mut self, cause: &Cause, out: &mut Vec<Effect>) {
        for waiting in std::mem::take(&mut self.queue) {
            let why = match cause {
                Cause::TurnFailed { failure }
                | Cause::StartFailed { failure }
                | Cause::WaitedTooLong { failure, .. }
                | Cause::LimitAgain { failure, .. } => {
                    NotDone::Refused { failure: failure.clone() }
                }
                Cause::Withdrawn { by } | Cause::Stopped { by } => {
                    NotDone::Withdrawn { by: by.clone() }
                }
                _ => NotDone::TooLate,
            };
            out.push(Effect::Settle { intent: waiting.intent, to: IntentState::NotDone { why } });
        }
        for (intent, _) in std::mem::take(&mut self.goal_changes) {
            out.push(Effect::Settle { intent, to: IntentState::NotDone { why: NotDone::TooLate } });
        }
    }
}
