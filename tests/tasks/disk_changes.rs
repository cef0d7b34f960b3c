//! What changed on disk in a task's turns, whoever wrote it: Codex's patches are only a part of it.

use std::fs;

use ostler_engine::{DiffFrom, DiffOf};
use ostler_model::TaskState;
use ostler_model::thread::IfBusy;
use ostler_testkit::Workshop;
use rstest::rstest;

use crate::{PROMPT, answer_of, command, stage_of, text};

const THEN: &str = "sweep the yard";

#[rstest]
#[tokio::test]
async fn what_commands_write_is_in_the_diff_of_their_turn(
    #[values("0.142.5", "0.166.0")] version: &str,
    #[values(true, false)] in_a_repository: bool,
) {
    let stage = stage_of(
        version,
        vec![
            (
                PROMPT,
                vec![command("sh -c 'echo hay > made.txt; echo oats >> fodder.txt'"), text("Fed.")],
            ),
            (THEN, vec![command("sh -c 'rm made.txt'"), text("Swept.")]),
        ],
    );
    let at = |name: &str| stage.workspace().join(name);
    if in_a_repository {
        for arguments in [
            vec!["init", "-q"],
            vec![
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@x",
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "x",
            ],
        ] {
            let mut git = std::process::Command::new("git");
            assert!(git.args(arguments).current_dir(stage.workspace()).status().unwrap().success());
        }
    }
    fs::write(at("fodder.txt"), "there before\n").unwrap();
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let first = shop.engine.diff(&task, DiffOf::AllTurns).await.unwrap();
    assert_eq!(first.from, DiffFrom::Disk { notes: Vec::new() });
    for part in ["+++ b/made.txt", "+hay", "+oats", " there before"] {
        assert!(first.diff.contains(part), "{part:?} is missing: {}", first.diff);
    }
    assert!(!first.diff.contains("+there before"), "{}", first.diff);

    fs::write(at("by-a-person.txt"), "mine\n").unwrap();
    shop.send(&task, THEN, IfBusy::Queue).await.unwrap();
    let swept = |task: &ostler_model::Task| {
        task.state == TaskState::Completed && answer_of(task) == Some("Swept.")
    };
    shop.until_that(&task, swept).await.unwrap();
    for of in [DiffOf::Turn(2), DiffOf::LastTurn] {
        let second = shop.engine.diff(&task, of).await.unwrap().diff;
        assert!(second.contains("-hay") && !second.contains("by-a-person"), "{second}");
    }
    assert_eq!(shop.engine.diff(&task, DiffOf::Turn(1)).await.unwrap().diff, first.diff);
    let all = shop.engine.diff(&task, DiffOf::AllTurns).await.unwrap().diff;
    assert!(all.contains("+oats") && !all.contains("hay"), "{all}");
    assert!(shop.engine.diff(&task, DiffOf::Turn(3)).await.is_err());

    let recorded = stage.state().join("changes").join(task.as_str());
    assert!(recorded.is_dir());
    shop.engine.remove(&task).await.unwrap();
    assert!(!recorded.exists());
    shop.close().await.unwrap();
}

/// What nobody recorded is unknown, and not nothing.
#[tokio::test]
async fn a_diff_that_cannot_be_known_is_not_told_as_nothing() {
    let stage = stage_of(
        "0.166.0",
        vec![(PROMPT, vec![command("sh -c 'echo hay > made.txt'"), text("Fed.")])],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    shop.close().await.unwrap();
    fs::remove_dir_all(stage.state().join("changes")).unwrap();
    let shop = Workshop::open(&stage).await.unwrap();
    for of in [DiffOf::AllTurns, DiffOf::LastTurn, DiffOf::Turn(1)] {
        let found = shop.engine.diff(&task, of).await.unwrap();
        assert!(matches!(found.from, DiffFrom::Unknown { .. }), "{found:?}");
    }
    shop.close().await.unwrap();
}
