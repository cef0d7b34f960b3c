use ostler_model::ask::Permissions;
use ostler_model::decision::GrantHolds;
use ostler_model::thread::{DecisionRefusal, Update};
use ostler_model::{AskKind, Decision, TurnEnd};
use rstest::rstest;
use serde_json::json;

use super::{World, call, decide, decided, send, stage_of};
use crate::{command, text};

/// A folder that is neither in the workspace nor a temporary one, and a grant in it really widens the sandbox.
#[rstest]
#[tokio::test]
async fn the_sandbox_is_widened_as_far_and_as_long_as_was_granted(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scratch = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [hay, oats] = ["hay", "oats"].map(|name| scratch.path().join(name));
    for folder in [&hay, &oats] {
        std::fs::create_dir(folder).unwrap();
    }
    let [hay, oats] = [hay, oats].map(|path| path.display().to_string());
    let wish = json!({
        "reason": "the barn is full",
        "permissions": {
            "file_system": { "write": [hay, oats] },
            "network": { "enabled": true },
        },
    });
    let fill = || command(&format!("sh -c 'echo x >> {hay}/x.txt; echo x >> {oats}/x.txt; true'"));
    let asking = || vec![call("request_permissions", wish.clone()), fill(), text("Done.")];
    let stage = stage_of(
        version,
        vec![
            ("widen for the turn", asking()),
            ("widen for the session", asking()),
            ("widen not", asking()),
            ("only fill", vec![fill(), text("Done.")]),
        ],
    );
    stage
        .configure(|text| format!("{text}\n[features]\nrequest_permissions_tool = true\n"))
        .unwrap();
    let world = World::on(stage).await;
    let lines = |folder: &str| {
        let text = std::fs::read_to_string(format!("{folder}/x.txt")).unwrap_or_default();
        text.lines().count()
    };
    let filled = || [lines(&hay), lines(&oats)];
    let mut thread = world.read_only().await;

    // Nothing is granted: the model is told so, and the turn goes on.
    send(&thread, "widen not").await;
    let (id, ask) = thread.ask().await.unwrap();
    let AskKind::Permissions(wanted) = &ask.kind else { panic!("{ask:?}") };
    assert_eq!(ask.reason.as_deref(), Some("the barn is full"));
    assert_eq!(wanted.cwd.as_deref(), world.stage.workspace().to_str());
    assert_eq!(wanted.wanted.write, [hay.clone(), oats.clone()]);
    assert_eq!(wanted.wanted.network, Some(true));
    // More than was asked for is not granted by mistake.
    let more = Permissions { write: vec!["/".to_owned()], ..Permissions::default() };
    let more = Decision::Grant { permissions: more, holds: GrantHolds::Turn };
    thread.thread.answer(id.clone(), decided(more)).await;
    let refused = thread.until("a refusal", |update| match update {
        Update::DecisionRefused { why, .. } => Some(why.clone()),
        _ => None,
    });
    assert_eq!(refused.await.unwrap(), DecisionRefusal::NotOffered);
    decide(&mut thread, &id, Decision::Deny).await;
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!(filled(), [0, 0]);

    // A part of it, for this turn.
    let part = Permissions { write: vec![hay.clone()], ..Permissions::default() };
    send(&thread, "widen for the turn").await;
    let (id, _) = thread.ask().await.unwrap();
    let grant = Decision::Grant { permissions: part.clone(), holds: GrantHolds::Turn };
    decide(&mut thread, &id, grant).await;
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!(filled(), [1, 0]);
    send(&thread, "only fill").await;
    thread.turn_end().await.unwrap();
    assert_eq!(filled(), [1, 0], "the grant outlived its turn");

    // All of it, for the session.
    send(&thread, "widen for the session").await;
    let (id, _) = thread.ask().await.unwrap();
    decide(&mut thread, &id, Decision::Session).await;
    thread.turn_end().await.unwrap();
    assert_eq!(filled(), [2, 1]);
    send(&thread, "only fill").await;
    thread.turn_end().await.unwrap();
    assert_eq!(filled(), [3, 2], "the grant did not hold");
}
