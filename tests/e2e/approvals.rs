use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::{ItemStatus, TurnStatus};
use ostler_codex::protocol::{ItemBody, Notification};
use ostler_model::{AskKind, Decision};
use ostler_testkit::Client;
use rstest::rstest;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

/// How each command of the thread ended, as Codex tells.
fn command_ends(client: &Client) -> Vec<(ItemStatus, Option<i64>)> {
    client.seen(|notification| match notification {
        Notification::ItemCompleted(event) => match event.item.body {
            ItemBody::CommandExecution(command) => command.status.zip(Some(command.exit_code)),
            _ => None,
        },
        _ => None,
    })
}

#[rstest]
#[case::accept(Decision::Once, TurnStatus::Completed, 1)]
#[case::decline(Decision::Deny, TurnStatus::Completed, 0)]
#[case::cancel(Decision::Cancel, TurnStatus::Interrupted, 0)]
#[tokio::test]
async fn a_command_runs_only_when_it_is_allowed(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[case] decision: Decision,
    #[case] status: TurnStatus,
    #[case] runs: usize,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Done.")]);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await.unwrap();
    client.start_turn(&thread, PROMPT).await.unwrap();

    let question = client.question().await.unwrap();
    let ask = question.ask();
    let AskKind::Command(wanted) = &ask.kind else { panic!("{ask:?}") };
    assert!(wanted.command.as_ref().unwrap().contains("echo ran >> ran.log"), "{wanted:?}");
    assert_eq!(wanted.cwd.as_deref(), stage.workspace().to_str());
    assert_eq!(stage.lines("ran.log").len(), 0, "it ran before anybody was asked");
    for offered in [Decision::Once, Decision::Session, Decision::Deny, Decision::Cancel] {
        assert!(ask.takes(&offered), "{offered:?} is not among {:?}", ask.offers);
    }

    client.answer(&question, &decision).await.unwrap();
    let turn = client.turn_end(&thread).await.unwrap();
    // Up to 0.142.5 a command's end is told after the turn's.
    while decision == Decision::Once && command_ends(&client).is_empty() {
        client
            .until("the command's end", |it| matches!(it, Notification::ItemCompleted(_)))
            .await
            .unwrap();
    }
    assert_eq!(turn.status, Some(status));
    assert_eq!(stage.lines("ran.log").len(), runs);
    let expected = match runs {
        1 => (ItemStatus::Completed, Some(0)),
        _ => (ItemStatus::Declined, None),
    };
    assert_eq!(command_ends(&client), [expected]);
    let resolved = client.seen(|notification| match notification {
        Notification::ServerRequestResolved(resolved) => Some(resolved.request_id),
        _ => None,
    });
    assert_eq!(resolved, [question.id]);
}

#[rstest]
#[tokio::test]
async fn allowed_for_the_session_is_not_asked_again(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![command(LEAVES_A_LINE), text("Once.")];
    let stage = stage(version, answers);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await.unwrap();
    client.start_turn(&thread, PROMPT).await.unwrap();
    let question = client.question().await.unwrap();
    client.answer(&question, &Decision::Session).await.unwrap();
    client.turn_end(&thread).await.unwrap();

    // The same prompt plays the same script again. A question would fail `turn_end`.
    client.start_turn(&thread, PROMPT).await.unwrap();
    let turn = client.turn_end(&thread).await.unwrap();
    assert_eq!(turn.status, Some(TurnStatus::Completed));
    assert_eq!(stage.lines("ran.log"), ["ran", "ran"]);
}
