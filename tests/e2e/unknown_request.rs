use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::TurnStatus;
use rstest::rstest;

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
    client.server.peer().refuse(&question.id, -32601, "unknown method").await.unwrap();

    let turn = client.turn_end(&thread).await.unwrap();
    assert_eq!(turn.status, Some(TurnStatus::Completed));
    assert_eq!(stage.model().requests_seen(), 2);
    assert_eq!(stage.lines("ran.log").len(), 0);
}
