//! What becomes of a task when a turn has ended.

use std::time::Duration;

use super::Machine;
use super::inputs::{Rank, Waiting};
use super::search::Search;
use super::signal::{Effect, MayContinue, Owed, WhyAsk};
use super::waits::is_outage;
use crate::failure::{Failure, FailureClass};
use crate::task::OnCrash;
use crate::task::intent::{IntentState, NotDone, Receipt};
use crate::task::state::{Cause, TaskState};
use crate::turn::{Interrupter, TurnEnd, TurnResult};

/// Limits in a row without any work done between, after which waiting is given up: a day of five-hour windows.
const MOST_LIMITS: u32 = 5;

/// A rate limit that names no time; doubled each time.
const RATE_LIMIT_PAUSE: Duration = Duration::from_secs(60);

/// After the reset that was named, for clocks that differ.
const AFTER_RESET: Duration = Duration::from_secs(5);

/// How a turn ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    result: TurnResult,
    /// Somebody wanted it to end.
    wanted_by: Option<String>,
}

impl Ended {
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted_by.is_some()
    }
}

impl Machine {
    pub(super) fn turn_ended(&mut self, result: TurnResult, out: &mut Vec<Effect>) {
        let tokens = result.usage.turn.total().saturating_add(self.agents_tokens());
        let spent = &mut self.task.spent;
        spent.tokens = spent.tokens.saturating_add(tokens);
        spent.turns = spent.turns.saturating_add(1);
        self.stop_clock();
        self.forget_tokens();
        self.task.turn = None;
        self.task.tally.running = None;
        self.asks.clear();
        let wanted_by = self.interrupts.last().map(|(_, by)| by.clone());
        self.settle_interrupts(Some(&result), out);
        if wanted_by.is_none() {
            self.may_be_overtaken(&result);
        }
        self.goal_turn_ended(&result);
        self.task.last_result = Some(result.clone());
        if !matches!(self.search, Search::UnderWay(_)) {
            self.search = Search::NotBegun;
        }
        self.ended = Some(Ended { result, wanted_by });
        self.go_on_if_settled(out);
    }

    /// What follows from the end of the last turn. While an input is not proven, nobody knows whether it was the last.
    pub(super) fn go_on_if_settled(&mut self, out: &mut Vec<Effect>) {
        if self.is_busy() || !self.task.state.is_at_work() {
            return;
        }
        let known = self.ended.take();
        let known = known.or_else(|| {
            let result = self.task.last_result.clone()?;
            Some(Ended { result, wanted_by: None })
        });
        // Whoever wanted to end what was left of it wanted the turn to end too.
        let by = self.interrupts.last().map(|(_, by)| by.clone());
        let known = known.map(|ended| Ended { wanted_by: ended.wanted_by.or(by), ..ended });
        self.settle_interrupts(known.as_ref().map(|ended| &ended.result), out);
        match known {
            // Something of an earlier turn may be lost, and then the task is not at its end.
            Some(ended) if self.looks_back(out) => self.ended = Some(ended),
            Some(ended) => self.conclude(ended, out),
            None => self.next_or(TaskState::Cancelled, Cause::Rejoined, out),
        }
    }

    fn conclude(&mut self, ended: Ended, out: &mut Vec<Effect>) {
        let Ended { result, wanted_by } = ended;
        let did_work = result.tool_iterations > 0 || result.final_answer.is_some();
        let turn = result.turn;
        let edge = self.edge.take();
        match result.end {
            TurnEnd::Completed => {
                self.task.tally.crashes = 0;
                self.task.tally.tries = None;
                self.task.limit_streak = 0;
                match self.awaits_goal() {
                    // Codex starts the next turn by itself.
                    true => self.show_work(Cause::GoalGoesOn { turn }, out),
                    false => {
                        self.next_or(TaskState::Completed, Cause::TurnCompleted { turn }, out);
                    }
                }
            }
            TurnEnd::Interrupted { by } => {
                self.task.tally.crashes = 0;
                // Of an interrupt before our process ended Codex only says that it was one.
                let is_nobodys = by == Interrupter::Codex;
                let edge = edge.or_else(|| self.edge_before_turn().filter(|_| is_nobodys));
                match edge.filter(|_| wanted_by.is_none()) {
                    Some(edge) => self.pause(WhyAsk::Budget(edge), Cause::BudgetUsed { edge }, out),
                    None => {
                        self.task.tally.goal_held = false;
                        self.next_or(TaskState::Cancelled, Cause::Interrupted { by }, out);
                    }
                }
            }
            TurnEnd::Failed { failure } => self.failed(failure, did_work, wanted_by, out),
        }
    }

    /// The next input, or the end.
    fn next_or(&mut self, state: TaskState, cause: Cause, out: &mut Vec<Effect>) {
        self.refuse_late_steers(out);
        match self.has_work() {
            false => self.end(state, cause, out),
            true => self.go_on(out),
        }
    }

    fn failed(
        &mut self,
        failure: Failure,
        did_work: bool,
        wanted_by: Option<String>,
        out: &mut Vec<Effect>,
    ) {
        let limit = self.limit_passes_at(&failure);
        let is_crash = failure.class == FailureClass::ServerGone;
        let is_endless = failure.class == FailureClass::UsageLimit { resets_at: None };
        let is_waited_for = is_outage(&failure.class) || failure.class == FailureClass::Auth;
        let has_ended = is_crash || is_endless || is_waited_for || limit.is_some();
        if let Some(name) = wanted_by.filter(|_| has_ended) {
            // It has ended, which is all that they wanted.
            let by = Interrupter::Caller { name };
            return self.next_or(TaskState::Cancelled, Cause::Interrupted { by }, out);
        }
        if let Some(until) = limit {
            self.task.tally.crashes = 0;
            return self.wait_for_limit(failure, until, did_work, out);
        }
        if is_endless {
            // Nobody knows when it passes, or whether it does; the person who can look says when to go on.
            self.task.tally.crashes = 0;
            let cause = Cause::TurnFailed { failure: failure.clone() };
            return self.pause(WhyAsk::Limit(failure), cause, out);
        }
        if failure.class == FailureClass::Missing {
            let cause = Cause::TurnFailed { failure: failure.clone() };
            return self.pause(WhyAsk::Missing(failure), cause, out);
        }
        if is_waited_for {
            self.task.tally.crashes = 0;
            return self.wait_for_model(failure, did_work, out);
        }
        if !is_crash {
            return self.end(TaskState::Failed, Cause::TurnFailed { failure }, out);
        }
        self.count_crash();
        match self.task.settings.on_crash {
            OnCrash::Continue if self.task.tally.crashes <= self.task.settings.crash_limit => {
                self.shift(TaskState::Recovering, Cause::ServerLost { failure }, out);
                self.take_up(Owed::AfterCrash, out);
            }
            OnCrash::Ask => {
                let cause = Cause::ServerLost { failure: failure.clone() };
                self.pause(WhyAsk::Crash(failure), cause, out);
            }
            _ => self.end(TaskState::Failed, Cause::TurnFailed { failure }, out),
        }
    }

    pub(super) fn count_crash(&mut self) {
        self.task.tally.crashes = self.task.tally.crashes.saturating_add(1);
    }

    fn wait_for_limit(
        &mut self,
        failure: Failure,
        until: i64,
        did_work: bool,
        out: &mut Vec<Effect>,
    ) {
        let streak = if did_work { 1 } else { self.task.limit_streak.saturating_add(1) };
        self.task.limit_streak = streak;
        if streak > MOST_LIMITS {
            let cause = Cause::LimitAgain { failure, times: streak };
            return self.end(TaskState::Failed, cause, out);
        }
        self.task.wake_at = Some(until);
        self.park(Cause::LimitReached { failure, until }, out);
    }

    /// When a limit has passed, in unix milliseconds.
    fn limit_passes_at(&self, failure: &Failure) -> Option<i64> {
        let wait = match failure.class {
            FailureClass::UsageLimit { resets_at } => {
                let reset = resets_at?.saturating_mul(1000).max(self.now);
                return Some(reset.saturating_add(millis(AFTER_RESET)));
            }
            FailureClass::RateLimit { retry_after_ms: Some(wait) } => Duration::from_millis(wait),
            FailureClass::RateLimit { retry_after_ms: None } => {
                RATE_LIMIT_PAUSE * (1 << self.task.limit_streak.min(MOST_LIMITS))
            }
            _ => return None,
        };
        Some(self.now.saturating_add(millis(wait)))
    }

    pub(super) fn may_continue(&mut self, answer: MayContinue, by: String, out: &mut Vec<Effect>) {
        if self.task.state != TaskState::Parked || self.task.wake_at.is_some() {
            return;
        }
        match answer {
            MayContinue::Yes => {
                self.task.tally.crashes = 0;
                self.task.tally.tries = None;
                self.extend_budget();
                self.shift(TaskState::Queued, Cause::GoesOn { by }, out);
                match self.was_cut_off() {
                    true => self.take_up(Owed::AfterPause, out),
                    false => self.go_on(out),
                }
            }
            MayContinue::No => self.end(TaskState::Cancelled, Cause::Stopped { by }, out),
        }
    }

    /// Whether the pause came in the middle of a turn, and not before the next one.
    fn was_cut_off(&self) -> bool {
        let Some(result) = &self.task.last_result else { return self.queue.is_empty() };
        let is_ours = match &result.end {
            TurnEnd::Completed => false,
            TurnEnd::Interrupted { by } => self.is_for_the_budget(by),
            TurnEnd::Failed { failure } => matches!(
                failure.class,
                FailureClass::ServerGone
                    | FailureClass::Missing
                    | FailureClass::UsageLimit { resets_at: None }
                    | FailureClass::Auth
                    | FailureClass::Overload
                    | FailureClass::Network
                    | FailureClass::ServerError
            ),
        };
        is_ours || self.queue.is_empty()
    }

    pub(super) fn tick(&mut self, out: &mut Vec<Effect>) {
        if self.task.wake_at.is_some_and(|at| at <= self.now) {
            match (self.task.state, self.task.cause.clone()) {
                _ if self.waits_to_open() => self.open_again(out),
                (TaskState::Parked, Cause::Waiting { on, .. }) => self.try_again(on, out),
                (TaskState::Parked, _) => {
                    self.task.wake_at = None;
                    self.shift(TaskState::Queued, Cause::LimitPassed, out);
                    self.take_up(Owed::AfterLimit, out);
                }
                _ => self.task.wake_at = None,
            }
        }
        self.prod_goal(out);
        self.watch_budget(out);
    }

    /// Goes on with what was cut off, unless somebody wants another thing instead. A goal needs no words of ours.
    pub(super) fn take_up(&mut self, owed: Owed, out: &mut Vec<Effect>) {
        let is_first = |waiting: &Waiting| waiting.rank == Rank::First;
        let goes_on_by_itself = self.owes_goal() && owed != Owed::AfterCrash;
        match self.queue.front().is_some_and(is_first) || goes_on_by_itself {
            true => self.go_on(out),
            false => out.push(Effect::Owe(owed)),
        }
    }

    /// Somebody must decide whether it goes on.
    pub(super) fn pause(&mut self, why: WhyAsk, cause: Cause, out: &mut Vec<Effect>) {
        self.task.wake_at = None;
        self.park(cause, out);
        out.push(Effect::AskToContinue(why));
    }

    pub(super) fn park(&mut self, cause: Cause, out: &mut Vec<Effect>) {
        self.hold_goal();
        self.shift(TaskState::Parked, cause, out);
        self.let_go(out);
    }

    pub(super) fn end(&mut self, state: TaskState, cause: Cause, out: &mut Vec<Effect>) {
        self.asks.clear();
        self.ended = None;
        if state == TaskState::Cancelled {
            // Nobody wants it any more.
            self.task.tally.overtaken.clear();
        }
        self.task.wake_at = None;
        self.task.tally.tries = None;
        self.task.ended_at = Some(self.now);
        self.leave_undone(&cause, out);
        self.stop_goal(out);
        self.shift(state, cause, out);
        self.let_go(out);
    }

    pub(super) fn settle_interrupts(&mut self, result: Option<&TurnResult>, out: &mut Vec<Effect>) {
        for (intent, _) in std::mem::take(&mut self.interrupts) {
            let to = match result {
                Some(result) if has_stopped(result) => {
                    let receipt = Receipt::Interrupted { turn: result.turn.clone() };
                    IntentState::Done { receipt }
                }
                _ => IntentState::NotDone { why: NotDone::TooLate },
            };
            out.push(Effect::Settle { intent, to });
        }
    }
}

/// Whether the turn has ended before its time, and nothing follows from that but what somebody wants.
fn has_stopped(result: &TurnResult) -> bool {
    match &result.end {
        TurnEnd::Completed => false,
        TurnEnd::Interrupted { .. } => true,
        TurnEnd::Failed { failure } => matches!(
            failure.class,
            FailureClass::ServerGone
                | FailureClass::UsageLimit { .. }
                | FailureClass::RateLimit { .. }
                | FailureClass::Auth
                | FailureClass::Overload
                | FailureClass::Network
                | FailureClass::ServerError
        ),
    }
}

pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
