//! What has nothing to do costs nothing: threads are closed, app-servers ended, and both come back.

use std::time::Duration;

use ostler_model::TaskState;
use ostler_model::thread::IfBusy;
use ostler_testkit::Workshop;
use rstest::rstest;

use crate::{PROMPT, answer_of, stage_of, text};

const NEXT: &str = "feed the cat";

#[rstest]
#[case::the_thread(Duration::from_secs(300))]
#[case::the_app_server(Duration::from_millis(200))]
#[tokio::test]
async fn one_that_was_let_go_is_opened_again(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[case] idle_server: Duration,
) {
    let stage = stage_of(version, vec![(NEXT, vec![text("Two.")]), (PROMPT, vec![text("One.")])]);
    let shop = Workshop::open_with(&stage, |settings| {
        settings.idle_thread = Duration::from_millis(200);
        settings.pool.idle_server = idle_server;
    })
    .await
    .unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let first = shop.until(&task, TaskState::Completed).await.unwrap();
    let is_ended = idle_server < Duration::from_secs(1);
    for _ in 0..3_000 {
        let servers = shop.engine.app_servers();
        if servers.iter().all(|server| server.threads == 0) && servers.is_empty() == is_ended {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let left = shop.engine.app_servers();
    assert_eq!(left.is_empty(), is_ended, "{left:?}");
    assert!(left.iter().all(|server| server.threads == 0), "{left:?}");

    let sent = shop.send(&task, NEXT, IfBusy::Queue).await.unwrap();
    shop.settled(&sent).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), &ended.thread), (Some("Two."), &first.thread));
    assert_eq!(ended.keeper == first.keeper, !is_ended);
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}
