//! When something is to be done that nobody asks for.

use std::time::Duration;

use ostler_model::task::machine::Signal;
use tokio::time::{Instant, sleep_until};

use super::Runner;
use super::perform::Todo;
use crate::shared::instant_of;

impl Runner {
    pub(super) fn on_time(&mut self) {
        self.escalate();
        if self.leave_at.is_some_and(|at| at <= Instant::now()) {
            self.leave_at = None;
            self.todo.push(Todo::Leave);
        }
        self.look_at_login();
        self.step(Signal::Tick);
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        let clock = self.clock().map(instant_of);
        [clock, self.leave_at, self.blocked_until].into_iter().flatten().min()
    }

    /// Unix milliseconds at which something is to be done, whatever else happens.
    pub(super) fn clock(&self) -> Option<i64> {
        let clock = [self.machine.wake_at(), self.desk.escalates_at(self.machine.task())];
        clock.into_iter().flatten().min()
    }

    /// A thread stays open for a while, because more may be sent. What has none is let go at once.
    pub(super) fn plan_to_leave(&mut self) {
        if self.has_left || !self.machine.is_at_rest() || !self.works.is_empty() {
            self.leave_at = None;
        } else if self.leave_at.is_none() {
            let wait =
                self.stage.as_ref().map_or(Duration::ZERO, |_| self.shared.live().idle_thread);
            self.leave_at = Some(Instant::now() + wait);
        }
    }
}

pub(super) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
