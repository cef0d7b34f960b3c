//! The same request again: after an answer that was never heard, and after one that is large.

use std::sync::atomic::Ordering;

use ostler_server::guard::Scope;
use serde_json::json;
use tokio::time::timeout;

use crate::house::{Answer, House, PATIENCE};

/// The caller goes while its request is under way. It is done all the same, once, and whoever comes back hears what it came to.
#[tokio::test]
async fn whoever_leaves_too_early_is_served_to_the_end_and_once() {
    let house = House::open().await;
    let token = house.token(&[Scope::Operate]).await;
    let head = format!(
        "POST /v1/slow HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\nidempotency-key: a\r\ncontent-length: 2\r\n\r\n{{}}",
        house.host()
    );
    let gone = house.begin(&head).await;
    timeout(PATIENCE, house.slow.begun.acquire()).await.unwrap().unwrap().forget();
    drop(gone);
    // The daemon hears of the end before it hears of this.
    let bearer = format!("Bearer {token}");
    assert_eq!(house.ask("GET", "/v1/health", &[("authorization", &bearer)], "").await.status, 200);
    house.slow.may_end.add_permits(1);
    let again = timeout(PATIENCE, house.raw(&head)).await.unwrap();
    assert_eq!((again.status, again.json()), (200, json!({ "done": 1 })));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(house.slow.done.load(Ordering::SeqCst), 1);
    house.close().await;
}

#[tokio::test]
async fn a_large_answer_is_given_and_never_done_twice() {
    let house = House::open().await;
    let bearer = format!("Bearer {}", house.token(&[Scope::Operate]).await);
    let ask = async |key: &str, bytes: usize| -> Answer {
        let body = json!({ "diff": "+".repeat(bytes) }).to_string();
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", key)];
        house.ask("POST", "/v1/echo", &headers, &body).await
    };
    let (first, second) = (ask("patch", 1 << 20).await, ask("patch", 1 << 20).await);
    assert_eq!((first.status, second.status), (200, 200));
    assert_eq!(first.body, second.body);
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    // Larger than anything that is kept: it is heard once, and done once.
    let first = ask("huge", 4 << 20).await;
    assert_eq!((first.status, first.body.len()), (200, (4 << 20) + "{\"diff\":\"\"}".len()));
    let second = ask("huge", 4 << 20).await;
    assert_eq!(second.status, 409);
    assert!(second.json()["hint"].as_str().unwrap().starts_with("it counts"), "{second:?}");
    house.close().await;
}
