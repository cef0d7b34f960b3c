//! Every fault as a client sees it. After each one the server must still answer.

use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use ostler_scripted_model::{Outcome, ScriptedModel};
use serde_json::json;

use crate::client::{
    Connection, DEADLINE, End, Reply, collect, go, post, prompt, settled, start_answers,
};

const OPENING: [&str; 4] = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
];
const CLOSING: [&str; 4] = [
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
];

/// A model whose first answer is "ein zwei drei" with this fault, and whose second is well.
fn faulty(fault: &str) -> ScriptedModel {
    start_answers(&format!(
        "[[conversation.answer]]\ntext = \"ein zwei drei\"\nfault = {fault}\n[[conversation.answer]]\ntext = \"well\""
    ))
}

/// Plays the fault, then checks that the next request is served and what the records say.
async fn play(fault: &str) -> Result<Reply, End> {
    let model = faulty(fault);
    let reply = go(&model).await;
    assert_eq!(go(&model).await.unwrap().end, End::Complete, "the next request is served");
    let outcomes: Vec<_> =
        settled(&model, 2).await.into_iter().map(|record| record.outcome).collect();
    let kind = fault.split('"').nth(1).unwrap();
    match outcomes.as_slice() {
        [Outcome::FaultPlayed(played), Outcome::Finished] => assert_eq!(*played, kind),
        other => panic!("{fault} is recorded as {other:?}"),
    }
    model.shutdown().await;
    reply
}

fn outline(parts: &[&[&str]]) -> Vec<String> {
    parts.concat().into_iter().map(str::to_owned).collect()
}

const DELTAS: [&str; 3] = ["\"ein \"", "\"zwei \"", "\"drei\""];

#[tokio::test]
async fn statuses() {
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "server_error"),
        (503, "server_error"),
    ] {
        let reply = play(&format!("{{ kind = \"status\", status = {status}, message = \"no\" }}"))
            .await
            .unwrap();
        let body = json!({"error": {"message": "no", "type": kind, "param": null, "code": null}});
        assert_eq!((reply.status, reply.json(), reply.header("retry-after")), (status, body, None));
    }
}

#[tokio::test]
async fn statuses_with_their_extras() {
    let reply = play("{ kind = \"status\", status = 429, retry_after_s = 7 }").await.unwrap();
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("7")));
    let reply =
        play("{ kind = \"status\", status = 503, code = \"server_is_overloaded\" }").await.unwrap();
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (503, &json!("server_is_overloaded"))
    );
    let reply = play("{ kind = \"status\", status = 502, body = \"<html>bad gateway</html>\" }")
        .await
        .unwrap();
    assert_eq!((reply.status, reply.text().as_str()), (502, "<html>bad gateway</html>"));
}

#[tokio::test]
async fn usage_limit() {
    let reply =
        play("{ kind = \"usage_limit\", plan_type = \"plus\", resets_in_s = 3600 }").await.unwrap();
    let body = reply.json();
    let now_s =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let resets_at = body["error"]["resets_at"].as_u64().unwrap();
    assert!(
        (now_s..=now_s + 3600).contains(&resets_at),
        "{resets_at} is within the hour after {now_s}"
    );
    let expected = json!({"error": {
        "type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
        "resets_at": resets_at, "resets_in_seconds": 3600,
    }});
    assert_eq!((reply.status, body), (429, expected));
}

#[tokio::test]
async fn drops_before_headers() {
    let closed = play("{ kind = \"drop_before_headers\" }").await;
    assert_eq!(closed.map(|reply| reply.status), Err(End::Closed));
    let reset = play("{ kind = \"drop_before_headers\", how = \"reset\" }").await;
    assert_eq!(reset.map(|reply| reply.status), Err(End::Reset));
}

#[tokio::test]
async fn drops_mid_stream() {
    for (how, end) in [("close", End::Closed), ("reset", End::Reset)] {
        let reply =
            play(&format!("{{ kind = \"drop\", after = 2, how = \"{how}\" }}")).await.unwrap();
        let expected = outline(&[&OPENING, &DELTAS[..2]]);
        assert_eq!((reply.status, reply.outline(), reply.end), (200, expected, end));
    }
}

#[tokio::test]
async fn a_large_stream_is_dropped_at_the_delta_named() {
    let model = start_answers(
        "[[conversation.answer]]\ndeltas = 1_000_000\nfault = { kind = \"drop\", after = 54321 }",
    );
    let reply = go(&model).await.unwrap();
    let deltas = reply.outline().len() - OPENING.len();
    assert_eq!((deltas, reply.end), (54321, End::Closed));
}

#[tokio::test]
async fn hangs_for_a_time() {
    for fault in [
        "{ kind = \"hang_before_headers\", for_ms = 60 }",
        "{ kind = \"hang\", after = 1, for_ms = 60 }",
    ] {
        let begin = Instant::now();
        let reply = play(fault).await.unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(60), "{fault} waits");
        let expected = outline(&[&OPENING, &DELTAS, &CLOSING]);
        assert_eq!((reply.outline(), reply.end), (expected, End::Complete));
    }
}

#[tokio::test]
async fn hangs_before_headers_until_the_client_leaves() {
    let model = faulty("{ kind = \"hang_before_headers\" }");
    let mut connection = Connection::open(model.port()).await.unwrap();
    {
        let body = prompt("go");
        let mut sending = Box::pin(connection.send(post("t", &body)));
        tokio::select! {
            _ = &mut sending => panic!("no headers come"),
            seen = model.wait_for_requests(1, DEADLINE) => {
                assert_eq!(seen.unwrap()[0].outcome, Outcome::Playing);
            }
        }
    }
    drop(connection);
    assert_eq!(settled(&model, 1).await[0].outcome, Outcome::ClientLeft);
    assert_eq!(go(&model).await.unwrap().end, End::Complete);
}

#[tokio::test]
async fn hangs_mid_stream_until_the_client_leaves() {
    let model = faulty("{ kind = \"hang\", after = 2 }");
    let mut connection = Connection::open(model.port()).await.unwrap();
    let mut body = connection.send(post("t", &prompt("go"))).await.unwrap().into_body();
    let mut text = String::new();
    while !text.contains("zwei") {
        let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&frame).unwrap());
    }
    assert!(!text.contains("drei"));
    assert_eq!(model.requests()[0].outcome, Outcome::Playing);
    drop((body, connection));
    assert_eq!(settled(&model, 1).await[0].outcome, Outcome::ClientLeft);
}

#[tokio::test]
async fn signs_of_life_come_while_a_stream_hangs() {
    for (keep_alive, sign) in
        [("comment", ": keep-alive\n\n"), ("ping", "event: ping\ndata: {\"type\":\"ping\"}\n\n")]
    {
        let model = start_answers(&format!(
            "[[conversation.answer]]\ntext = \"ein zwei\"\nfault = {{ kind = \"hang\", after = 1 }}\n\
             pace = {{ keep_alive_ms = 5, keep_alive = \"{keep_alive}\" }}"
        ));
        let mut connection = Connection::open(model.port()).await.unwrap();
        let mut body = connection.send(post("t", &prompt("go"))).await.unwrap().into_body();
        let mut text = String::new();
        while text.matches(sign).count() < 3 {
            let frame =
                tokio::time::timeout(DEADLINE, body.frame()).await.expect("signs keep coming");
            text.push_str(
                std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap(),
            );
        }
        let (before, behind) = text.split_once(sign).unwrap();
        assert!(before.contains("\"ein \"") && !text.contains("zwei"), "{text}");
        assert_eq!(behind.replace(sign, ""), "");
    }
}

#[tokio::test]
async fn first_frames() {
    let whole = outline(&[&OPENING, &DELTAS, &CLOSING]);
    let reply = play("{ kind = \"first_frame\", frame = \"codex.rate_limits\" }").await.unwrap();
    assert_eq!(reply.outline(), [vec!["codex.rate_limits".to_owned()], whole.clone()].concat());
    let reply = play("{ kind = \"first_frame\", frame = \"response.in_progress\" }").await.unwrap();
    assert_eq!(reply.outline(), whole[1..]);
    let reply = play("{ kind = \"first_frame\", frame = \"error\" }").await.unwrap();
    assert_eq!((reply.outline(), reply.end), (vec!["error".to_owned()], End::Complete));
}

#[tokio::test]
async fn errors_inside_the_stream() {
    let reply =
        play("{ kind = \"error_event\", after = 2, code = \"c\", message = \"m\" }").await.unwrap();
    assert_eq!(reply.outline(), outline(&[&OPENING, &DELTAS[..2], &["error"]]));
    let error =
        json!({"type": "error", "sequence_number": 6, "code": "c", "message": "m", "param": null});
    assert_eq!((reply.events().pop(), reply.end), (Some(error), End::Complete));

    let fault =
        "{ kind = \"failed\", after = 1, code = \"context_length_exceeded\", message = \"m\" }";
    let reply = play(fault).await.unwrap();
    assert_eq!(reply.outline(), outline(&[&OPENING, &DELTAS[..1], &["response.failed"]]));
    let error = json!({"code": "context_length_exceeded", "message": "m"});
    assert_eq!(reply.events().pop().unwrap()["response"]["error"], error);
}

#[tokio::test]
async fn strange_ends() {
    let reply = play("{ kind = \"incomplete\", reason = \"content_filter\" }").await.unwrap();
    assert_eq!(
        reply.outline(),
        outline(&[&OPENING, &DELTAS, &CLOSING[..3], &["response.incomplete"]])
    );
    let details = &reply.events().pop().unwrap()["response"]["incomplete_details"];
    assert_eq!(details, &json!({"reason": "content_filter"}));

    let reply = play("{ kind = \"empty_output\" }").await.unwrap();
    assert_eq!(reply.outline(), outline(&[&OPENING, &DELTAS, &CLOSING]));
    assert_eq!(reply.events().pop().unwrap()["response"]["output"], json!([]));

    let reply = play("{ kind = \"missing_terminal\" }").await.unwrap();
    assert_eq!(reply.outline(), outline(&[&OPENING, &DELTAS, &CLOSING[..3]]));
    assert_eq!(reply.end, End::Complete);
}

#[tokio::test]
async fn malformed_streams() {
    let whole = outline(&[&OPENING, &DELTAS, &CLOSING]);
    for (how, sign) in [
        ("broken_json", &b"\"delta\":\"tor\n\n"[..]),
        ("garbage", &b"\x01\x02\x7f<<not an event>>"[..]),
        ("invalid_utf8", &b"\xff\xfe"[..]),
    ] {
        let reply =
            play(&format!("{{ kind = \"malformed\", how = \"{how}\", after = 1 }}")).await.unwrap();
        let bytes = reply.bytes();
        let at = bytes.windows(sign.len()).position(|window| window == sign).expect(how);
        let text = String::from_utf8_lossy(&bytes);
        let good = text.lines().filter(|line| {
            serde_json::from_str::<serde_json::Value>(line.trim_start_matches("data: ")).is_ok()
        });
        let good = good.filter(|line| !line.contains('\u{fffd}')).count();
        assert_eq!(
            (good, reply.end),
            (whole.len(), End::Complete),
            "{how}: the rest of the stream is whole"
        );
        let (before, behind) = bytes.split_at(at);
        let holds = |bytes: &[u8], text: &str| String::from_utf8_lossy(bytes).contains(text);
        assert!(
            holds(before, "\"ein \"") && !holds(before, "zwei") && holds(behind, "zwei"),
            "{how}"
        );
    }

    let reply = play("{ kind = \"malformed\", how = \"no_blank_line\", after = 1 }").await.unwrap();
    let text = reply.text();
    assert_eq!(text.split("\n\n").filter(|event| event.matches("data: ").count() == 2).count(), 1);
    assert_eq!(reply.outline(), whole);

    let reply = play("{ kind = \"malformed\", how = \"crlf\" }").await.unwrap();
    assert_eq!(reply.text().matches("\r\n").count(), reply.text().matches('\n').count());
    assert_eq!(reply.outline(), whole);
}

#[tokio::test]
async fn characters_split_between_chunks() {
    let model = start_answers(
        "[[conversation.answer]]\ntext = \"Grüße\"\nfault = { kind = \"malformed\", how = \"split_utf8\" }",
    );
    let mut connection = Connection::open(model.port()).await.unwrap();
    let reply = collect(connection.send(post("t", &prompt("go"))).await.unwrap()).await;
    let split = reply.chunks.iter().filter(|chunk| std::str::from_utf8(chunk).is_err()).count();
    assert!(split >= 10, "{split} chunks end inside a character");
    assert!(reply.outline().contains(&"\"Grüße\"".to_owned()));
}
