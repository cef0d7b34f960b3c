//! Requests that two readers could read differently, byte by byte on the socket.

use ostler_model::AuditKind;
use ostler_server::guard::Scope;

use crate::house::House;
use crate::kind;

/// What would be done if the refused request were read in the other way.
const HIDDEN: &str = "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";

#[tokio::test]
async fn what_can_be_read_in_two_ways_is_refused_and_ends_the_connection() {
    let house = House::open().await;
    let bearer = format!("authorization: Bearer {}\r\n", house.token(&Scope::ALL).await);
    let own = house.host();
    let head = |first: &str, lines: &str| {
        format!("{first} HTTP/1.1\r\nhost: {own}\r\n{bearer}{lines}\r\n")
    };
    let post = |lines: &str, body: &str| format!("{}{body}", head("POST /v1/echo", lines));
    let cases = [
        post("content-length: 2\r\ntransfer-encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"),
        post("transfer-encoding: chunked\r\ncontent-length: 2\r\n", "2\r\n{}\r\n0\r\n\r\n"),
        post("transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n", "0\r\n\r\n"),
        post("transfer-encoding: xchunked\r\n", "0\r\n\r\n"),
        post("content-length: 2\r\ncontent-length: 2\r\n", "{}"),
        post("content-length: 2, 2\r\n", "{}"),
        post("content-length: +2\r\n", "{}"),
        head("GET /v1/health", "authorization: Bearer other\r\n"),
        head("GET /v1/health", &bearer),
        head("GET /v1/health", &format!("host: {own}\r\n")),
        head("GET /v1/health", &format!("origin: http://{own}\r\norigin: http://{own}\r\n")),
        post("idempotency-key: a\r\nidempotency-key: b\r\ncontent-length: 2\r\n", "{}"),
        post("x-ostler-csrf: a\r\nx-ostler-csrf: b\r\ncontent-length: 2\r\n", "{}"),
        post("content-type: a/b\r\ncontent-type: c/d\r\ncontent-length: 2\r\n", "{}"),
        head("GET /v1/health", "x: a\r\n b\r\n"),
        format!("GET /v1/health HTTP/1.1\nhost: {own}\n{bearer}\n"),
        format!("GET /v1/health HTTP/1.1\r\nhost: {own}\nx: y\r\n{bearer}\r\n"),
        format!("GET /v1/health HTTP/1.1\r\nhost: {own}\r\n{bearer}\n"),
        "\n\n".to_owned(),
        format!("GET /v1/he\0alth HTTP/1.1\r\nhost: {own}\r\n{bearer}\r\n"),
        head("GET /v1/tasks/a%00b", ""),
        head("GET /assets/a%00b", ""),
    ];
    for case in cases {
        let answer = house.raw(&case).await;
        assert_eq!((answer.status, kind(&answer).as_str()), (400, "bad-request"), "{case:?}");
        // Nothing of what stands behind it is a request.
        if !case.contains("%00") {
            let said = house.raw_to_end(&format!("{case}{HIDDEN}")).await;
            assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{case:?}: {said}");
        }
    }
    // They are noted, as far as one origin is.
    assert_eq!(house.entries(AuditKind::Malformed).await.len(), 10);
    house.close().await;
}

#[tokio::test]
async fn what_stands_before_it_is_answered_first() {
    let house = House::open().await;
    let bearer = format!("authorization: Bearer {}\r\n", house.token(&Scope::ALL).await);
    let own = house.host();
    let right = format!(
        "POST /v1/echo HTTP/1.1\r\nhost: {own}\r\n{bearer}transfer-encoding: chunked\r\n\r\n9\r\n{{\"a\":\"b\"}}\r\n0\r\n\r\n"
    );
    let wrong = format!("GET /v1/health HTTP/1.1\nhost: {own}\r\n{bearer}\r\n");
    let said = house.raw_to_end(&format!("{right}\r\n{right}{wrong}{right}")).await;
    let statuses: Vec<&str> = said.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "200", "400"], "{said}");
    assert!(said.contains("connection: close"), "{said}");
    // A chunk whose size can be read in two ways.
    for size in ["+9", "0x9", "9 9"] {
        let text = right.replace("\r\n9\r\n", &format!("\r\n{size}\r\n"));
        let answer = house.raw(&text).await;
        assert_eq!((answer.status, kind(&answer).as_str()), (400, "bad-request"), "{size}");
    }
    house.close().await;
}

/// At the unix socket it is the same.
#[tokio::test]
async fn the_socket_is_no_more_lenient() {
    let house = House::open().await;
    for head in [
        "GET /v1/health HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n",
        "GET /v1/health HTTP/1.1\nhost: x\n\n",
        "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /v1/tasks/a%00b HTTP/1.1\r\nhost: x\r\n\r\n",
    ] {
        let answer = house.at_the_socket(head).await;
        assert_eq!(answer.status, 400, "{head:?}");
    }
    house.close().await;
}
