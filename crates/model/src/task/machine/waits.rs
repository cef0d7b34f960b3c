//! What a task waits for and tries again by itself: an app-server, a Codex, the model, a login.
//!
//! A task that Codex may be at work for stays at work while it waits; any other is parked and gives its place away.

use std::time::Duration;

use super::ends::millis;
use super::signal::{Effect, Owed, WhyAsk};
use super::{Machine, Phase, Place};
use crate::failure::{Failure, FailureClass};
use crate::id::IntentId;
use crate::task::state::{Awaited, Cause, TaskState};
use crate::task::{OnCrash, Tries};

/// What an opening that failed this way waits for; none if only the request or the settings can be changed.
pub(super) fn waits_for(class: &FailureClass) -> Option<Awaited> {
    match class {
        FailureClass::NoCodex => Some(Awaited::Codex),
        FailureClass::ServerGone
        | FailureClass::Busy
        | FailureClass::Overload
        | FailureClass::Network
        | FailureClass::ServerError
        | FailureClass::RateLimit { .. } => Some(Awaited::AppServer),
        FailureClass::Auth
        | FailureClass::UsageLimit { .. }
        | FailureClass::ContextWindow
        | FailureClass::ModelNotFound
        | FailureClass::Sandbox
        | FailureClass::BadRequest
        | FailureClass::Missing
        | FailureClass::Policy
        | FailureClass::TimedOut
        | FailureClass::Unknown { .. } => None,
    }
}

/// Whether a turn that failed this way found no model, after Codex's own retries.
pub(super) fn is_outage(class: &FailureClass) -> bool {
    matches!(class, FailureClass::Overload | FailureClass::Network | FailureClass::ServerError)
}

/// The first wait and the longest one; each is twice the one before.
fn pauses(on: Awaited) -> (Duration, Duration) {
    match on {
        // A busy machine recovers within seconds; a full disk is looked at once a minute.
        Awaited::AppServer => (Duration::from_secs(1), Duration::from_secs(60)),
        // An upgrade takes seconds; somebody who installs a Codex waits for its tasks to go on.
        Awaited::Codex => (Duration::from_secs(2), Duration::from_secs(60)),
        // Codex has tried for some time by itself.
        Awaited::Model | Awaited::Login => (Duration::from_secs(10), Duration::from_secs(5 * 60)),
    }
}

impl Machine {
    /// The thread cannot be opened for the moment.
    pub(super) fn wait_to_open(&mut self, on: Awaited, failure: &Failure, out: &mut Vec<Effect>) {
        let cause = self.waiting(on, failure.clone());
        if self.is_busy() || self.queue.is_empty() {
            // What became of it must be found out before anything else is done.
            return self.shift(TaskState::Recovering, cause, out);
        }
        self.settle_interrupts(None, out);
        self.park(cause, out);
    }

    /// Whether an input that Codex refused was refused for the moment only.
    pub(super) fn is_to_wait(
        &self,
        intent: &IntentId,
        failure: &Failure,
        may_have_run: bool,
    ) -> bool {
        failure.class == FailureClass::Overload
            && !may_have_run
            && self.given == [intent.clone()]
            && self.task.turn.is_none()
            && self.interrupts.is_empty()
    }

    /// An input that was surely not taken waits again.
    pub(super) fn take_back(&mut self, intent: IntentId, failure: &Failure, out: &mut Vec<Effect>) {
        self.given.clear();
        self.ended = None;
        out.push(Effect::GiveBack { intent: intent.clone() });
        self.line_up_again(intent);
        let cause = self.waiting(Awaited::AppServer, failure.clone());
        self.park(cause, out);
    }

    /// The model could not be reached, or refused the login.
    pub(super) fn wait_for_model(
        &mut self,
        failure: Failure,
        did_work: bool,
        out: &mut Vec<Effect>,
    ) {
        if did_work {
            self.task.tally.tries = None;
        }
        if failure.class == FailureClass::Auth {
            let mut cause = self.waiting(Awaited::Login, failure.clone());
            if let Cause::Waiting { until, .. } = &mut cause {
                *until = None;
            }
            self.phase = Phase::Closed;
            out.push(Effect::Retire);
            return self.pause(WhyAsk::Login(failure), cause, out);
        }
        // Of a turn that has done something, a part may have to be done again.
        match self.task.settings.on_crash {
            OnCrash::Ask if did_work => {
                let cause = Cause::TurnFailed { failure: failure.clone() };
                return self.pause(WhyAsk::Outage(failure), cause, out);
            }
            OnCrash::Fail if did_work => {
                return self.end(TaskState::Failed, Cause::TurnFailed { failure }, out);
            }
            OnCrash::Continue | OnCrash::Ask | OnCrash::Fail => {}
        }
        let cause = self.waiting(Awaited::Model, failure.clone());
        let since = self.task.tally.tries.as_ref().map_or(self.now, |tries| tries.since);
        let patience = self.task.settings.outage_patience_ms;
        let most = patience.map(|patience| i64::try_from(patience).unwrap_or(i64::MAX));
        if most.is_some_and(|most| self.now.saturating_sub(since) >= most) {
            let cause = Cause::WaitedTooLong { on: Awaited::Model, failure, since };
            return self.end(TaskState::Failed, cause, out);
        }
        self.park(cause, out);
    }

    /// Counts the failed try, and says when the next one is due.
    fn waiting(&mut self, on: Awaited, failure: Failure) -> Cause {
        let before = self.task.tally.tries.take().filter(|tries| tries.on == on);
        let since = before.as_ref().map_or(self.now, |tries| tries.since);
        let times = before.map_or(0, |tries| tries.times).saturating_add(1);
        self.task.tally.tries = Some(Tries { on, since, times, login: None });
        let (first, longest) = pauses(on);
        // Beyond so many the longest one is reached.
        let pause = (first * (1 << times.saturating_sub(1).min(10))).min(longest);
        let until = self.now.saturating_add(millis(pause));
        self.task.wake_at = Some(until);
        Cause::Waiting { on, failure, since, until: Some(until), tries: times }
    }

    /// Whether the thread of a task that Codex may be at work for is to be opened again when its time has come.
    pub(super) fn waits_to_open(&self) -> bool {
        self.phase == Phase::Closed && self.place == Place::Held && self.task.wake_at.is_some()
    }

    pub(super) fn open_again(&mut self, out: &mut Vec<Effect>) {
        self.task.wake_at = None;
        self.phase = Phase::Opening;
        out.push(Effect::Open);
    }

    /// The wait is over.
    pub(super) fn try_again(&mut self, on: Awaited, out: &mut Vec<Effect>) {
        self.task.wake_at = None;
        self.shift(TaskState::Queued, Cause::TriesAgain { on }, out);
        match on {
            Awaited::AppServer | Awaited::Codex => self.go_on(out),
            Awaited::Model => self.take_up(Owed::AfterOutage, out),
            Awaited::Login => self.take_up(Owed::AfterLogin, out),
        }
    }

    /// Whether it is parked with inputs that could not be given, because nothing could be started.
    pub(super) fn has_failed_to_start(&self) -> bool {
        let on_start = |on: &Awaited| matches!(on, Awaited::AppServer | Awaited::Codex);
        self.task.state == TaskState::Parked
            && matches!(&self.task.cause, Cause::Waiting { on, .. } if on_start(on))
    }

    /// Whoever waits for another login tries with this one.
    pub(super) fn login_changed(&mut self, out: &mut Vec<Effect>) {
        let waits = matches!(self.task.cause, Cause::Waiting { on: Awaited::Login, .. });
        if self.task.state == TaskState::Parked && waits {
            self.try_again(Awaited::Login, out);
        }
    }

    /// The thread is open: an app-server and a Codex were found.
    pub(super) fn has_started(&mut self) {
        let is_there = |tries: &Tries| matches!(tries.on, Awaited::AppServer | Awaited::Codex);
        if self.task.tally.tries.as_ref().is_some_and(is_there) {
            self.task.tally.tries = None;
        }
        if self.place == Place::Held {
            self.task.wake_at = None;
        }
    }
}
