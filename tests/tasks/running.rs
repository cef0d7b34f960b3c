//! How many tasks work at once, and whose come first.

use ostler_engine::StartTask;
use ostler_model::task::{Sandbox, SandboxMode};
use ostler_model::{Input, TaskId, TaskSettings, TaskState};
use ostler_scripted_model::{Answer, Pace};
use ostler_testkit::{Stage, Workshop};

use crate::{PROMPT, stage, text};

async fn start(shop: &Workshop, stage: &Stage, by: &str) -> TaskId {
    let sandbox = Sandbox { mode: SandboxMode::WorkspaceWrite, ..Sandbox::default() };
    let cwd = stage.workspace().display().to_string();
    let mut settings = TaskSettings { sandbox, ..TaskSettings::in_folder(cwd) };
    settings.codex.home = Some(stage.codex_home().display().to_string());
    let wish = StartTask {
        settings,
        input: Input::text(PROMPT),
        by: by.to_owned(),
        key: None,
        forked_from: None,
        id: None,
        worktree: false,
    };
    shop.engine.start_task(wish).await.unwrap().task
}

#[tokio::test]
async fn never_more_than_two_work_and_all_come_to_their_end() {
    let pace = Pace { before_first_delta_ms: 300, ..Pace::default() };
    let stage = stage("0.166.0", vec![Answer { pace: Some(pace), ..text("Done.") }]);
    let shop = Workshop::open_with(&stage, |settings| settings.running = 2).await.unwrap();
    let mut changes = shop.engine.watch_all();
    let mut tasks = Vec::new();
    for _ in 0..6 {
        tasks.push(start(&shop, &stage, "ana").await);
    }
    let mut states = std::collections::HashMap::new();
    let mut most = 0;
    while states.values().filter(|state: &&TaskState| state.is_over()).count() < 6 {
        let deadline = std::time::Duration::from_secs(90);
        let change = tokio::time::timeout(deadline, changes.recv()).await.unwrap().unwrap();
        states.insert(change.task, change.state);
        most = most.max(states.values().filter(|state| state.is_at_work()).count());
    }
    assert_eq!(most, 2);
    for task in &tasks {
        assert_eq!(shop.task(task).await.unwrap().state, TaskState::Completed);
    }
    assert_eq!(stage.model().requests_seen(), 6);
    shop.close().await.unwrap();
}

#[tokio::test]
async fn who_starts_one_task_does_not_wait_for_all_of_who_starts_many() {
    let stage = stage("0.166.0", vec![text("Done.")]);
    stage.model().hold_answers();
    let shop = Workshop::open_with(&stage, |settings| settings.running = 1).await.unwrap();
    let first = start(&shop, &stage, "ana").await;
    shop.until(&first, TaskState::Working).await.unwrap();
    let mut anas = Vec::new();
    for _ in 0..3 {
        anas.push(start(&shop, &stage, "ana").await);
    }
    let bens = start(&shop, &stage, "ben").await;
    // The order outlives our process.
    shop.close().await.unwrap();
    let shop = Workshop::open_with(&stage, |settings| settings.running = 1).await.unwrap();
    let mut changes = shop.engine.watch_all();
    stage.model().release_answers();
    let mut ended = Vec::new();
    while ended.len() < 5 {
        let deadline = std::time::Duration::from_secs(90);
        let change = tokio::time::timeout(deadline, changes.recv()).await.unwrap().unwrap();
        if change.state.is_over() {
            ended.push(change.task);
        }
    }
    let place = |task: &TaskId| ended.iter().position(|ended| ended == task).unwrap();
    assert_eq!(place(&first), 0);
    assert!(place(&bens) < place(&anas[1]), "{ended:?}");
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_task_that_is_removed_leaves_its_place_to_others() {
    let stage = stage("0.166.0", vec![text("Done.")]);
    stage.model().hold_answers();
    let shop = Workshop::open_with(&stage, |settings| settings.running = 1).await.unwrap();
    let working = start(&shop, &stage, "ana").await;
    shop.until(&working, TaskState::Working).await.unwrap();
    let in_line = start(&shop, &stage, "ana").await;
    let last = start(&shop, &stage, "ana").await;
    shop.engine.remove(&in_line).await.unwrap();
    shop.engine.remove(&working).await.unwrap();
    stage.model().release_answers();
    shop.until(&last, TaskState::Completed).await.unwrap();
    let next = start(&shop, &stage, "ana").await;
    shop.until(&next, TaskState::Completed).await.unwrap();
    assert!(shop.engine.store().task(&in_line).await.unwrap().is_none());
    shop.close().await.unwrap();
}
