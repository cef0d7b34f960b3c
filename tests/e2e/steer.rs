use std::time::Duration;

use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::turn::TurnSteer;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::protocol::words::TurnStatus;
use ostler_model::Decision;
use rstest::rstest;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

#[rstest]
#[tokio::test]
async fn a_steer_reaches_the_model_within_the_same_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Blinkers are on.")]);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await.unwrap();
    let turn = client.start_turn(&thread, PROMPT).await.unwrap();
    let question = client.question().await.unwrap();

    // While a question is open the turn certainly runs, so the steer cannot come too late.
    let steer = TurnSteer {
        thread_id: thread.clone(),
        expected_turn_id: turn.clone(),
        input: vec![UserInput::Text("and put blinkers on".to_owned())],
        client_user_message_id: None,
    };
    let steered = client.server.call(&steer).await.unwrap();
    assert_eq!(steered.turn_id, Some(turn.clone()));
    client.answer(&question, &Decision::Once).await.unwrap();
    let ended = client.turn_end(&thread).await.unwrap();

    assert_eq!((ended.id, ended.status), (Some(turn), Some(TurnStatus::Completed)));
    stage.model().wait_for_requests(2, Duration::from_secs(10)).await.unwrap();
    let requests = stage.model().requests();
    let told = |index: usize| requests[index].json().to_string().contains("and put blinkers on");
    assert_eq!((told(0), told(1)), (false, true));
}
