//! Codex's own reviewer decides what a person would else be asked.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread::ApprovalsReviewer;
use ostler_codex::thread::Told;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_model::auto_review::AutoVerdict;
use ostler_model::thread::Update;
use ostler_scripted_model::{Answer, Call};
use rstest::rstest;
use serde_json::json;

use super::{Scene, says, workspace_write};
use crate::text;

/// Words of what the reviewer is told; the whole conversation stands in it, too.
const TO_THE_REVIEWER: &str = "whose request action you are assessing";

#[rstest]
#[tokio::test]
async fn what_codex_s_own_reviewer_decides_is_told_as_that(
    #[values("0.142.5", "0.169.0")] version: &str,
    #[values("deny", "allow")] outcome: &str,
) {
    let verdict = json!({
        "outcome": outcome, "risk_level": "high", "user_authorization": "low",
        "rationale": "it leaves a line",
    });
    let arguments = json!({
        "cmd": "sh -c 'echo ran >> ran.log'", "yield_time_ms": 30_000,
        "sandbox_permissions": "require_escalated", "justification": "it must",
    });
    let call = Call::function("exec_command", arguments);
    let asks = Answer { calls: vec![call], ..Answer::default() };
    let conversations = vec![
        (TO_THE_REVIEWER, vec![text(&verdict.to_string())]),
        ("be reviewed", vec![asks, text("Done.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let settings = ThreadSettings {
        approvals_reviewer: ApprovalsReviewer::AutoReview,
        ..scene.stage.settings(workspace_write(), ApprovalPolicy::OnRequest)
    };
    let mut thread = scene.driven.thread(settings, ThreadOptions::default()).await.unwrap();
    thread.thread.send(says("be reviewed"), ostler_model::thread::IfBusy::Queue).await.unwrap();

    let mut reviews = Vec::new();
    loop {
        let told = thread.next("the end of the turn").await.unwrap();
        match told.what {
            Told::Update(Update::AutoReview { turn: Some(_), review }) => reviews.push(review),
            Told::Update(Update::TurnEnded { .. }) if told.agent.is_none() => break,
            _ => {}
        }
    }

    let verdicts: Vec<_> = reviews.iter().map(|review| review.verdict.clone()).collect();
    let decided = if outcome == "deny" { AutoVerdict::Denied } else { AutoVerdict::Approved };
    assert_eq!(verdicts, [AutoVerdict::InProgress, decided]);
    let last = reviews.last().unwrap();
    assert!(last.action.contains("echo ran"), "{last:?}");
    assert_eq!(last.rationale.as_deref(), Some("it leaves a line"));
    assert_eq!(scene.stage.lines("ran.log").len(), usize::from(outcome == "allow"));
}
