use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::{ItemStatus, TurnStatus};
use ostler_codex::protocol::{ItemBody, Notification};
use ostler_model::{AskKind, Decision};
use rstest::rstest;

use crate::{PROMPT, patch, stage, text};

const NEW_FILE: &str = "*** Begin Patch\n*** Add File: saddle.txt\n+leather\n*** End Patch\n";

#[rstest]
#[case::accept(Decision::Once, Some(ItemStatus::Completed), TurnStatus::Completed, &["leather"])]
#[case::decline(Decision::Deny, Some(ItemStatus::Declined), TurnStatus::Completed, &[])]
// Codex never tells the end of a file change that was cancelled.
#[case::cancel(Decision::Cancel, None, TurnStatus::Interrupted, &[])]
#[tokio::test]
async fn files_change_only_when_it_is_allowed(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[case] decision: Decision,
    #[case] item_status: Option<ItemStatus>,
    #[case] turn_status: TurnStatus,
    #[case] content: &[&str],
) {
    let stage = stage(version, vec![patch(NEW_FILE), text("Done.")]);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::ReadOnly, ApprovalPolicy::OnRequest).await.unwrap();
    client.start_turn(&thread, PROMPT).await.unwrap();

    let question = client.question().await.unwrap();
    let ask = question.ask();
    assert!(matches!(ask.kind, AskKind::FileChange(_)), "{ask:?}");
    // The request names the item only; its diff came just before.
    let diffs = client.seen(|notification| match notification {
        Notification::ItemStarted(event) => match event.item.body {
            ItemBody::FileChange(change) => Some((
                event.item.id,
                change.changes[0].path.clone(),
                change.changes[0].diff.clone(),
            )),
            _ => None,
        },
        _ => None,
    });
    let path = stage.workspace().join("saddle.txt").display().to_string();
    assert_eq!(diffs, [(ask.item.clone().unwrap(), path, "leather\n".to_owned())]);
    assert!(stage.lines("saddle.txt").is_empty(), "it was written before anybody was asked");

    client.answer(&question, &decision).await.unwrap();
    let turn = client.turn_end(&thread).await.unwrap();
    let ends = client.seen(|notification| match notification {
        Notification::ItemCompleted(event) => match event.item.body {
            ItemBody::FileChange(change) => change.status,
            _ => None,
        },
        _ => None,
    });
    assert_eq!(turn.status, Some(turn_status));
    assert_eq!(ends, Vec::from_iter(item_status));
    assert_eq!(stage.lines("saddle.txt"), content);
}
