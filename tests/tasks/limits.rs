//! A limit of the account parks the task, and it goes on by itself when the limit has passed.

use std::num::NonZeroU32;
use std::time::{SystemTime, UNIX_EPOCH};

use ostler_model::task::Cause;
use ostler_model::thread::IfBusy;
use ostler_model::{FailureClass, TaskState};
use ostler_scripted_model::{Answer, Fault, Plays};
use ostler_testkit::Workshop;
use rstest::rstest;

use crate::{AFTER_LIMIT, LEAVES_A_LINE, PROMPT, answer_of, command, stage_of, text};

fn seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

/// The plan's allowance is used up until then, in unix seconds.
fn used_up(until: i64) -> Answer {
    let headers = [
        ("x-codex-primary-used-percent", "100".to_owned()),
        ("x-codex-primary-window-minutes", "300".to_owned()),
        ("x-codex-primary-reset-at", until.to_string()),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let fault = Fault::UsageLimit { plan_type: Some("plus".to_owned()), resets_in_s: None };
    Answer { fault: Some(fault), headers, ..Answer::default() }
}

#[rstest]
#[tokio::test]
async fn a_usage_limit_is_waited_for_and_the_task_goes_on_once(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(true, false)] over_a_restart: bool,
) {
    // Codex is started first, on a machine that may be busy.
    let reset = seconds() + 12;
    let stage = stage_of(
        version,
        vec![
            (AFTER_LIMIT, vec![text("Two.")]),
            ("feed the cat", vec![text("Three.")]),
            (PROMPT, vec![command(LEAVES_A_LINE), used_up(reset)]),
        ],
    );
    let mut shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let parked = shop.until(&task, TaskState::Parked).await.unwrap();
    let queued = shop.send(&task, "feed the cat", IfBusy::Queue).await.unwrap();

    let Cause::LimitReached { failure, until } = parked.cause else { panic!("{parked:?}") };
    assert_eq!(failure.class, FailureClass::UsageLimit { resets_at: Some(reset) });
    assert_eq!((until, parked.wake_at), ((reset + 5) * 1000, Some((reset + 5) * 1000)));
    if over_a_restart {
        shop.close().await.unwrap();
        shop = Workshop::open(&stage).await.unwrap();
        assert_eq!(shop.task(&task).await.unwrap().state, TaskState::Parked);
    }
    shop.settled(&queued).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();

    assert!(seconds() >= reset + 5);
    assert_eq!((answer_of(&ended), ended.limit_streak), (Some("Three."), 0));
    // The command, the limit, the turn that went on, and the one that waited.
    assert_eq!((stage.model().requests_seen(), ended.spent.turns), (4, 3));
    assert_eq!(stage.lines("ran.log"), ["ran"]);
    let states = shop.states(&task).await.unwrap();
    assert_eq!(states.iter().filter(|state| **state == TaskState::Parked).count(), 1);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_rate_limit_that_names_no_time_is_waited_for_a_minute(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let (code, message, retry_after_s, body) = (None, None, None, None);
    let fault = Fault::Status { status: 429, code, message, retry_after_s, body };
    let limited = Answer { fault: Some(fault), plays: Plays::Forever, ..Answer::default() };
    let stage = stage_of(version, vec![(PROMPT, vec![limited])]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let parked = shop.until(&task, TaskState::Parked).await.unwrap();
    let Cause::LimitReached { failure, .. } = &parked.cause else { panic!("{parked:?}") };
    assert_eq!(failure.class, FailureClass::RateLimit { retry_after_ms: None });
    assert_eq!(parked.wake_at, Some(parked.updated_at + 60_000));

    shop.engine.interrupt(&task, "test").await.unwrap();
    let ended = shop.until(&task, TaskState::Cancelled).await.unwrap();
    assert_eq!(ended.wake_at, None);
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

/// Up to 0.142.5 it comes as a broken stream, which only its words tell from others.
#[rstest]
#[tokio::test]
async fn a_rate_limit_that_names_its_time_is_waited_for_that_long(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values("Rate limit reached.", "Too many tokens.")] words: &str,
) {
    let message = format!("{words} Please try again in 1.5s.");
    let fault = Fault::Failed { after: 0, code: "rate_limit_exceeded".to_owned(), message };
    // Codex tries once more by itself before it gives the turn up.
    let plays = Plays::Times(NonZeroU32::new(2).unwrap());
    let limited = Answer { fault: Some(fault), plays, ..Answer::default() };
    let stage = stage_of(version, vec![(AFTER_LIMIT, vec![text("Two.")]), (PROMPT, vec![limited])]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let parked = shop.until(&task, TaskState::Parked).await.unwrap();
    let Cause::LimitReached { failure, .. } = &parked.cause else { panic!("{parked:?}") };
    assert_eq!(failure.class, FailureClass::RateLimit { retry_after_ms: Some(1_500) });
    assert_eq!(parked.wake_at, Some(parked.updated_at + 1_500));
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), stage.model().requests_seen()), (Some("Two."), 3));
    shop.close().await.unwrap();
}
