//! Another client works on our thread.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::request::thread::{ThreadArchive, ThreadResume};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{FailureClass, Interrupter, TurnEnd};
use rstest::rstest;

use super::{Scene, breaks_off, once, says, speaks, turn_began};
use crate::{LEAVES_A_LINE, command, text};

/// Up to 0.142.5 Codex answers our `turn/start` with a turn that never begins. The input goes into the stranger's turn.
#[rstest]
#[tokio::test]
async fn an_input_sent_during_a_strangers_turn_is_answered_once(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        ("warm up", vec![text("Warm.")]),
        ("theirs", vec![command(LEAVES_A_LINE), text("Both answered.")]),
        ("ours", vec![text("Both answered."), text("Both answered.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.asking_thread(ThreadOptions::default()).await;
    thread.run(says("warm up")).await.unwrap();
    let stranger = scene.stage.client(&scene.codex).await.unwrap();
    let id = thread.thread.id().clone();
    stranger.server.call(&ThreadResume::new(id.clone())).await.unwrap();
    let theirs = stranger.start_turn(&id, "theirs").await.unwrap();

    // We are not told who began it; for us it is a turn without an input.
    assert_eq!(turn_began(&mut thread).await, theirs);
    let (ask, _) = thread.ask().await.unwrap();
    let ours = thread.thread.send(says("ours"), IfBusy::Steer).await.unwrap();
    thread.thread.answer(ask, once()).await;

    let result = thread.turn_end().await.unwrap();
    assert_eq!((&result.turn, &result.end), (&theirs, &TurnEnd::Completed));
    assert_eq!(result.inputs, vec![ours.input.clone()]);
    assert_eq!(ours.outcome().await.unwrap().result, result);
    let last = scene.requests().last().unwrap().clone();
    assert_eq!(last.matches("\"ours\"").count(), 1, "{last}");
    stranger.close().await;
}

/// The same without the driver having heard of the stranger's turn when it hands its input over.
#[rstest]
#[tokio::test]
async fn an_input_that_crosses_a_strangers_turn_is_answered_once(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    const TRIES: usize = 5;
    let names: Vec<_> =
        (0..TRIES).map(|it| (format!("theirs {it}."), format!("ours {it}."))).collect();
    let mut conversations = vec![("warm up", vec![text("Warm.")])];
    for (theirs, ours) in &names {
        conversations.push((theirs.as_str(), vec![text("To them."), text("To both.")]));
        conversations.push((ours.as_str(), vec![text("To us."), text("To both.")]));
    }
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    thread.run(says("warm up")).await.unwrap();
    let stranger = scene.stage.client(&scene.codex).await.unwrap();
    let id = thread.thread.id().clone();
    stranger.server.call(&ThreadResume::new(id.clone())).await.unwrap();
    for (theirs, ours) in &names {
        let handle = thread.thread.clone();
        let (began, answered) =
            tokio::join!(stranger.start_turn(&id, theirs), handle.run(says(ours)));
        began.unwrap();
        let answered = answered.unwrap().result;

        assert_eq!(answered.end, TurnEnd::Completed, "{ours}");
        let mut told =
            scene.requests().into_iter().filter(|request| request.contains(ours.as_str()));
        let last = told.next_back().unwrap();
        assert_eq!(last.matches(ours.as_str()).count(), 1, "{last}");
        let at_rest = |records: &[ostler_scripted_model::RequestRecord]| {
            let said = records.last().map(|record| record.json().to_string()).unwrap_or_default();
            said.contains(theirs.as_str())
        };
        let rest =
            scene.stage.model().wait_until(std::time::Duration::from_secs(30), at_rest).await;
        rest.unwrap();
        // Their turn may still run; ours may not be mistaken for it next time.
        while !stranger_is_idle(&scene, &id).await {
            tokio::task::yield_now().await;
        }
    }
    stranger.close().await;
}

async fn stranger_is_idle(scene: &Scene, id: &ostler_model::ThreadId) -> bool {
    use ostler_codex::protocol::request::thread_history::ThreadRead;
    use ostler_codex::protocol::words::ThreadState;
    let server = scene.driven.driver.server().await.unwrap();
    let read = ThreadRead { thread_id: id.clone(), include_turns: false };
    let status = server.call(&read).await.unwrap().thread.status;
    status.is_some_and(|status| status.state == ThreadState::Idle)
}

/// Archiving ends the turn and unloads the thread under us.
#[rstest]
#[tokio::test]
async fn a_thread_archived_by_somebody_else_says_so(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        ("warm up", vec![text("Warm.")]),
        ("trot", vec![breaks_off()]),
        ("canter", vec![text("Never said.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    thread.run(says("warm up")).await.unwrap();
    thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    speaks(&mut thread).await;
    let stranger = scene.stage.client(&scene.codex).await.unwrap();
    let archive = ThreadArchive { thread_id: thread.thread.id().clone() };

    stranger.server.call(&archive).await.unwrap();

    let result = thread.turn_end().await.unwrap();
    assert_eq!(result.end, TurnEnd::Interrupted { by: Interrupter::Codex });
    let failure = thread.thread.run(says("canter")).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::BadRequest, "{failure:?}");
    assert!(failure.message.contains("is archived; unarchive it first"), "{failure:?}");
    let refused = thread.until("the refusal", |update| match update {
        Update::InputRefused { failure, .. } => Some(failure.clone()),
        _ => None,
    });
    assert_eq!(refused.await.unwrap(), failure);
    stranger.close().await;
}
