use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::item::{ItemBody, Outcome};
use ostler_model::thread::Update;
use ostler_model::{AskKind, Decision, Interrupter, TurnEnd};
use rstest::rstest;

use super::{decide, send, world};
use crate::{patch, text};

fn add(name: &str) -> String {
    format!("*** Begin Patch\n*** Add File: {name}\n+leather\n*** End Patch\n")
}

#[rstest]
#[tokio::test]
async fn a_file_change_is_shown_whole_and_decided_in_every_way(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let change =
        "*** Begin Patch\n*** Update File: allowed.txt\n@@\n-leather\n+linen\n*** End Patch\n";
    let world = world(
        version,
        vec![
            ("allow it", vec![patch(&add("allowed.txt")), text("Done.")]),
            ("change it", vec![patch(change), text("Done.")]),
            ("allow here", vec![patch(&add("session.txt")), text("Done.")]),
            ("refuse it", vec![patch(&add("refused.txt")), text("Done.")]),
            ("stop it", vec![patch(&add("stopped.txt")), text("Never said.")]),
        ],
    )
    .await;
    let mut thread = world.read_only().await;
    let path = |name: &str| world.stage.workspace().join(name).display().to_string();

    send(&thread, "allow it").await;
    let (id, ask) = thread.ask().await.unwrap();
    let AskKind::FileChange(wanted) = &ask.kind else { panic!("{ask:?}") };
    let whole = FileDiff {
        path: path("allowed.txt"),
        change: FileChangeKind::Add,
        diff: "leather\n".to_owned(),
    };
    assert_eq!(wanted.files, [whole]);
    assert_eq!(world.stage.lines("allowed.txt").len(), 0, "it was written before it was allowed");
    decide(&mut thread, &id, Decision::Once).await;
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!(world.stage.lines("allowed.txt"), ["leather"]);

    send(&thread, "change it").await;
    let (id, ask) = thread.ask().await.unwrap();
    let AskKind::FileChange(wanted) = &ask.kind else { panic!("{ask:?}") };
    let update = FileChangeKind::Update { moved_to: None };
    assert_eq!(wanted.files.len(), 1);
    assert_eq!(wanted.files[0].change, update);
    assert!(wanted.files[0].diff.contains("-leather\n+linen"), "{:?}", wanted.files);
    decide(&mut thread, &id, Decision::Once).await;
    thread.turn_end().await.unwrap();
    assert_eq!(world.stage.lines("allowed.txt"), ["linen"]);

    // The session remembers the file, so a second patch of it is not asked.
    send(&thread, "allow here").await;
    let (id, _) = thread.ask().await.unwrap();
    decide(&mut thread, &id, Decision::Session).await;
    thread.turn_end().await.unwrap();
    std::fs::remove_file(path("session.txt")).unwrap();
    let told = thread.updates().count();
    send(&thread, "allow here").await;
    thread.turn_end().await.unwrap();
    let again = thread.updates().skip(told).any(|it| matches!(it, Update::AskOpened { .. }));
    assert!(!again, "it was asked again");
    assert_eq!(world.stage.lines("session.txt"), ["leather"]);

    send(&thread, "refuse it").await;
    let (id, _) = thread.ask().await.unwrap();
    decide(&mut thread, &id, Decision::Deny).await;
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert!(world.told("refuse it").contains("rejected by user"));

    send(&thread, "stop it").await;
    let (id, _) = thread.ask().await.unwrap();
    decide(&mut thread, &id, Decision::Cancel).await;
    let by = Interrupter::Decision { by: "ann".into() };
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Interrupted { by });
    assert!(!world.stage.workspace().join("refused.txt").exists());
    assert!(!world.stage.workspace().join("stopped.txt").exists());
    // Codex never tells the end of a change that was cancelled; we do.
    let last = thread.updates().filter_map(|update| match update {
        Update::ItemEnded { item, .. } => match &item.body {
            ItemBody::FileChange(change) => Some(change.outcome.clone()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(last.last(), Some(Outcome::Interrupted));
}
