//! What must be true after every step, and at the end.

use ostler_model::task::{IntentState, TaskState};
use ostler_model::thread::IfBusy;

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
    }

    fn check_stands_still(&self) {
        assert_eq!((&self.stored.task.turn, self.place), (&None, Place::None));
        assert_eq!(self.machine.is_at_rest(), !self.is_opening);
    }

    /// Inputs that wait for their time are given in the order in which they came.
    fn check_order(&self) {
        let in_line =
            self.stored.intents.iter().filter(|record| record.wish == Wish::Send(IfBusy::Queue));
        let states: Vec<bool> = in_line
            .filter(|record| record.state == IntentState::Pending || self.was_given(record))
            .map(|record| record.state == IntentState::Pending)
            .collect();
        assert!(states.is_sorted(), "a later one was given before an earlier one");
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
