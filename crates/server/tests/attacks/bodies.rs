//! What is sent that nobody wants.

use ostler_server::Limits;
use ostler_server::guard::Scope;
use serde_json::json;

use crate::house::{House, Inside};

#[tokio::test]
async fn a_body_is_an_object_of_bounded_size_or_a_problem() {
    let limits = Limits { body_bytes: 1000, ..Limits::default() };
    let house = House::with(Inside { limits, ..Inside::default() }).await;
    let token = house.token(&Scope::ALL).await;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let large = json!({ "a": "x".repeat(2000) }).to_string();
    let cases = [
        ("{}", 200),
        ("", 200),
        ("[]", 400),
        ("1", 400),
        ("null", 400),
        ("\"x\"", 400),
        ("{", 400),
        ("{\"a\":1,\"a\"", 400),
        (&large, 413),
    ];
    for (body, status) in cases {
        let answer = house.ask("POST", "/v1/echo", &headers, body).await;
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        if status != 200 {
            assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        }
    }
    let head =
        format!("POST /v1/echo HTTP/1.1\r\nhost: {}\r\nauthorization: {bearer}\r\n", house.host());
    let chunks =
        format!("{head}transfer-encoding: chunked\r\n\r\n7d0\r\n{}\r\n0\r\n\r\n", "x".repeat(2000));
    assert_eq!(house.raw(&chunks).await.status, 413);
    let deep = format!("{}{}", "{\"a\":".repeat(150), "1");
    assert_eq!(house.ask("POST", "/v1/echo", &headers, &deep).await.status, 400);
    // Two lengths, or a length beside chunks, are read differently by different readers: one of them must go, or both.
    let two = format!("{head}content-length: 2\r\ncontent-length: 3\r\n\r\n{{}}x");
    assert_eq!(house.raw(&two).await.status, 400);
    house.close().await;
}

#[tokio::test]
async fn what_is_given_becomes_no_header_and_no_page() {
    let house = House::open().await;
    let bearer = format!("Bearer {}", house.token(&Scope::ALL).await);
    let headers = [("authorization", bearer.as_str())];
    for name in ["a\r\nset-cookie: x=y", "a\u{0}b", ""] {
        let body = json!({ "name": name, "scopes": ["read"] }).to_string();
        assert_eq!(house.ask("POST", "/v1/tokens", &headers, &body).await.status, 400, "{name:?}");
    }
    // What is text stays text: JSON, never HTML, and no browser guesses otherwise.
    let script = "<script>alert(1)</script>";
    let body = json!({ "name": script, "scopes": ["read"] }).to_string();
    let made = house.ask("POST", "/v1/tokens", &headers, &body).await;
    assert_eq!((made.status, made.json()["name"].clone()), (201, json!(script)));
    assert_eq!(made.header("content-type"), Some("application/json"));
    for path in ["/%3Cscript%3Ealert(1)%3C/script%3E", "/v1/tokens/%0d%0aset-cookie:%20x=y"] {
        let answer = house.ask("GET", path, &headers, "").await;
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        assert_eq!(
            (kind.as_str(), answer.header("set-cookie")),
            ("application/problem+json", None),
            "{path}"
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    house.close().await;
}
