//! A start with a key is one start, however often it comes.

use ostler_engine::StartTask;
use ostler_model::task::{Sandbox, SandboxMode};
use ostler_model::{Input, TaskSettings, TaskState};
use ostler_testkit::{Stage, Workshop};

use crate::{PROMPT, stage, text};

fn wish(stage: &Stage, prompt: &str, by: &str) -> StartTask {
    let sandbox = Sandbox { mode: SandboxMode::WorkspaceWrite, ..Sandbox::default() };
    let cwd = stage.workspace().display().to_string();
    let mut settings = TaskSettings { sandbox, ..TaskSettings::in_folder(cwd) };
    settings.codex.home = Some(stage.codex_home().display().to_string());
    StartTask {
        settings,
        input: Input::text(prompt),
        by: by.to_owned(),
        key: Some("k".to_owned()),
        forked_from: None,
        id: None,
        worktree: false,
    }
}

/// Its folder is gone and what it wanted is no longer allowed: whoever asks again must learn that it was started.
#[tokio::test]
async fn a_start_that_would_be_refused_today_is_still_the_first_one() {
    let stage = stage("0.166.0", vec![text("One.")]);
    let folder = stage.workspace().join("sub");
    std::fs::create_dir(&folder).unwrap();
    let mut asked = wish(&stage, PROMPT, "ana");
    asked.settings.cwd = folder.display().to_string();
    asked.settings.sandbox.mode = SandboxMode::DangerFullAccess;
    let shop = Workshop::open_with(&stage, |settings| {
        settings.running = 0;
        settings.allowed.danger_full_access = true;
        settings.allowed.approval_never = true;
    })
    .await
    .unwrap();
    let first = shop.engine.start_task(asked.clone()).await.unwrap();
    shop.close().await.unwrap();

    std::fs::remove_dir(&folder).unwrap();
    let shop = Workshop::open_with(&stage, |settings| settings.running = 0).await.unwrap();
    let again = shop.engine.start_task(asked.clone()).await.unwrap();
    assert_eq!((&again.task, again.is_known), (&first.task, true));
    // The key is for that start alone, and without it there is no such start any more.
    let other = StartTask { input: Input::text("another thing"), ..asked.clone() };
    let other = shop.engine.start_task(other).await.unwrap_err();
    assert!(other.to_string().contains(first.task.as_str()), "{other}");
    let anew = shop.engine.start_task(StartTask { key: None, ..asked }).await.unwrap_err();
    assert!(anew.to_string().contains("is no folder"), "{anew}");
    shop.close().await.unwrap();
}

#[tokio::test]
async fn the_same_start_is_the_same_task_and_another_one_is_refused() {
    let stage = stage("0.166.0", vec![text("One.")]);
    // There is room for one task in the queue; one that is known needs none.
    let shop = Workshop::open_with(&stage, |settings| {
        settings.queued = 1;
        settings.running = 0;
    })
    .await
    .unwrap();

    let (one, two) = tokio::join!(
        shop.engine.start_task(wish(&stage, PROMPT, "ana")),
        shop.engine.start_task(wish(&stage, PROMPT, "ana")),
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.task, two.task);
    assert_eq!([one.is_known, two.is_known].iter().filter(|known| **known).count(), 1);
    let again = shop.engine.start_task(wish(&stage, PROMPT, "ana")).await.unwrap();
    assert_eq!((&again.task, again.is_known), (&one.task, true));
    let other = shop.engine.start_task(wish(&stage, "another thing", "ana")).await.unwrap_err();
    assert!(other.to_string().contains(one.task.as_str()), "{other}");
    shop.close().await.unwrap();

    // Another person's key is another key, and a restart changes nothing.
    let shop = Workshop::open(&stage).await.unwrap();
    let again = shop.engine.start_task(wish(&stage, PROMPT, "ana")).await.unwrap();
    assert_eq!((&again.task, again.is_known), (&one.task, true));
    let theirs = shop.engine.start_task(wish(&stage, PROMPT, "ben")).await.unwrap();
    assert!(!theirs.is_known && theirs.task != one.task);
    shop.until(&one.task, TaskState::Completed).await.unwrap();
    shop.until(&theirs.task, TaskState::Completed).await.unwrap();
    shop.close().await.unwrap();
}
