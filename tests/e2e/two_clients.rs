use ostler_codex::protocol::Notification;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread::ThreadResume;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::TurnStatus;
use ostler_model::Decision;
use rstest::rstest;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

#[rstest]
#[tokio::test]
async fn either_of_two_clients_may_answer_and_both_see_the_end(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Both saw it.")]);
    let codex = stage.codex().await.unwrap();
    let mut first = stage.client(&codex).await.unwrap();
    let mut second = stage.client(&codex).await.unwrap();
    let thread =
        first.start_thread(SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await.unwrap();
    first.start_turn(&thread, PROMPT).await.unwrap();
    let asked_first = first.question().await.unwrap();

    second.server.call(&ThreadResume::new(thread.clone())).await.unwrap();
    let asked_second = second.question().await.unwrap();
    assert_eq!(asked_second.ask(), asked_first.ask());
    second.answer(&asked_second, &Decision::Once).await.unwrap();

    for (name, client) in [("first", &mut first), ("second", &mut second)] {
        let turn = client.turn_end(&thread).await.unwrap();
        assert_eq!(turn.status, Some(TurnStatus::Completed), "{name}");
        let resolved = client.seen(|notification| match notification {
            Notification::ServerRequestResolved(resolved) => Some(resolved.request_id),
            _ => None,
        });
        assert!(!resolved.is_empty(), "{name} was not told that the question is answered");
    }
    assert_eq!(stage.lines("ran.log"), ["ran"]);
}
