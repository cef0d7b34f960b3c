//! What becomes of an attempt.

use ostler_model::Notification;
use ostler_model::notification::{Addressee, Content, Kind, Occasion, Outcome, Persistence, State};

use crate::{NOON, task, told};

fn failed() -> Outcome {
    Outcome::Failed { why: "HTTP 503".to_owned(), retry_after_ms: None }
}

#[test]
fn waits_grow_to_six_hours_and_add_up_to_a_day() {
    let usual = Persistence::default();
    let middle = u32::MAX / 2;
    let waits: Vec<u64> =
        (1..12).map(|attempts| usual.wait_ms(attempts, None, middle) / 1000).collect();
    assert_eq!(waits, [4, 14, 44, 134, 404, 1214, 3644, 10_934, 21_599, 21_599, 21_599]);
    let all: u64 = waits.iter().sum();
    assert!((20 * 3600..24 * 3600).contains(&all), "{all}");
    // Jitter is a fifth to both sides.
    assert_eq!((usual.wait_ms(1, None, 0), usual.wait_ms(1, None, u32::MAX)), (4000, 6000));
    // Whoever asks for a longer wait gets it, up to a bound; whoever asks for a shorter one does not.
    assert_eq!(usual.wait_ms(1, Some(60_000), 0), 60_000);
    assert_eq!(usual.wait_ms(1, Some(1), 0), 4000);
    assert_eq!(usual.wait_ms(1, Some(u64::MAX), 0), 6 * 3600 * 1000);
    let endless = Persistence { attempts: u32::MAX, first_wait_ms: u64::MAX };
    assert!(endless.wait_ms(u32::MAX, None, u32::MAX) <= 8 * 3600 * 1000);
}

#[test]
fn it_is_tried_until_it_is_given_up_and_can_be_sent_again() {
    let mut row = told("n", "ops");
    let id = row.id.clone();
    assert_eq!((row.state, row.due_at), (State::Pending, Some(NOON)));
    let persistence = Persistence { attempts: 3, first_wait_ms: 1000 };
    row.tried(NOON + 10, 5, failed(), &persistence, 0);
    assert_eq!((row.state, row.due_at, row.attempts), (State::Pending, Some(NOON + 810), 1));
    row.tried(NOON + 900, 5, failed(), &persistence, 0);
    row.tried(NOON + 9000, 5, failed(), &persistence, 0);
    assert_eq!((row.state, row.due_at, row.attempts), (State::Failed, None, 3));
    assert_eq!(row.tries.len(), 3);

    assert!(row.replay(NOON + 10_000));
    assert!(!row.replay(NOON + 10_001), "it is about to be sent");
    assert_eq!((row.state, row.due_at, row.attempts), (State::Pending, Some(NOON + 10_000), 0));
    row.tried(
        NOON + 10_010,
        7,
        Outcome::Delivered { answer: "HTTP 200".to_owned() },
        &persistence,
        0,
    );
    assert_eq!((row.state, row.due_at, &row.id), (State::Sent, None, &id));
    assert_eq!(row.receipt.as_ref().unwrap().answer, "HTTP 200");
}

#[test]
fn what_would_never_be_taken_is_given_up_at_once() {
    let usual = Persistence::default();
    let mut refused = told("n", "ops");
    refused.tried(NOON, 1, Outcome::Refused { why: "HTTP 410".to_owned() }, &usual, 0);
    assert_eq!((refused.state, refused.attempts), (State::Failed, 1));
    let mut gone = told("n", "ops");
    gone.tried(NOON, 1, Outcome::NoTarget { why: "no such target".to_owned() }, &usual, 0);
    assert_eq!(gone.state, State::NoTarget);
    assert!(gone.replay(NOON), "it may be there again");
}

#[test]
fn where_nobody_is_told_nothing_is_sent_and_nothing_is_kept_twice() {
    let new = |addressee| {
        let occasion = Occasion::Moved { nonce: "n".to_owned() };
        let mut content = Content::of_state(&task(), Kind::Finished, None);
        content.answer = Some("Harnessed.".to_owned());
        Notification::new(&occasion, &"t1".into(), Kind::Finished, addressee, content, NOON)
    };
    let mut nobody = new(Addressee::Nobody);
    assert_eq!(
        (nobody.state, nobody.due_at, nobody.content.answer.clone()),
        (State::NoTarget, None, None)
    );
    assert!(!nobody.replay(NOON));
    let unknown = new(Addressee::Unknown("gone".to_owned()));
    assert_eq!((unknown.state, unknown.due_at, unknown.tries.len()), (State::NoTarget, None, 1));
}

#[test]
fn only_the_last_attempts_are_kept() {
    let mut row = told("n", "ops");
    let patient = Persistence { attempts: 100, first_wait_ms: 1 };
    for at in 0..50 {
        let outcome = Outcome::Failed { why: at.to_string(), retry_after_ms: None };
        row.tried(NOON + at, 1, outcome, &patient, 0);
    }
    assert_eq!((row.attempts, row.tries.len()), (50, 20));
    assert_eq!(row.tries.last().unwrap().why, "49");
}
