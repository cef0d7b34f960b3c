//! Turns that Codex starts by itself.

use std::time::Duration;

use ostler_codex::driver::ThreadOptions;
use ostler_model::TurnEnd;
use ostler_model::thread::{IfBusy, Update};
use ostler_scripted_model::{Answer, Plays};
use rstest::rstest;
use serde_json::json;

use super::{Scene, says, turn_began};
use crate::text;

const WITHIN: Duration = Duration::from_secs(30);

/// A goal begins turns without any input; each is told like any other, and an input of ours finds its place among them.
#[rstest]
#[tokio::test]
async fn turns_of_a_goal_are_turns_without_inputs(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let on = Answer { plays: Plays::Forever, ..text("On my way.") };
    // Whether the goal stands in a message of the user's differs between versions.
    let warm_up = vec![text("Warm."), on.clone()];
    let conversations =
        vec![("warm up", warm_up), ("win the race", vec![on]), ("then", vec![text("Then.")])];
    let scene = Scene::with_config(version, "[features]\ngoals = true", conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    thread.run(says("warm up")).await.unwrap();
    let server = scene.driven.driver.server().await.unwrap();

    let goal = json!({"threadId": thread.thread.id(), "objective": "win the race"});
    server.peer().request("thread/goal/set", &goal, WITHIN).await.unwrap();

    // Codex would go on like this for ever.
    for _ in 0..3 {
        let turn = turn_began(&mut thread).await;
        let result = thread.turn_end().await.unwrap();
        assert_eq!((&result.turn, &result.inputs), (&turn, &Vec::new()));
        assert_eq!(
            (result.end, result.final_answer.as_deref()),
            (TurnEnd::Completed, Some("On my way."))
        );
    }
    let paused = json!({"threadId": thread.thread.id(), "status": "paused"});
    server.peer().request("thread/goal/set", &paused, WITHIN).await.unwrap();
    let then = thread.thread.send(says("then"), IfBusy::Queue).await.unwrap();
    let result = then.outcome().await.unwrap().result;
    assert_eq!((result.end, result.final_answer.as_deref()), (TurnEnd::Completed, Some("Then.")));
    assert!(thread.updates().all(|update| !matches!(update, Update::Stray { .. })));
}
