//! Whom a task tells what: the rules one by one, and all of them together while daemons are killed.

mod crashes;
mod delivery;
mod telling;

use ostler_model::notification::{Addressee, Content, Kind, Occasion};
use ostler_model::task::{Budget, Cause, Spent, Tally, TaskSettings};
use ostler_model::{Notification, Task, TaskState};

const NOON: i64 = 1_795_000_000_000;

fn task() -> Task {
    Task {
        id: "t1".into(),
        state: TaskState::Completed,
        cause: Cause::TurnCompleted { turn: "turn-1".into() },
        title: "harness the horse".to_owned(),
        settings: TaskSettings::in_folder("/inn"),
        started_by: "ada".to_owned(),
        thread: None,
        keeper: None,
        codex_version: None,
        turn: None,
        last_result: None,
        spent: Spent::default(),
        budget: Budget::default(),
        wake_at: None,
        limit_streak: 0,
        goal: None,
        tally: Tally::default(),
        created_at: NOON,
        updated_at: NOON,
        ended_at: Some(NOON),
        last_seq: 9,
        forked_from: None,
    }
}

fn told(nonce: &str, target: &str) -> Notification {
    let occasion = Occasion::Moved { nonce: nonce.to_owned() };
    let content = Content::of_state(&task(), Kind::Finished, None);
    let addressee = Addressee::To(target.to_owned());
    Notification::new(&occasion, &"t1".into(), Kind::Finished, addressee, content, NOON)
}
