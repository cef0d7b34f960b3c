//! What becomes of a task when a turn has ended.

use std::time::Duration;

use super::signal::{Effect, MayContinue, Owed, WhyAsk};
use super::{Machine, Phase, Place};
use crate::failure::{Failure, FailureClass};
use crate::task::OnCrash;
use crate::task::intent::{IntentState, NotDone, Receipt};
use crate::task::state::{Cause, TaskState};
use crate::turn::{TurnEnd, TurnResult};

/// Limits in a row without any work done between, after which waiting is given up: a day of five-hour windows.
const MOST_LIMITS: u32 = 5;

/// A rate limit that names no time; doubled each time.
const RATE_LIMIT_PAUSE: Duration = Duration::from_secs(60);

/// After the reset that was named, for clocks that differ.
const AFTER_RESET: Duration = Duration::from_secs(5);

impl Machine {
    pub(super) fn turn_ended(&mut self, result: TurnResult, out: &mut Vec<Effect>) {
        let spent = &mut self.task.spent;
        let tokens = result.usage.turn.total().saturating_add(self.agents_tokens);
        spent.tokens = spent.tokens.saturating_add(tokens);
        spent.turns = spent.turns.saturating_add(1);
        self.stop_clock();
        self.turn_tokens = 0;
        self.agents_tokens = 0;
        self.task.turn = None;
        self.settle_interrupts(Some(&result), out);
        let end = result.end.clone();
        let did_work = result.tool_iterations > 0 || result.final_answer.is_some();
        let turn = result.turn.clone();
        self.task.last_result = Some(result);
        match end {
            TurnEnd::Completed => {
                self.crashes = 0;
                self.task.limit_streak = 0;
                self.edge = None;
                self.next_or(TaskState::Completed, Cause::TurnCompleted { turn }, out);
            }
            TurnEnd::Interrupted { by } => match self.edge.take() {
                Some(edge) => self.pause(WhyAsk::Budget(edge), Cause::BudgetUsed { edge }, out),
                None => self.next_or(TaskState::Cancelled, Cause::Interrupted { by }, out),
            },
            TurnEnd::Failed { failure } => self.failed(failure, did_work, out),
        }
    }

    /// The next input, or the end.
    pub(super) fn next_or(&mut self, state: TaskState, cause: Cause, out: &mut Vec<Effect>) {
        if self.queue.is_empty() && self.given.is_empty() {
            return self.end(state, cause, out);
        }
        self.go_on(out);
    }

    pub(super) fn failed(&mut self, failure: Failure, did_work: bool, out: &mut Vec<Effect>) {
        self.edge = None;
        if let Some(until) = self.limit_passes_at(&failure) {
            let streak = if did_work { 1 } else { self.task.limit_streak.saturating_add(1) };
            self.task.limit_streak = streak;
            if streak > MOST_LIMITS {
                return self.end(
                    TaskState::Failed,
                    Cause::LimitAgain { failure, times: streak },
                    out,
                );
            }
            self.task.wake_at = Some(until);
            return self.park(Cause::LimitReached { failure, until }, out);
        }
        if failure.class == FailureClass::ServerGone {
            self.crashes = if did_work { 1 } else { self.crashes.saturating_add(1) };
            return match self.task.settings.on_crash {
                OnCrash::Continue if self.crashes <= self.task.settings.crash_limit => {
                    self.shift(TaskState::Recovering, Cause::ServerLost { failure }, out);
                    out.push(Effect::Owe(Owed::AfterCrash));
                }
                OnCrash::Ask => {
                    let cause = Cause::ServerLost { failure: failure.clone() };
                    self.pause(WhyAsk::Crash(failure), cause, out);
                }
                _ => self.end(TaskState::Failed, Cause::TurnFailed { failure }, out),
            };
        }
        self.end(TaskState::Failed, Cause::TurnFailed { failure }, out);
    }

    /// When a limit has passed, in unix milliseconds.
    pub(super) fn limit_passes_at(&self, failure: &Failure) -> Option<i64> {
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
                self.crashes = 0;
                self.extend_budget();
                self.shift(TaskState::Queued, Cause::GoesOn { by }, out);
                out.push(Effect::Owe(Owed::AfterPause));
            }
            MayContinue::No => self.end(TaskState::Cancelled, Cause::Stopped { by }, out),
        }
    }

    pub(super) fn tick(&mut self, out: &mut Vec<Effect>) {
        if self.task.state == TaskState::Parked
            && self.task.wake_at.is_some_and(|at| at <= self.now)
        {
            self.task.wake_at = None;
            self.shift(TaskState::Queued, Cause::LimitPassed, out);
            out.push(Effect::Owe(Owed::AfterLimit));
        }
        self.watch_budget(out);
    }

    /// Somebody must decide whether it goes on.
    pub(super) fn pause(&mut self, why: WhyAsk, cause: Cause, out: &mut Vec<Effect>) {
        self.task.wake_at = None;
        self.park(cause, out);
        out.push(Effect::AskToContinue(why));
    }

    pub(super) fn park(&mut self, cause: Cause, out: &mut Vec<Effect>) {
        self.asks.clear();
        self.shift(TaskState::Parked, cause, out);
        self.let_go(out);
    }

    pub(super) fn end(&mut self, state: TaskState, cause: Cause, out: &mut Vec<Effect>) {
        self.asks.clear();
        self.task.ended_at = Some(self.now);
        self.shift(state, cause, out);
        self.let_go(out);
    }

    fn let_go(&mut self, out: &mut Vec<Effect>) {
        if std::mem::replace(&mut self.place, Place::None) != Place::None {
            out.push(Effect::LeavePlace);
        }
        if self.phase == Phase::Opening {
            self.phase = Phase::Closed;
        }
        self.stop = None;
        out.push(Effect::Rest);
    }

    pub(super) fn settle_interrupts(&mut self, result: Option<&TurnResult>, out: &mut Vec<Effect>) {
        for intent in std::mem::take(&mut self.interrupts) {
            let to = match result {
                Some(TurnResult { turn, end: TurnEnd::Interrupted { .. }, .. }) => {
                    IntentState::Done { receipt: Receipt::Interrupted { turn: turn.clone() } }
                }
                _ => IntentState::NotDone { why: NotDone::TooLate },
            };
            out.push(Effect::Settle { intent, to });
        }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
