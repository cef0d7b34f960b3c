//! Compaction: a turn that Codex fills by itself, or a part of another.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::thread::{TurnContent, TurnInput};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{FailureClass, TurnEnd};
use ostler_scripted_model::{Answer, Fault};
use rstest::rstest;

use super::{INTERRUPTED_WITHIN, Scene, by_test, hangs, says};
use crate::text;

/// The words by which Codex asks the model to sum up.
const SUM_UP: &str = "CONTEXT CHECKPOINT COMPACTION";

fn compaction() -> TurnInput {
    TurnInput::new(TurnContent::Compaction)
}

#[rstest]
#[tokio::test]
async fn a_thread_is_compacted_and_goes_on(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        (SUM_UP, vec![text("All horses are fed.")]),
        ("feed", vec![text("Fed.")]),
        ("then", vec![text("Then.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let fed = thread.run(says("feed")).await.unwrap().result;

    let ticket = thread.thread.send(compaction(), IfBusy::Fail).await.unwrap();
    let result = thread.turn_end().await.unwrap();

    assert_eq!((&result.end, &result.inputs), (&TurnEnd::Completed, &vec![ticket.input]));
    assert_eq!((fed.compacted, result.compacted, result.final_answer.clone()), (false, true, None));
    assert_eq!(result.usage.calls, 1, "the summing up is a call of the model: {:?}", result.usage);
    let told = thread.updates().filter(|update| matches!(update, Update::Compacted { .. })).count();
    assert_eq!(told, 1);
    let then = thread.run(says("then")).await.unwrap().result;
    assert_eq!((then.end, then.compacted), (TurnEnd::Completed, false));
    assert!(scene.requests().last().unwrap().contains("All horses are fed."));
}

#[rstest]
#[tokio::test]
async fn a_compaction_is_interrupted(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let conversations =
        vec![(SUM_UP, vec![hangs()]), ("feed", vec![text("Fed.")]), ("then", vec![text("Then.")])];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    thread.run(says("feed")).await.unwrap();
    let ticket = thread.thread.send(compaction(), IfBusy::Fail).await.unwrap();
    scene.asked(2).await;
    // An input sent meanwhile waits, because such a turn takes none.
    let then = thread.thread.send(says("then"), IfBusy::Steer).await.unwrap();

    let interrupted = thread.thread.interrupt("the test");
    tokio::time::timeout(INTERRUPTED_WITHIN, interrupted).await.unwrap();

    let result = ticket.outcome().await.unwrap().result;
    assert_eq!((result.end, result.retire, result.compacted), (by_test(), false, false));
    let then = then.outcome().await.unwrap().result;
    assert_eq!((then.end, then.final_answer.as_deref()), (TurnEnd::Completed, Some("Then.")));
}

#[rstest]
#[tokio::test]
async fn a_full_context_fails_the_turn_and_the_next_one_compacts(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let fault = Fault::Failed {
        after: 0,
        code: "context_length_exceeded".to_owned(),
        message: "too long".to_owned(),
    };
    let full = Answer { fault: Some(fault), ..text("Never said.") };
    let conversations = vec![
        (SUM_UP, vec![text("All horses are fed.")]),
        ("feed", vec![full]),
        ("then", vec![text("Then.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;

    let full = thread.run(says("feed")).await.unwrap().result;
    let then = thread.run(says("then")).await.unwrap().result;

    assert_eq!(full.failure().map(|it| &it.class), Some(&FailureClass::ContextWindow), "{full:?}");
    assert_eq!((then.end, then.compacted), (TurnEnd::Completed, true));
    assert_eq!(then.final_answer.as_deref(), Some("Then."));
    // What Codex writes over its count when the context is full is no usage.
    assert_eq!((full.usage.calls, then.usage.calls), (0, 2), "{:?} {:?}", full.usage, then.usage);
}
