use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread::{DynamicTool, ThreadStart};
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::TurnStatus;
use ostler_scripted_model::{Answer, Call};
use rstest::rstest;
use serde_json::json;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

/// A client that does not know a request refuses it as JSON-RPC says; Codex treats that as a no and goes on.
#[rstest]
#[tokio::test]
async fn a_request_that_the_client_does_not_know_does_not_stop_the_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Went on without it.")]);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await.unwrap();
    client.start_turn(&thread, PROMPT).await.unwrap();
    let question = client.question().await.unwrap();
    client.server.peer().refuse_unknown(&question.id, &question.call.method).await.unwrap();

    let turn = client.turn_end(&thread).await.unwrap();
    assert_eq!(turn.status, Some(TurnStatus::Completed));
    assert_eq!(stage.model().requests_seen(), 2);
    assert_eq!(stage.lines("ran.log").len(), 0);
}

/// The model calls a tool that this client offered but has no handler for.
#[rstest]
#[tokio::test]
async fn a_tool_call_that_nobody_handles_does_not_stop_the_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let call = Call::function("feed_horse", json!({ "oats": 3 }));
    let calls = Answer { calls: vec![call], ..Answer::default() };
    let stage = stage(version, vec![calls, text("Nobody fed it.")]);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let schema = json!({ "type": "object", "properties": { "oats": { "type": "integer" } } });
    let tool = DynamicTool::new("feed_horse".into(), "Feeds the horse.".into(), schema);
    let start = ThreadStart {
        cwd: Some(stage.workspace().display().to_string()),
        dynamic_tools: Some(vec![tool]),
        ..ThreadStart::default()
    };
    let opened = client.server.call(&start).await.unwrap();
    let thread = opened.thread_id().unwrap().clone();
    client.start_turn(&thread, PROMPT).await.unwrap();
    let question = client.question().await.unwrap();
    assert_eq!(question.call.method.as_ref(), "item/tool/call");
    client.server.peer().refuse_unknown(&question.id, &question.call.method).await.unwrap();

    let turn = client.turn_end(&thread).await.unwrap();
    assert_eq!(turn.status, Some(TurnStatus::Completed));
    let told = stage.model().requests().last().unwrap().json().to_string();
    assert!(told.contains("function_call_output"), "the model was not told: {told}");
}
