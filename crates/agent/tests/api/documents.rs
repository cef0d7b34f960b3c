//! Providers that answer a question for a stream with one document.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostler_agent::api::{Answer, Call, Finish, KeySource, Piece, Provider, Wire};
use ostler_model::FailureClass;
use ostler_model::usage::Tokens;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::stage::{Asked, ISSUER, calm, go, hear_all};

const JSON: &str = "application/json";

/// What the provider sends, and what it says of its length.
struct Sent {
    kind: &'static str,
    body: Vec<u8>,
    promised: usize,
}

impl Sent {
    fn whole(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { kind, promised: body.len(), body }
    }
}

/// Asks a provider that sends this to everybody. With how often it was asked.
async fn ask(wire: Wire, sent: Sent) -> (Asked, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let server = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            // Whoever has read enough hangs up.
            drop(answer(stream, &sent).await);
        }
    });
    let provider = Provider {
        base_url,
        wire,
        key: KeySource::None,
        issuer: ISSUER.to_owned(),
        headers: Vec::new(),
        proxy: None,
    };
    let api = provider.connect(calm()).unwrap();
    let asked = hear_all(api.as_ref(), &go(), &CancellationToken::new()).await;
    server.abort();
    (asked, requests.load(Ordering::Relaxed))
}

async fn answer(mut stream: TcpStream, sent: &Sent) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    // The question is short, and its end is that of its JSON.
    while !request.ends_with(b"}") {
        let count = stream.read(&mut chunk).await?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&chunk[..count]);
    }
    let Sent { kind, body, promised } = sent;
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {promised}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await
}

fn response(status: &str, output: &Value, more: &Value) -> Value {
    let mut response = json!({
        "id": "r_1", "object": "response", "status": status, "error": null, "output": output,
        "incomplete_details": null, "usage": {
            "input_tokens": 7, "input_tokens_details": {"cached_tokens": 5},
            "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2},
        },
    });
    let more = more.as_object().cloned().unwrap_or_default();
    response.as_object_mut().unwrap().extend(more);
    response
}

fn completion(message: &Value, finish: &str) -> Value {
    json!({
        "id": "r_1", "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 5},
            "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2},
        },
    })
}

fn said(text: &str) -> Value {
    json!({"type": "message", "status": "completed", "content": [{"type": "output_text", "text": text}]})
}

fn rich_response() -> Value {
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": arguments});
    let thought = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]});
    let output = json!([thought, said("Grüße, Welt"), call("c1", "{}"), call("c2", "{\"b\":1}")]);
    response("completed", &output, &json!({}))
}

fn rich_completion() -> Value {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}});
    let calls = [call("c1", "{}"), call("c2", "{\"b\":1}")];
    let message = json!({"role": "assistant", "content": "Grüße, Welt", "reasoning_content": "hm", "tool_calls": calls});
    completion(&message, "tool_calls")
}

#[rstest]
#[case(Wire::Responses, rich_response())]
#[case(Wire::Chat, rich_completion())]
#[tokio::test]
async fn a_whole_document_is_an_answer(
    #[case] wire: Wire,
    #[case] document: Value,
    #[values(JSON, "application/json; charset=utf-8")] kind: &'static str,
) {
    let (asked, requests) = ask(wire, Sent::whole(kind, document.to_string())).await;
    let call = |id: &str, arguments: &str| Call {
        id: id.to_owned(),
        tool: "look".to_owned(),
        arguments: arguments.to_owned(),
    };
    let expected = Answer {
        text: "Grüße, Welt".to_owned(),
        reasoning: Some("hm".to_owned()),
        calls: vec![call("c1", "{}"), call("c2", "{\"b\":1}")],
        finish: Finish::ToolCalls,
        tokens: Some(Tokens { input: 7, cached_input: 5, output: 3, reasoning_output: 2 }),
        response_id: Some("r_1".to_owned()),
        ..Answer::default()
    };
    assert_eq!(asked.answer.unwrap(), expected);
    let pieces = [Piece::Reasoning("hm".to_owned()), Piece::Text("Grüße, Welt".to_owned())];
    assert_eq!((asked.pieces, requests), (pieces.to_vec(), 1));
}

fn cut(reason: &str) -> Finish {
    Finish::Incomplete { reason: reason.to_owned() }
}

#[rstest]
#[case::incomplete(Wire::Responses, response("incomplete", &json!([said("a")]), &json!({"incomplete_details": {"reason": "max_output_tokens"}})), cut("max_output_tokens"))]
#[case::filtered(Wire::Responses, response("incomplete", &json!([said("a")]), &json!({"incomplete_details": {"reason": "content_filter"}})), Finish::ContentFilter)]
#[case::cancelled(Wire::Responses, response("cancelled", &json!([said("a")]), &json!({})), cut("cancelled"))]
#[case::no_status(Wire::Responses, json!({"output": [said("a")]}), Finish::Stop)]
#[case::length(Wire::Chat, completion(&json!({"content": "a"}), "length"), cut("length"))]
#[case::filtered_chat(Wire::Chat, completion(&json!({"content": "a"}), "content_filter"), Finish::ContentFilter)]
#[case::refusal(Wire::Chat, completion(&json!({"content": null, "refusal": "a"}), "stop"), Finish::Stop)]
#[tokio::test]
async fn its_end_counts_as_in_a_stream(
    #[case] wire: Wire,
    #[case] document: Value,
    #[case] finish: Finish,
) {
    let (asked, _) = ask(wire, Sent::whole(JSON, document.to_string())).await;
    let found = asked.answer.unwrap();
    assert_eq!((found.text.as_str(), found.finish), ("a", finish));
}

#[rstest]
#[case(Wire::Responses, |error| response("failed", &json!([]), &json!({"error": error})))]
#[case(Wire::Responses, |error| json!({"error": error}))]
#[case(Wire::Chat, |error| json!({"error": error}))]
#[case(Wire::Chat, |error| json!({"choices": [{"message": {"content": null}, "error": error}]}))]
#[tokio::test]
async fn a_failure_has_its_class(
    #[case] wire: Wire,
    #[case] document: fn(Value) -> Value,
    #[values(
        ("context_length_exceeded", FailureClass::ContextWindow),
        ("insufficient_quota", FailureClass::UsageLimit { resets_at: None })
    )]
    failure: (&str, FailureClass),
) {
    let (code, class) = failure;
    let document = document(json!({"code": code, "message": "m"}));
    let (asked, requests) = ask(wire, Sent::whole(JSON, document.to_string())).await;
    assert_eq!(asked.failure(), (class, Some(code), None));
    assert_eq!((asked.message().as_str(), requests), ("m", 1));
}

#[rstest]
#[case::login_page(
    "text/html; charset=utf-8",
    "<html>log in</html>",
    "the provider sent a document that is not JSON, such as a login page; check its base_url"
)]
#[case::other_json(
    JSON,
    "{\"status\":\"ok\"}",
    "the provider sent JSON that is no answer of this API; check its base_url and its wire"
)]
#[case::list(
    JSON,
    "[{\"object\":\"response\"}]",
    "the provider sent JSON that is no answer of this API; check its base_url and its wire"
)]
#[tokio::test]
async fn anything_else_is_refused_with_what_to_do(
    #[case] kind: &'static str,
    #[case] body: &str,
    #[case] message: &str,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let (asked, requests) = ask(wire, Sent::whole(kind, body)).await;
    assert_eq!(asked.failure(), (FailureClass::ServerError, None, None));
    assert_eq!((asked.message().as_str(), requests), (message, 1));
}

#[rstest]
#[case(Wire::Responses, rich_completion())]
#[case(Wire::Chat, rich_response())]
#[tokio::test]
async fn the_other_api_is_named_as_the_reason(#[case] wire: Wire, #[case] document: Value) {
    let (asked, _) = ask(wire, Sent::whole(JSON, document.to_string())).await;
    assert!(asked.message().ends_with("check its base_url and its wire"), "{}", asked.message());
}

#[tokio::test]
async fn one_that_breaks_off_is_asked_for_again() {
    let body = rich_response().to_string().into_bytes();
    let sent = Sent { kind: JSON, promised: body.len() + 1, body };
    let (asked, requests) = ask(Wire::Responses, sent).await;
    assert_eq!((asked.failure(), requests), ((FailureClass::Network, None, None), 2));
}

#[tokio::test]
async fn one_without_an_end_is_refused() {
    let body = vec![b' '; 17 * 1024 * 1024];
    let (asked, requests) = ask(Wire::Responses, Sent::whole(JSON, body)).await;
    assert_eq!(asked.message(), "the answer is larger than 16777216 bytes");
    assert_eq!(requests, 1);
}
