//! How long an ask waits for a person, and what happens then.

use std::time::Duration;

use crate::task::{TaskSettings, Unattended};

/// What a task says of asks that nobody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    pub unattended: Unattended,
    /// After this long, those who are to know are told again. Once.
    pub escalate_after: Option<Duration>,
}

/// An ask that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Unix milliseconds.
    pub opened_at: i64,
    /// When people were told again.
    pub escalated_at: Option<i64>,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Say no, and say everywhere that nobody was asked.
    Decline,
    /// Tell people again.
    Escalate,
    /// Nothing before this time in unix milliseconds; nothing at all without one.
    Wait { until: Option<i64> },
}

impl Patience {
    /// What is to be done at this time, in unix milliseconds. A clock that was set back makes it later, never twice.
    pub fn next(&self, ask: &Waiting, now: i64) -> Action {
        if self.unattended == Unattended::Decline {
            return Action::Decline;
        }
        let Some(after) = self.escalate_after.filter(|_| ask.escalated_at.is_none()) else {
            return Action::Wait { until: None };
        };
        let due =
            ask.opened_at.saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
        if now >= due { Action::Escalate } else { Action::Wait { until: Some(due) } }
    }
}

impl From<&TaskSettings> for Patience {
    fn from(settings: &TaskSettings) -> Self {
        Self {
            unattended: settings.unattended,
            escalate_after: settings.escalate_after_ms.map(Duration::from_millis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Patience, Waiting};
    use crate::task::{TaskSettings, Unattended};

    const OPEN: Waiting = Waiting { opened_at: 1_000, escalated_at: None };
    const TOLD: Waiting = Waiting { opened_at: 1_000, escalated_at: Some(6_000) };

    fn patience(unattended: Unattended, escalate_after_ms: Option<u64>) -> Patience {
        Patience::from(&TaskSettings { unattended, escalate_after_ms, ..TaskSettings::default() })
    }

    #[test]
    fn an_ask_waits_for_good_unless_somebody_said_otherwise() {
        let default = Patience::from(&TaskSettings::default());
        assert_eq!(default.next(&OPEN, i64::MAX), Action::Wait { until: None });
    }

    #[test]
    fn people_are_told_again_once_and_not_early() {
        let patience = patience(Unattended::Wait, Some(5_000));
        let wait = Action::Wait { until: Some(6_000) };
        assert_eq!([0, 1_000, 5_999].map(|now| patience.next(&OPEN, now)), [wait; 3]);
        assert_eq!([6_000, 9_000].map(|now| patience.next(&OPEN, now)), [Action::Escalate; 2]);
        assert_eq!(patience.next(&TOLD, 9_000), Action::Wait { until: None });
    }

    #[test]
    fn a_task_that_does_not_wait_declines_at_once_also_what_is_due_for_telling() {
        let patience = patience(Unattended::Decline, Some(5_000));
        for (ask, now) in [(OPEN, 1_000), (OPEN, 9_000), (TOLD, 9_000)] {
            assert_eq!(patience.next(&ask, now), Action::Decline);
        }
    }

    #[test]
    fn a_time_beyond_all_times_is_never_due() {
        let patience = patience(Unattended::Wait, Some(u64::MAX));
        assert_eq!(patience.next(&OPEN, i64::MAX - 1), Action::Wait { until: Some(i64::MAX) });
    }
}
