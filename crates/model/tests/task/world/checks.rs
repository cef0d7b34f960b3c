//! What must be true after every step, and at the end.

use ostler_model::task::{IntentState, OnCrash, TaskState};
use ostler_model::thread::IfBusy;
use ostler_model::{FailureClass, IntentId};

use super::{Place, Wish, World};

impl World {
    pub(super) fn check(&self) {
        let task = &self.stored.task;
        assert_eq!(task, self.machine.task(), "something is not written");
        let owed = self.stored.intents.iter().filter(|record| record.state.is_open());
        let sends = owed.filter(|record| record.wish != Wish::Interrupt).count();
        match task.state {
            TaskState::Completed | TaskState::Failed | TaskState::Cancelled => {
                assert_eq!(sends, 0, "a task that is over owes something");
                assert!(task.ended_at.is_some() && task.wake_at.is_none());
                self.check_stands_still();
            }
            TaskState::Parked => {
                assert_ne!(task.wake_at.is_some(), self.stored.continue_ask, "who wakes it?");
                self.check_stands_still();
            }
            TaskState::Queued => {
                assert!(sends > 0, "nothing to do, and in line");
                assert_eq!((&task.turn, self.place), (&None, Place::InLine));
            }
            _ => assert_eq!(self.place, Place::Running, "it works and does not count"),
        }
        assert!(self.stored.continued <= self.stored.limits, "went on more often than it stopped");
        self.check_order();
        self.check_nothing_lost();
    }

    /// Of a task that came to its end undisturbed Codex has all that was said to it, whatever died on the way.
    fn check_nothing_lost(&self) {
        let task = &self.stored.task;
        let is_undisturbed = task.settings.on_crash == OnCrash::Continue
            && !self.stored.was_given_up
            && self.stored.intents.iter().all(|record| {
                !matches!(record.wish, Wish::Interrupt | Wish::Send(IfBusy::Interrupt))
            });
        if task.state != TaskState::Completed || !is_undisturbed {
            return;
        }
        for record in &self.stored.intents {
            match &record.state {
                IntentState::Done { .. } => {
                    assert!(self.thread.holds(&record.id), "{} was lost", record.id);
                }
                // Whoever can be asked what became of it is asked.
                IntentState::Unknown { why } => panic!("{} was given up: {why}", record.id),
                _ => {}
            }
        }
    }

    fn check_stands_still(&self) {
        assert_eq!((&self.stored.task.turn, self.place), (&None, Place::None));
        assert_eq!(self.machine.is_at_rest(), !self.is_opening);
    }

    /// Inputs that wait for their time are given in the order in which they came.
    fn check_order(&self) {
        let in_line =
            self.stored.intents.iter().filter(|record| record.wish == Wish::Send(IfBusy::Queue));
        let in_line = in_line.filter(|record| !self.lost.contains(&record.id));
        let states: Vec<bool> = in_line
            .filter(|record| record.state == IntentState::Pending || self.was_given(record))
            .map(|record| record.state == IntentState::Pending)
            .collect();
        assert!(states.is_sorted(), "a later one was given before an earlier one");
    }

    /// Our word to go on is given only where Codex has what it is about.
    pub(super) fn check_is_held(&self, intent: &IntentId) {
        let is_ours = |record: &&super::Record| record.id == *intent && record.wish == Wish::Owed;
        let Some(result) = self.machine.task().last_result.as_ref() else { return };
        let died = result.failure().is_some_and(|it| it.class == FailureClass::ServerGone);
        if !died || !self.stored.intents.iter().any(|record| is_ours(&record)) {
            return;
        }
        for input in &result.inputs {
            let waits = |record: &super::Record| {
                record.id.as_str() == input.as_str() && record.state.is_open()
            };
            let is_known = self.thread.holds(&IntentId::new(input.as_str()))
                || self.stored.intents.iter().any(waits);
            assert!(is_known, "{intent} is about {input}, which codex does not have");
        }
    }

    fn was_given(&self, record: &super::Record) -> bool {
        self.given.contains(&record.id)
    }

    pub(super) fn check_end(&self) {
        let state = self.stored.task.state;
        assert!(state.is_over(), "it ended as {state}");
        for record in &self.stored.intents {
            assert!(!record.state.is_open(), "{} was forgotten: {:?}", record.id, record.state);
        }
    }
}
