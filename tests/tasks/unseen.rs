//! Our process is gone for a part of a turn. What Codex did meanwhile is told afterwards, or it is said that it is not known.

use ostler_model::thread::DeltaKind;
use ostler_model::{TaskId, TaskState};
use ostler_scripted_model::{Answer, Pace};
use ostler_testkit::Workshop;
use rstest::rstest;
use tokio::time::{Duration, Instant};

use crate::{PROMPT, answer_of, stage};

/// What stands where text may be missing.
const GAP: &str = "[text may be missing here until this step ends]";

/// No step takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Text that grew while nobody was there is missing until the step ends, and does not pass for whole.
#[rstest]
#[tokio::test]
async fn a_hole_in_text_that_grows_is_shown_until_the_step_ends(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let pace = Pace { between_deltas_ms: 5, ..Pace::default() };
    let words = Answer { deltas: 800, pace: Some(pace), ..Answer::default() };
    let stage = stage(version, vec![words]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let before = until_grown(&shop, &task, |text| !text.is_empty()).await;
    shop.close().await.unwrap();
    let shop = Workshop::open(&stage).await.unwrap();
    let goes_on = |text: &str| text.split_once(GAP).is_some_and(|(_, tail)| tail.len() > 20);
    let after = until_grown(&shop, &task, goes_on).await;

    let (head, tail) = after.split_once(GAP).unwrap();
    assert!(head.starts_with(&before) && !tail.is_empty() && !tail.contains(GAP), "{after}");
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    let whole = answer_of(&ended).unwrap();
    assert!(whole.contains(tail.trim_start()) && !whole.contains(GAP));
    let left = shop.engine.store().partials(&task).await.unwrap();
    assert_eq!(left, []);
    shop.close().await.unwrap();
}

/// Waits until what is written down of the message is so, and gives it.
async fn until_grown(shop: &Workshop, task: &TaskId, is_so: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let pieces = shop.engine.store().partials(task).await.unwrap();
        let pieces = pieces.into_iter().filter(|piece| piece.kind == DeltaKind::Message);
        let text: String = pieces.map(|piece| piece.text).collect();
        if is_so(&text) {
            return text;
        }
        assert!(Instant::now() < deadline, "it does not grow: {text:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
