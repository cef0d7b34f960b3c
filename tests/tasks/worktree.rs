//! A task in a git worktree of its own.

use std::path::Path;
use std::process::Command;

use ostler_engine::{DiffFrom, DiffOf, Force, Merged, StartTask};
use ostler_model::task::{Sandbox, SandboxMode, TaskSettings};
use ostler_model::thread::IfBusy;
use ostler_model::{Input, TaskId, TaskState};
use ostler_testkit::{Stage, Workshop};
use rstest::rstest;

use crate::{PROMPT, command, stage, text};

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Test", "-c", "user.email=test@example.org"]);
    let done = git.args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
}

/// The workspace is a repository with one commit on `main`; the model writes a file.
fn repository(version: &str) -> Stage {
    let stage = stage(version, vec![command("echo hay > fodder.txt"), text("Fed.")]);
    git(&stage.workspace(), &["init", "--quiet", "-b", "main"]);
    std::fs::write(stage.workspace().join("stable.txt"), "horses\n").unwrap();
    git(&stage.workspace(), &["add", "--all"]);
    git(&stage.workspace(), &["commit", "--quiet", "-m", "first"]);
    stage
}

fn wish(stage: &Stage, key: Option<&str>) -> StartTask {
    let mut settings = TaskSettings {
        sandbox: Sandbox { mode: SandboxMode::WorkspaceWrite, ..Sandbox::default() },
        ..TaskSettings::in_folder(stage.workspace().display().to_string())
    };
    settings.codex.home = Some(stage.codex_home().display().to_string());
    StartTask {
        settings,
        input: Input::text(PROMPT),
        by: "test".to_owned(),
        key: key.map(str::to_owned),
        forked_from: None,
        id: None,
        worktree: true,
    }
}

#[rstest]
#[tokio::test]
async fn a_task_works_in_its_worktree_until_that_is_merged(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = repository(version);
    let shop = Workshop::open(&stage).await.unwrap();
    let started = shop.engine.start_task(wish(&stage, Some("once"))).await.unwrap();
    let again = shop.engine.start_task(wish(&stage, Some("once"))).await.unwrap();
    assert_eq!((&again.task, again.is_known), (&started.task, true));
    assert_eq!(shop.engine.worktrees().await.len(), 1, "the second start left nothing behind");
    let task = shop.until(&started.task, TaskState::Completed).await.unwrap();
    assert!(!stage.workspace().join("fodder.txt").exists(), "the user's own checkout is untouched");

    let shown = shop.engine.diff(&task.id, DiffOf::LastTurn).await.unwrap();
    assert!(shown.diff.contains("+++ b/fodder.txt\n@@ -0,0 +1 @@\n+hay"), "{}", shown.diff);
    let worktree = task.settings.worktree.clone().unwrap();
    assert_eq!(shown.from, DiffFrom::Worktree { worktree: worktree.clone() });
    let refused = shop.engine.remove_worktree(&task.id, Force::No).await.unwrap_err();
    assert!(refused.to_string().contains("changes in fodder.txt"), "{refused}");

    let merged = shop.engine.merge_worktree(&task.id).await.unwrap();
    assert!(matches!(merged, Merged::FastForward { ref into, .. } if into == "main"), "{merged:?}");
    assert_eq!(stage.lines("fodder.txt"), ["hay"]);
    assert_eq!(shop.engine.remove_worktree(&task.id, Force::No).await.unwrap(), None);
    assert!(!Path::new(&worktree.path).exists());
    let more = Input::text("go on");
    let refused = shop.engine.send(&task.id, more, IfBusy::Queue, "test", None).await;
    assert!(refused.unwrap_err().to_string().contains("was removed"));
    shop.close().await.unwrap();
}

#[tokio::test]
async fn removing_a_task_keeps_work_that_is_nowhere_else() {
    let stage = repository("0.166.0");
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.engine.start_task(wish(&stage, None)).await.unwrap().task;
    let task = shop.until(&task, TaskState::Completed).await.unwrap();
    let path = task.settings.worktree.unwrap().path;

    assert_eq!(shop.engine.remove(&task.id).await.unwrap(), Some(path.clone()));
    shop.close().await.unwrap();
    let shop = Workshop::open(&stage).await.unwrap();

    // The task is forgotten; its work can still be had.
    let merged = shop.engine.merge_worktree(&task.id).await.unwrap();
    assert!(matches!(merged, Merged::FastForward { .. }), "{merged:?}");
    assert_eq!(stage.lines("fodder.txt"), ["hay"]);
    assert_eq!(shop.engine.remove_worktree(&task.id, Force::No).await.unwrap(), None);
    assert!(!Path::new(&path).exists());
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_worktree_of_a_start_that_was_killed_is_removed_by_the_next_daemon() {
    let stage = repository("0.166.0");
    let shop = Workshop::open(&stage).await.unwrap();
    let wish = StartTask { id: Some(TaskId::new("a1b2c3d4e5f6")), ..wish(&stage, None) };
    let task = shop.engine.start_task(wish).await.unwrap().task;
    let worktree = shop.task(&task).await.unwrap().settings.worktree.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    shop.close().await.unwrap();
    // As if the daemon had been killed before the task was written down.
    for file in ["ostler.db", "ostler.db-wal", "ostler.db-shm"] {
        drop(std::fs::remove_file(stage.state().join(file)));
    }
    std::fs::remove_file(Path::new(&worktree.path).join("fodder.txt")).unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    shop.engine.worktrees().await;
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    let branches = || git(&stage.workspace(), &["branch", "--format=%(refname:short)"]);
    let is_left = || Path::new(&worktree.path).exists() || branches() != "main";
    while is_left() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(!Path::new(&worktree.path).exists());
    assert_eq!(branches(), "main");
    shop.close().await.unwrap();
}
