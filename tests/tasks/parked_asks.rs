//! An ask is open when its app-server dies: the answer counts only for the very same question.

use ostler_model::task::{AskClosed, AskState, DecidedBy, OnCrash};
use ostler_model::{Decision, Event, TaskSettings, TaskState};
use ostler_testkit::{Stage, Workshop};
use rstest::rstest;

use crate::{
    AFTER_CRASH, AFTER_PAUSE, LEAVES_A_LINE, LEAVES_ANOTHER, PROMPT, command, stage_of, text,
    untrusted,
};

fn asking(settings: &mut TaskSettings) {
    untrusted(settings);
    settings.on_crash = OnCrash::Ask;
}

/// The first ask of a task whose app-server has died since.
async fn parked(
    shop: &Workshop,
    stage: &Stage,
) -> (ostler_model::TaskId, ostler_model::task::AskRecord) {
    let task = shop.start_with(stage, PROMPT, asking).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.kill_codex(stage, &task).await.unwrap();
    shop.until(&task, TaskState::Parked).await.unwrap();
    let now = shop.engine.store().ask(&ask.id).await.unwrap().unwrap();
    assert_eq!(now.state, AskState::Parked);
    (task, ask)
}

/// Lets the task go on.
async fn go_on(shop: &Workshop, task: &ostler_model::TaskId) {
    let asks = shop.engine.store().undecided_asks_of(task).await.unwrap();
    let ours = asks.iter().find(|ask| ask.source.is_none()).unwrap();
    shop.answer(ours, Decision::Once).await.unwrap();
}

#[rstest]
#[tokio::test]
async fn an_answer_given_meanwhile_is_for_the_same_question(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(true, false)] over_a_restart: bool,
) {
    let stage = stage_of(
        version,
        vec![
            (AFTER_PAUSE, vec![command(LEAVES_A_LINE), text("Done.")]),
            (PROMPT, vec![command(LEAVES_A_LINE)]),
        ],
    );
    let mut shop = Workshop::open(&stage).await.unwrap();
    let (task, ask) = parked(&shop, &stage).await;
    shop.answer(&ask, Decision::Once).await.unwrap();
    if over_a_restart {
        shop.close().await.unwrap();
        shop = Workshop::open(&stage).await.unwrap();
    }
    go_on(&shop, &task).await;
    shop.until(&task, TaskState::Completed).await.unwrap();

    assert_eq!(stage.lines("ran.log"), ["ran"]);
    let now = shop.engine.store().ask(&ask.id).await.unwrap().unwrap();
    assert_eq!((now.state, now.closed), (AskState::Closed, Some(AskClosed::Answered)));
    // Nobody was asked a second time but whether it goes on.
    let opened = |event: &&Event| matches!(event, Event::AskOpened { .. });
    let log = shop.log(&task).await.unwrap();
    assert_eq!(log.iter().filter(opened).count(), 2);
    assert!(log.contains(&Event::AskReturned { ask: ask.id }));
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

#[tokio::test]
async fn an_answer_given_meanwhile_is_not_for_another_question() {
    let stage = stage_of(
        "0.166.0",
        vec![
            (AFTER_PAUSE, vec![command(LEAVES_ANOTHER), text("Done.")]),
            (PROMPT, vec![command(LEAVES_A_LINE)]),
        ],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let (task, ask) = parked(&shop, &stage).await;
    shop.answer(&ask, Decision::Once).await.unwrap();
    go_on(&shop, &task).await;
    shop.until(&task, TaskState::WaitingForApproval).await.unwrap();

    let other = shop.ask(&task).await.unwrap();
    assert_ne!((&other.id, &other.digest), (&ask.id, &ask.digest));
    assert_eq!(stage.lines("ran.log"), [""; 0]);
    shop.answer(&other, Decision::Deny).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(stage.lines("ran.log"), [""; 0]);
    let now = shop.engine.store().ask(&ask.id).await.unwrap().unwrap();
    assert_eq!(now.state, AskState::Closed);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn what_is_allowed_for_the_session_outlives_the_app_server(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    // The second answer of the model never comes, so that the app-server can be killed then.
    let stage = stage_of(
        version,
        vec![
            (AFTER_CRASH, vec![command(LEAVES_A_LINE), text("Done.")]),
            (PROMPT, vec![command(LEAVES_A_LINE), crate::hangs()]),
        ],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.answer(&ask, Decision::Session).await.unwrap();
    shop.until_requests(&stage, 2).await.unwrap();
    shop.kill_codex(&stage, &task).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    assert_eq!(stage.lines("ran.log"), ["ran", "ran"]);
    let asks = shop.engine.store().asks_of(&task).await.unwrap();
    let by: Vec<_> = asks.into_iter().filter_map(|ask| Some(ask.decision?.by)).collect();
    let person = DecidedBy::Person { name: "test".to_owned(), surface: "test".to_owned() };
    assert_eq!(by, [person, DecidedBy::Earlier { ask: ask.id }]);
    shop.close().await.unwrap();
}
