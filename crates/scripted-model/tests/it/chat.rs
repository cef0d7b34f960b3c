//! The same script on Chat Completions.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use ostler_scripted_model::{Outcome, ScriptedModel};
use serde_json::{Value, json};

use crate::client::{Connection, End, Reply, collect, start_answers};

fn post(key: &str) -> Request<Full<Bytes>> {
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "go"}]});
    let request = Request::post("/v1/chat/completions")
        .header("host", "127.0.0.1")
        .header("authorization", format!("Bearer {key}"));
    request.body(Full::new(Bytes::from(body.to_string()))).unwrap()
}

async fn ask(model: &ScriptedModel, key: &str) -> Reply {
    let mut connection = Connection::open(model.port()).await.unwrap();
    collect(connection.send(post(key)).await.unwrap()).await
}

/// What each chunk says: its delta, its finish, its tokens, or its error.
fn outline(reply: &Reply) -> Vec<Value> {
    let text = reply.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let said = data.map(|data| match serde_json::from_str::<Value>(data) {
        Err(_) => json!(data),
        Ok(chunk) if chunk["error"].is_object() => chunk["error"].clone(),
        Ok(chunk) if chunk["usage"].is_object() => chunk["usage"].clone(),
        Ok(chunk) => match &chunk["choices"][0]["finish_reason"] {
            Value::Null => chunk["choices"][0]["delta"].clone(),
            finish => finish.clone(),
        },
    });
    said.collect()
}

fn tokens() -> Value {
    json!({
        "prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 110,
    })
}

#[tokio::test]
async fn an_answer_is_played_as_chunks() {
    let model = start_answers(
        "[[conversation.answer]]\nreasoning = \"hm\"\ntext = \"ein zwei\"\n\
         calls = [{ tool = \"look\", arguments_text = \"{\\\"at\\\": 1}\", id = \"c1\" }]",
    );
    let reply = ask(&model, "any").await;
    let call = |delta: Value| json!({"tool_calls": [delta]});
    let expected = [
        json!({"role": "assistant", "content": ""}),
        json!({"reasoning_content": "hm"}),
        json!({"content": "ein "}),
        json!({"content": "zwei"}),
        call(
            json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": ""}}),
        ),
        call(json!({"index": 0, "function": {"arguments": "{\"at\": "}})),
        call(json!({"index": 0, "function": {"arguments": "1}"}})),
        json!("tool_calls"),
        tokens(),
        json!("[DONE]"),
    ];
    assert_eq!((outline(&reply), reply.end), (expected.to_vec(), End::Complete));
}

#[tokio::test]
async fn faults_are_played_as_this_api_knows_them() {
    let role = || json!({"role": "assistant", "content": ""});
    let error = |code: &str, message: &str| json!({"message": message, "type": null, "param": null, "code": code});
    let text = |text: &str| json!({"content": text});
    let done = || json!("[DONE]");
    for (fault, expected) in [
        (
            "kind = \"incomplete\", reason = \"max_output_tokens\"",
            vec![role(), text("ein "), text("zwei"), json!("length"), tokens(), done()],
        ),
        (
            "kind = \"incomplete\", reason = \"content_filter\"",
            vec![role(), text("ein "), text("zwei"), json!("content_filter"), tokens(), done()],
        ),
        ("kind = \"missing_terminal\"", vec![role(), text("ein "), text("zwei")]),
        (
            "kind = \"error_event\", after = 1, code = \"c\", message = \"m\"",
            vec![role(), text("ein "), error("c", "m")],
        ),
        (
            "kind = \"failed\", after = 1, code = \"c\", message = \"m\"",
            vec![role(), text("ein "), error("c", "m")],
        ),
        (
            "kind = \"first_frame\", frame = \"error\"",
            vec![error("server_error", "the scripted model failed at once")],
        ),
        (
            "kind = \"first_frame\", frame = \"codex.rate_limits\"",
            vec![Value::Null, role(), text("ein "), text("zwei"), json!("stop"), tokens(), done()],
        ),
    ] {
        let answer = format!("[[conversation.answer]]\ntext = \"ein zwei\"\nfault = {{ {fault} }}");
        let reply = ask(&start_answers(&answer), "any").await;
        assert_eq!(outline(&reply), expected, "{fault}");
    }
}

#[tokio::test]
async fn generated_text_is_played_as_chunks() {
    let reply = ask(&start_answers("[[conversation.answer]]\ndeltas = 1000"), "any").await;
    let texts =
        outline(&reply).into_iter().filter_map(|said| Some(said["content"].as_str()?.to_owned()));
    let numbers: Vec<u64> = texts.filter_map(|text| text.trim().parse().ok()).collect();
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_uses_up_no_answer() {
    let model = start_answers("[[conversation.answer]]\ntext = \"in\"");
    model.demand_key("right");
    let refused = ask(&model, "wrong").await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (401, &json!("invalid_api_key"))
    );
    assert_eq!(ask(&model, "right").await.status, 200);
}

#[tokio::test]
async fn an_outage_refuses_every_request_and_uses_up_no_answer() {
    let model = start_answers("[[conversation.answer]]\ntext = \"in\"");
    model.begin_outage(503);
    let refused = ask(&model, "any").await;
    assert_eq!((refused.status, &refused.json()["error"]["type"]), (503, &json!("server_error")));
    model.end_outage();
    assert_eq!(ask(&model, "any").await.status, 200);
    let requests = model.requests();
    assert_eq!(requests[0].outcome, Outcome::Refused(503));
    assert!(requests[0].body.is_empty() && !requests[1].body.is_empty());
}
