//! What a task came to: the last line and the exit code. Pure.

use ostler_model::task::Cause;
use ostler_model::{Failure, FailureClass, Task, TaskState, TurnEnd};

use super::{time, words};
use crate::conversation::{ResultShown, translate};
use crate::failure::Exit;

/// The exit code of a task as it stands, or none if it is not to be waited for any longer.
pub(crate) fn exit(task: &Task) -> Option<u8> {
    Some(match task.state {
        TaskState::Completed => 0,
        TaskState::Failed => failure(task).map_or(Exit::Failed, exit_of) as u8,
        TaskState::Cancelled => Exit::Interrupted as u8,
        _ if words::needs_a_person(task) => Exit::WaitingOnPerson as u8,
        _ => return None,
    })
}

/// The last line of a task that is over or waits for somebody.
pub(crate) fn result(task: &Task, now: i64) -> ResultShown {
    let exit = exit(task).unwrap_or(0);
    let (status, text) = match task.state {
        TaskState::Completed => ("completed", "done".to_owned()),
        TaskState::Failed => ("failed", words::cause(&task.cause, now)),
        TaskState::Cancelled => ("interrupted", words::cause(&task.cause, now)),
        _ if words::needs_a_person(task) => {
            ("detached", format!("it waits for you: {}", words::cause(&task.cause, now)))
        }
        state => ("detached", format!("{}; it goes on without you", words::state(state))),
    };
    let last = task.last_result.as_ref();
    ResultShown {
        ok: task.state == TaskState::Completed,
        exit,
        status: status.to_owned(),
        text,
        thread: task.thread.as_ref().map(ToString::to_string),
        turn: last.map(|result| result.turn.to_string()),
        answer: last.and_then(|result| result.final_answer.clone()),
        error: failure(task).filter(|_| task.state == TaskState::Failed).map(translate::error),
        usage: last.map(|result| result.usage),
        ..ResultShown::default()
    }
}

fn failure(task: &Task) -> Option<&Failure> {
    match &task.cause {
        Cause::TurnFailed { failure }
        | Cause::StartFailed { failure }
        | Cause::ServerLost { failure }
        | Cause::Waiting { failure, .. }
        | Cause::WaitedTooLong { failure, .. }
        | Cause::LimitAgain { failure, .. } => Some(failure),
        _ => match task.last_result.as_ref().map(|result| &result.end) {
            Some(TurnEnd::Failed { failure }) => Some(failure),
            _ => None,
        },
    }
}

/// The table of `docs/exit-codes.md`.
pub(crate) fn exit_of(failure: &Failure) -> Exit {
    match failure.class {
        FailureClass::UsageLimit { .. } => Exit::LimitReached,
        FailureClass::RateLimit { .. } | FailureClass::Overload | FailureClass::Busy => {
            Exit::TryAgainLater
        }
        FailureClass::TimedOut => Exit::TimedOut,
        _ => Exit::Failed,
    }
}

/// The time that a task still needs to be said for a person: since when it stands so.
pub(crate) fn since(task: &Task, now: i64) -> String {
    time::ago(task.ended_at.unwrap_or(task.updated_at), now)
}
