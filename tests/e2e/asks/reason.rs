//! Why not: Codex's answer has no place for it, so it goes into the turn.

use ostler_codex::thread::Decided;
use ostler_model::{Decision, TurnEnd};
use rstest::rstest;
use serde_json::Value;

use super::{send, world};
use crate::{command, text};

const REASON: &str = "use the other stable, this one is rented";

#[rstest]
#[tokio::test]
async fn the_reason_of_a_refusal_reaches_the_model_in_the_same_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversation = vec![command("sh -c 'echo ran >> ran.log'"), text("Then the other one.")];
    let world = world(version, vec![("clean the stable", conversation)]).await;
    let mut thread = world.thread().await;
    send(&thread, "clean the stable").await;
    let (id, _) = thread.ask().await.unwrap();
    let reason = Some(REASON.to_owned());
    let no = Decided { decision: Decision::Deny, by: "ann".into(), reason };
    thread.thread.answer(id, no.clone()).await;

    let result = thread.turn_end().await.unwrap();
    assert_eq!(result.end, TurnEnd::Completed);
    assert_eq!(result.final_answer.as_deref(), Some("Then the other one."));
    // Two requests, one turn: the model was told both, the refusal and why, before it went on.
    assert_eq!(world.stage.model().requests_seen(), 2);
    let input: Value = serde_json::from_str(&world.told("clean the stable")).unwrap();
    let last: Vec<_> = input.as_array().unwrap().iter().rev().take(2).collect();
    let is_reason = |item: &Value| item["role"] == "user" && item.to_string().contains(REASON);
    let is_refusal = |item: &Value| item.to_string().contains("rejected by user");
    assert!(is_reason(last[0]) && is_refusal(last[1]), "{last:#?}");
    assert_eq!(result.inputs.len(), 2, "the prompt and the reason: {result:#?}");

    // A reason without a decision that counts says nothing to anybody.
    thread.thread.answer(ostler_model::AskId::new("1.4321"), no).await;
    send(&thread, "clean the stable").await;
    let (id, _) = thread.ask().await.unwrap();
    let blank = Decided { decision: Decision::Deny, by: "ann".into(), reason: Some(" ".into()) };
    thread.thread.answer(id, blank).await;
    assert_eq!(thread.turn_end().await.unwrap().inputs.len(), 1);
}
