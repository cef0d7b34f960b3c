//! What the server serves, to whom, and what it writes down.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use ostler_scripted_model::{Outcome, Played, ProviderLimits, WaitError};
use serde_json::{Value, json};

use crate::client::{
    Connection, DEADLINE, End, Reply, ask, collect, go, post, prompt, settled, start, start_answers,
};

async fn send(port: u16, request: Request<Full<Bytes>>) -> Reply {
    let mut connection = Connection::open(port).await.unwrap();
    collect(connection.send(request).await.unwrap()).await
}

fn request(method: &str, path: &str) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri(path).header("host", "127.0.0.1");
    request.body(Full::default()).unwrap()
}

#[tokio::test]
async fn a_whole_answer_with_its_headers_and_record() {
    let model = start_answers(
        "[[conversation.answer]]\ntext = \"hello\"\nheaders = { \"x-codex-primary-used-percent\" = \"42.5\" }",
    );
    let body = prompt("please go");
    let mut posted = post("thread-1", &body);
    posted.headers_mut().insert("authorization", "Bearer sk-secret".parse().unwrap());
    let reply = send(model.port(), posted).await;
    assert_eq!(
        (
            reply.status,
            reply.header("content-type"),
            reply.header("x-codex-primary-used-percent"),
            &reply.end
        ),
        (200, Some("text/event-stream"), Some("42.5"), &End::Complete)
    );
    assert_eq!(reply.outline().len(), 9);
    let record = settled(&model, 1).await.remove(0);
    assert_eq!(
        (record.number, record.method.as_str(), record.path.as_str(), record.json()),
        (1, "POST", "/v1/responses", body)
    );
    assert_eq!(
        (record.header("authorization"), record.header("thread-id"), record.thread.as_deref()),
        (Some("Bearer (present)"), Some("thread-1"), Some("thread-1"))
    );
    let played = Played { conversation: Some("go".to_owned()), run: 1, answer: 0, request: 0 };
    assert_eq!((record.played, record.outcome), (Some(played), Outcome::Finished));
}

#[tokio::test]
async fn a_request_without_an_answer_is_told_so() {
    let model = start_answers("[[conversation.answer]]\ntext = \"hello\"");
    let reply = ask(&model, "t", &prompt("paint the fence")).await.unwrap();
    let message = "no conversation of the script matches the prompt \"paint the fence\"; add a [[conversation]] whose `match` is in it, or a [fallback]";
    let body = json!({"error": {
        "message": message, "type": "invalid_request_error", "param": null, "code": "script_has_no_answer",
    }});
    assert_eq!((reply.status, reply.json()), (400, body));
    go(&model).await.unwrap();
    let used_up = go(&model).await.unwrap();
    assert_eq!(used_up.status, 400);
    assert!(
        used_up.text().contains("conversation \\\"go\\\" has answers for 1 requests"),
        "{}",
        used_up.text()
    );
    let outcomes: Vec<_> = settled(&model, 3)
        .await
        .into_iter()
        .map(|record| (record.thread, record.outcome))
        .collect();
    let thread = Some("t".to_owned());
    assert_eq!(
        outcomes,
        [
            (thread.clone(), Outcome::Refused(400)),
            (thread.clone(), Outcome::Finished),
            (thread, Outcome::Refused(400)),
        ]
    );
}

#[tokio::test]
async fn models_and_everything_else() {
    let model = start_answers("[[conversation.answer]]\ntext = \"hello\"");
    let models = send(model.port(), request("GET", "/v1/models?client_version=0.166.0")).await;
    let listed =
        json!([{"id": "gpt-5.5", "object": "model", "created": 0, "owned_by": "scripted"}]);
    assert_eq!(
        (models.status, &models.json()["data"], &models.json()["models"]),
        (200, &listed, &json!([]))
    );
    let elsewhere = send(model.port(), request("GET", "/v1/files")).await;
    assert_eq!(
        (elsewhere.status, &elsewhere.json()["error"]["message"]),
        (
            404,
            &json!(
                "the scripted model has no GET /v1/files; it serves POST /v1/responses, POST /v1/chat/completions and GET /v1/models"
            )
        )
    );
    assert_eq!(send(model.port(), request("GET", "/v1/responses")).await.status, 405);
    let records = settled(&model, 3).await;
    let paths: Vec<_> =
        records.iter().map(|record| (record.path.as_str(), &record.outcome)).collect();
    assert_eq!(
        paths,
        [
            ("/v1/models?client_version=0.166.0", &Outcome::Finished),
            ("/v1/files", &Outcome::Refused(404)),
            ("/v1/responses", &Outcome::Refused(405)),
        ]
    );
}

#[tokio::test]
async fn requests_that_cannot_be_read_take_no_answer() {
    let model = start_answers("[[conversation.answer]]\ntext = \"hello\"");
    let mut not_json = request("POST", "/v1/responses");
    *not_json.body_mut() = Full::new(Bytes::from_static(b"{"));
    assert_eq!(send(model.port(), not_json).await.status, 400);
    let mut compressed = post("t", &prompt("go"));
    compressed.headers_mut().insert("content-encoding", "zstd".parse().unwrap());
    assert_eq!(send(model.port(), compressed).await.status, 415);
    let mut at_once = prompt("go");
    at_once["stream"] = Value::Bool(false);
    assert_eq!(ask(&model, "t", &at_once).await.unwrap().status, 400);
    assert_eq!(go(&model).await.unwrap().status, 200);
}

#[tokio::test]
async fn many_threads_at_once_on_several_conversations() {
    let model = start(
        "[[conversation]]\nmatch = \"red\"\nanswer = [{ text = \"r1\" }, { text = \"r2\" }]\n\
         [[conversation]]\nmatch = \"blue\"\nanswer = [{ text = \"b1\" }, { text = \"b2\" }]",
    );
    let threads: Vec<&'static str> =
        (0..40).map(|number| &*format!("thread-{number}").leak()).collect();
    let talks = threads.iter().enumerate().map(|(number, thread)| {
        let model = &model;
        async move {
            let colour = if number % 2 == 0 { "red" } else { "blue" };
            let first = ask(model, thread, &prompt(colour)).await.unwrap();
            let second = ask(model, thread, &prompt(colour)).await.unwrap();
            let texts = [first, second].map(|reply| reply.outline()[4].clone());
            let initial = &colour[..1];
            assert_eq!(texts, [format!("\"{initial}1\""), format!("\"{initial}2\"")]);
        }
    });
    futures_util::future::join_all(talks).await;
    assert_eq!(model.requests_seen(), 80);
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let model = start_answers("[[conversation.answer]]\ntext = \"hello\"\nrepeat = true");
    let mut connection = Connection::open(model.port()).await.unwrap();
    for _ in 0..20 {
        assert_eq!(connection.go().await.unwrap().end, End::Complete);
    }
}

#[tokio::test]
async fn pace_is_kept() {
    let model = start_answers(
        "[[conversation.answer]]\ntext = \"a b c\"\n\
         pace = { before_headers_ms = 40, before_first_delta_ms = 30, between_deltas_ms = 20 }",
    );
    let begin = Instant::now();
    let mut connection = Connection::open(model.port()).await.unwrap();
    let response = connection.send(post("t", &prompt("go"))).await.unwrap();
    let headers = begin.elapsed();
    let reply = collect(response).await;
    assert!(headers >= Duration::from_millis(40), "{headers:?}");
    assert!(begin.elapsed() >= Duration::from_millis(40 + 30 + 2 * 20), "{:?}", begin.elapsed());
    assert_eq!(reply.outline()[4..7], ["\"a \"", "\"b \"", "\"c\""]);
    assert!(reply.chunks.len() >= 4, "each delta is sent when its time comes");
}

#[tokio::test]
async fn waiting_for_requests_has_a_deadline() {
    let model = start_answers("[[conversation.answer]]\ntext = \"hello\"");
    go(&model).await.unwrap();
    assert_eq!(model.wait_for_requests(1, DEADLINE).await.unwrap().len(), 1);
    let waited = Duration::from_millis(10);
    let timed_out = model.wait_for_requests(2, waited).await;
    assert_eq!(timed_out, Err(WaitError::TimedOut { seen: 1, waited }));
}

#[tokio::test]
async fn tells_codex_where_to_find_it() {
    let model = start_answers("[[conversation.answer]]\ntext = \"hello\"");
    let limits =
        ProviderLimits { request_max_retries: 1, stream_max_retries: 2, stream_idle_timeout_ms: 3 };
    let config: toml::Table = model.codex_config(&limits).parse().unwrap();
    let expected: toml::Table = format!(
        "model = 'gpt-5.5'\nmodel_provider = 'scripted'\ncheck_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n[feedback]\nenabled = false\n\
         [model_providers.scripted]\nname = 'scripted model'\nbase_url = 'http://127.0.0.1:{}/v1'\nwire_api = 'responses'\n\
         request_max_retries = 1\nstream_max_retries = 2\nstream_idle_timeout_ms = 3",
        model.port()
    )
    .parse()
    .unwrap();
    assert_eq!(config, expected);
}
