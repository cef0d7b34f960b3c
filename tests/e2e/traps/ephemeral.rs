//! Ephemeral threads: Codex writes nothing down, so the driver remembers.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::thread::{Notice, Told};
use ostler_model::TurnEnd;
use rstest::rstest;

use super::{Scene, says};
use crate::{command, text};

#[rstest]
#[tokio::test]
async fn an_ephemeral_thread_goes_on_in_a_fresh_app_server_with_its_conversation(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        ("name the horse", vec![command("echo hoofbeats"), text("Bucephalus.")]),
        ("then", vec![text("Then."), text("Then again.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut settings = scene.stage.settings(SandboxPolicy::DangerFullAccess, ApprovalPolicy::Never);
    settings.ephemeral = true;
    let mut thread = scene.driven.thread(settings, ThreadOptions::default()).await.unwrap();
    let first = thread.run(says("name the horse")).await.unwrap();

    scene.kill();
    let then = thread.run(says("then")).await.unwrap();

    assert_eq!(
        (&then.result.end, then.result.final_answer.as_deref()),
        (&TurnEnd::Completed, Some("Then."))
    );
    assert_ne!(then.thread, first.thread);
    let renewed = thread.seen.iter().any(|told| {
        matches!(&told.what, Told::Notice(Notice::Renewed { thread }) if *thread == then.thread)
    });
    assert!(renewed);
    let last = scene.stage.model().requests().last().unwrap().json();
    let told: Vec<_> = last["input"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let place = |word: &str| told.iter().position(|item| item.contains(word));
    let places =
        ["name the horse", "echo hoofbeats", "hoofbeats\\n", "Bucephalus.", "\"then\""].map(place);
    assert!(places.iter().all(Option::is_some), "{places:?} in {told:#?}");
    assert!(places.is_sorted(), "{places:?} in {told:#?}");
}
