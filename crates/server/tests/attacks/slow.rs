//! Whoever takes its time takes no place from others for long.

use std::time::Duration;

use ostler_server::Limits;
use ostler_server::guard::Scope;
use tokio::time::Instant;

use crate::house::{House, Inside};

#[tokio::test]
async fn a_request_that_does_not_come_is_not_waited_for() {
    let short = Duration::from_millis(300);
    let limits = Limits { head_deadline: short, body_deadline: short, ..Limits::default() };
    let house = House::with(Inside { limits, ..Inside::default() }).await;
    let host = house.host();
    for begun in ["", "GET /v1/he", &format!("GET /v1/health HTTP/1.1\r\nhost: {host}\r\nx-slow: ")]
    {
        let since = Instant::now();
        let said = house.begin(begun).await.read_to_end().await;
        assert!(since.elapsed() >= short, "{begun:?}");
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{begun:?}: {said}");
    }
    let token = house.token(&Scope::ALL).await;
    let head = format!(
        "POST /v1/echo HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-length: 100\r\n\r\n{{"
    );
    assert_eq!(house.raw(&head).await.status, 408);
    house.close().await;
}

#[tokio::test]
async fn a_full_street_does_not_fill_the_house() {
    let limits = Limits { tcp_connections: 3, ..Limits::default() };
    let house = House::with(Inside { limits, ..Inside::default() }).await;
    let bearer = format!("Bearer {}", house.token(&Scope::ALL).await);
    let headers = [("authorization", bearer.as_str())];
    let mut idle = Vec::new();
    for _ in 0..3 {
        let mut talk = house
            .begin(&format!("GET /v1/health HTTP/1.1\r\nhost: {}\r\n\r\n", house.host()))
            .await;
        assert_eq!(talk.answer().await.status, 401);
        idle.push(talk);
    }
    assert_eq!(house.ask("GET", "/v1/health", &headers, "").await.status, 503);
    house.client().await.health().await.unwrap();
    drop(idle);
    let freed = async {
        while house.ask("GET", "/v1/health", &headers, "").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::house::PATIENCE, freed).await.unwrap();
    house.close().await;
}
