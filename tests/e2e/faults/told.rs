//! What became of a turn, as far as it does not differ from run to run.

use ostler_model::thread::{Finding, SeenState, Update};
use ostler_model::{FailureClass, TurnEnd, TurnResult};
use ostler_testkit::DrivenThread;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) end: End,
    /// The answer, or as much of it as came before the failure.
    pub(super) answer: Option<String>,
    /// Why Codex tried again. How often it does is a matter of its settings, and for a refused connection of time.
    pub(super) retried: Vec<FailureClass>,
    /// What was found when the turn stood still, and why Codex was trying again at that time.
    pub(super) stalled: Vec<(Finding, Option<FailureClass>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Completed,
    Interrupted,
    Failed(FailureClass),
}

pub(super) fn completes(answer: &str) -> Told {
    Told { end: End::Completed, ..Told::nothing() }.saying(answer)
}

pub(super) fn fails(class: FailureClass) -> Told {
    Told { end: End::Failed(class), ..Told::nothing() }
}

/// Nothing is ever heard of it again, so that our own limit must end it.
pub(super) fn hangs() -> Told {
    let stalled = vec![(Finding::Answers { state: SeenState::Active }, None)];
    Told { stalled, ..fails(FailureClass::TimedOut) }
}

/// Codex tries for ever, so that our own limit must end it. Its reason is the one for which Codex tries.
pub(super) fn tries_forever(class: FailureClass) -> Told {
    let stalled = vec![(Finding::Answers { state: SeenState::Active }, Some(class.clone()))];
    Told { stalled, ..fails(class.clone()) }.retried(class)
}

impl Told {
    fn nothing() -> Self {
        Self { end: End::Completed, answer: None, retried: Vec::new(), stalled: Vec::new() }
    }

    pub(super) fn retried(self, class: FailureClass) -> Self {
        Self { retried: vec![class], ..self }
    }

    pub(super) fn saying(self, answer: &str) -> Self {
        Self { answer: Some(answer.to_owned()), ..self }
    }

    /// What the only turn of this thread has come to.
    pub(super) fn of(thread: &DrivenThread, result: &TurnResult) -> Self {
        let (mut retried, mut attempts, mut stalled) = (Vec::new(), Vec::new(), Vec::new());
        for update in thread.updates() {
            match update {
                Update::Retrying { failure, attempt, .. } => {
                    retried.push(failure.class.clone());
                    attempts.push(*attempt);
                }
                Update::Stalled { found, retrying, .. } => {
                    let retrying = retrying.as_ref().map(|failure| failure.class.clone());
                    stalled.push((found.clone(), retrying));
                }
                _ => {}
            }
        }
        assert_eq!(attempts, (1..=result.retries).collect::<Vec<_>>(), "{result:?}");
        retried.dedup();
        let end = match &result.end {
            TurnEnd::Completed => End::Completed,
            TurnEnd::Interrupted { .. } => End::Interrupted,
            TurnEnd::Failed { failure } => End::Failed(failure.class.clone()),
        };
        Self { end, answer: result.final_answer.clone(), retried, stalled }
    }
}
