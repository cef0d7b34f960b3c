//! A task tells its target what became of it, with real Codex on the scripted model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ostler_engine::{Approver, EngineSettings, NotifySettings, Target, Via};
use ostler_model::notification::{Kind, Persistence, State};
use ostler_model::{Decision, Notification, TaskId, TaskSettings, TaskState};
use ostler_server::courier::{Place, Post, Route, Service};
use ostler_store::NotificationFilter;
use ostler_testkit::{Does, Receiver, Workshop};
use rstest::rstest;
use serde_json::json;

use crate::{LEAVES_A_LINE, PROMPT, command, hangs, stage, text, untrusted};

/// One target, `ops`, at this receiver.
fn with_a_target(receiver: &Receiver) -> impl FnOnce(&mut EngineSettings) {
    let service = Service::Webhook { url: Place::Known(receiver.url("/hook")), secret: None };
    let routes = BTreeMap::from([("ops".to_owned(), Route { service, private: false })]);
    let target = Target {
        via: Via::Courier,
        kinds: Vec::new(),
        timeout: Duration::from_secs(20),
        persistence: Persistence { attempts: 5, first_wait_ms: 50 },
    };
    let notify = NotifySettings {
        targets: BTreeMap::from([("ops".to_owned(), target)]),
        page: Some("https://inn.example".to_owned()),
        courier: Arc::new(Post::new(routes).unwrap()),
    };
    move |settings| settings.notify = notify
}

fn tells_ops(settings: &mut TaskSettings) {
    settings.notify = vec!["ops".to_owned()];
}

async fn rows(shop: &Workshop, task: &TaskId) -> Vec<Notification> {
    let filter = NotificationFilter { task: Some(task.clone()), ..NotificationFilter::default() };
    shop.engine.store().notifications(&filter, None, 99).await.unwrap().notifications
}

/// Waits until all that the task has told is settled.
async fn settled(shop: &Workshop, task: &TaskId, count: usize) -> Vec<Notification> {
    for _ in 0..3000 {
        let rows = rows(shop, task).await;
        if rows.len() == count && rows.iter().all(|row| row.state != State::Pending) {
            return rows;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", rows(shop, task).await);
}

#[rstest]
#[tokio::test]
async fn what_waits_and_what_is_done_is_told_with_the_answer(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("The horse is harnessed.")]);
    let receiver = Receiver::that_does(vec![Does::Says("503 Busy"), Does::Says("200 OK")]).unwrap();
    let shop = Workshop::open_with(&stage, with_a_target(&receiver)).await.unwrap();
    let wish = |settings: &mut TaskSettings| {
        untrusted(settings);
        tells_ops(settings);
    };
    let task = shop.start_with(&stage, PROMPT, wish).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    let waits = settled(&shop, &task, 1).await;
    assert_eq!((waits[0].kind, waits[0].attempts), (Kind::NeedsApproval, 2));
    let got = receiver.got();
    assert_eq!(got.iter().map(|got| got.id()).collect::<Vec<_>>(), [waits[0].id.as_str(); 2]);
    let data = &got[1].body["data"];
    assert_eq!(got[1].body["type"], "task.needs_approval");
    assert_eq!(data["asked"]["ask"], ask.id.as_str());
    assert!(data["asked"]["what"].as_str().unwrap().contains("echo ran"), "{data}");
    assert_eq!(data["asked"]["answer_with"], format!("ostler answer {}", ask.id));
    assert_eq!(data["link"], format!("https://inn.example/#/tasks/{task}"));

    shop.answer(&ask, Decision::Once).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    let done = settled(&shop, &task, 2).await;
    assert_eq!((done[0].kind, done[0].state, done[0].attempts), (Kind::Finished, State::Sent, 1));
    let last = receiver.got().pop().unwrap();
    assert_eq!(last.body["data"]["answer"], "The horse is harnessed.");
    assert_eq!(last.body["data"]["state"], "completed");
    // Telling somebody is no change of the task.
    let stands = shop.task(&task).await.unwrap();
    assert!(stands.updated_at <= done[0].receipt.as_ref().unwrap().at);
    shop.close().await.unwrap();
}

/// The same ask comes again from Codex after our process has ended; it is told once.
#[tokio::test]
async fn an_ask_is_told_once_over_a_restart() {
    let stage = stage("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let receiver = Receiver::that_does(vec![Does::Says("200 OK")]).unwrap();
    let shop = Workshop::open_with(&stage, with_a_target(&receiver)).await.unwrap();
    let wish = |settings: &mut TaskSettings| {
        untrusted(settings);
        tells_ops(settings);
    };
    let task = shop.start_with(&stage, PROMPT, wish).await.unwrap();
    shop.ask(&task).await.unwrap();
    settled(&shop, &task, 1).await;
    shop.close().await.unwrap();

    let shop = Workshop::open_with(&stage, with_a_target(&receiver)).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.answer(&ask, Decision::Once).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    let rows = settled(&shop, &task, 2).await;
    let kinds: Vec<Kind> = rows.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [Kind::Finished, Kind::NeedsApproval]);
    assert_eq!(receiver.got().len(), 2);
    shop.close().await.unwrap();
}

/// What a program of the operator's decides is nothing to tell people; what it leaves to them is.
#[rstest]
#[case::decided(r#"cat > /dev/null; echo '{"decision":"once"}'"#, 1)]
#[case::left(r#"cat > /dev/null; echo '{"decision":"ask"}'"#, 2)]
#[tokio::test]
async fn only_what_is_left_to_people_is_told(#[case] script: &str, #[case] told: usize) {
    let stage = stage("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let receiver = Receiver::that_does(vec![Does::Says("200 OK")]).unwrap();
    let notify = with_a_target(&receiver);
    let command = ["sh", "-c", script].map(ToOwned::to_owned).to_vec();
    let approver = Approver { command, timeout: Duration::from_secs(20), kinds: Vec::new() };
    let shop = Workshop::open_with(&stage, |settings| {
        notify(settings);
        settings.approver = Some(approver);
    });
    let shop = shop.await.unwrap();
    let wish = |settings: &mut TaskSettings| {
        untrusted(settings);
        tells_ops(settings);
    };
    let task = shop.start_with(&stage, PROMPT, wish).await.unwrap();
    if told == 2 {
        settled(&shop, &task, 1).await;
        let ask = shop.ask(&task).await.unwrap();
        shop.answer(&ask, Decision::Once).await.unwrap();
    }
    shop.until(&task, TaskState::Completed).await.unwrap();
    settled(&shop, &task, told).await;
    shop.close().await.unwrap();
}

/// Nobody has answered for long: whoever is told is told again, as another thing.
#[tokio::test]
async fn an_ask_that_nobody_answers_is_told_again() {
    let stage = stage("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let receiver = Receiver::that_does(vec![Does::Says("200 OK")]).unwrap();
    let shop = Workshop::open_with(&stage, with_a_target(&receiver)).await.unwrap();
    let wish = |settings: &mut TaskSettings| {
        untrusted(settings);
        tells_ops(settings);
        settings.escalate_after_ms = Some(300);
    };
    let task = shop.start_with(&stage, PROMPT, wish).await.unwrap();
    let rows = settled(&shop, &task, 2).await;
    assert!(rows.iter().all(|row| row.kind == Kind::NeedsApproval), "{rows:?}");
    assert_ne!(rows[0].id, rows[1].id);
    assert_eq!(receiver.got()[1].body["data"]["asked"]["again"], json!(true));
    shop.close().await.unwrap();
}

#[tokio::test]
async fn an_end_before_its_time_is_told_and_nobody_is_a_word_of_its_own() {
    let stage = stage("0.166.0", vec![hangs()]);
    let receiver = Receiver::that_does(vec![Does::Says("200 OK")]).unwrap();
    let shop = Workshop::open_with(&stage, with_a_target(&receiver)).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, tells_ops).await.unwrap();
    shop.until(&task, TaskState::Working).await.unwrap();
    shop.engine.interrupt(&task, "ada").await.unwrap();
    shop.until(&task, TaskState::Cancelled).await.unwrap();
    let rows = settled(&shop, &task, 1).await;
    assert_eq!((rows[0].kind, rows[0].content.state), (Kind::Cancelled, TaskState::Cancelled));
    assert!(rows[0].content.why.contains("ada"), "{}", rows[0].content.why);

    let quiet = shop.start(&stage, PROMPT).await.unwrap();
    shop.engine.interrupt(&quiet, "ada").await.unwrap();
    shop.until(&quiet, TaskState::Cancelled).await.unwrap();
    assert_eq!(settled(&shop, &quiet, 1).await[0].state, State::NoTarget);
    let refused =
        shop.start_with(&stage, PROMPT, |settings| settings.notify = vec!["nobody".to_owned()]);
    let refused = refused.await.unwrap_err().to_string();
    assert!(refused.contains("the configuration has no target \"nobody\""), "{refused}");
    shop.close().await.unwrap();
}
