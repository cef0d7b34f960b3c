//! What a run came to: the last line and the exit code. Pure.

use ostler_model::{FailureClass, Interrupter, ThreadId, TurnEnd, TurnResult};

use crate::conversation::{ResultShown, translate};
use crate::failure::Exit;
use crate::tasks::ending::exit_of;
use crate::turn::{Detached, End, Sign, Watched};

/// The table of `docs/exit-codes.md`.
pub(super) fn result(thread: &ThreadId, watched: &Watched) -> ResultShown {
    let shown = ResultShown {
        thread: Some(thread.to_string()),
        declined: watched.tally.unasked,
        ..ResultShown::default()
    };
    match &watched.end {
        End::Turn(result) => turn(result, watched, shown),
        End::Refused(failure) => ResultShown {
            exit: exit_of(failure) as u8,
            status: "refused".to_owned(),
            text: format!(
                "the prompt was not taken ({}): {}",
                failure.class.name(),
                failure.message
            ),
            error: Some(translate::error(failure)),
            ..shown
        },
        End::Detached(detached) => {
            let (exit, text) = match detached {
                Detached::BySignal => (Exit::CtrlC, "left; the turn goes on without you"),
                Detached::Asked => (Exit::WaitingOnPerson, "left; the question waits for you"),
            };
            let (status, text) = ("detached".to_owned(), text.to_owned());
            ResultShown { exit: exit as u8, status, text, ..shown }
        }
    }
}

fn turn(result: &TurnResult, watched: &Watched, shown: ResultShown) -> ResultShown {
    let shown = ResultShown {
        turn: Some(result.turn.to_string()),
        answer: result.final_answer.clone(),
        usage: Some(result.usage),
        ..shown
    };
    match &result.end {
        TurnEnd::Completed if watched.tally.waits_for_person() => ResultShown {
            exit: Exit::WaitingOnPerson as u8,
            status: "completed".to_owned(),
            text:
                "Codex could not go on: what it asked was declined, because there was nobody to ask"
                    .to_owned(),
            ..shown
        },
        TurnEnd::Completed => ResultShown {
            ok: true,
            exit: 0,
            status: "completed".to_owned(),
            text: "done".to_owned(),
            ..shown
        },
        TurnEnd::Interrupted { by } => ResultShown {
            exit: interrupted(by, watched.interrupted_with) as u8,
            status: "interrupted".to_owned(),
            text: format!("interrupted by {}", by.describe()),
            ..shown
        },
        TurnEnd::Failed { failure } => ResultShown {
            exit: exit_of(failure) as u8,
            status: "failed".to_owned(),
            text: format!("failed ({}): {}", failure.class.name(), failure.message),
            error: Some(translate::error(failure)),
            ..shown
        },
    }
}

fn interrupted(by: &Interrupter, with: Option<Sign>) -> Exit {
    match (by, with) {
        (Interrupter::Stall, _) => Exit::TimedOut,
        (_, Some(Sign::CtrlC)) => Exit::CtrlC,
        _ => Exit::Interrupted,
    }
}

/// Whether what Codex wrote last may say why.
pub(super) fn is_worth_a_look(watched: &Watched) -> bool {
    let failure = match &watched.end {
        End::Turn(result) => result.failure(),
        End::Refused(failure) => Some(failure),
        End::Detached(_) => None,
    };
    failure.is_some_and(|failure| {
        matches!(failure.class, FailureClass::ServerGone | FailureClass::Unknown { .. })
    })
}
