//! A conversation without faults.

use ostler_agent::api::{Answer, Call, Finish, Piece, Question, Replay, Wire};
use ostler_model::Message;
use ostler_model::usage::Tokens;
use rstest::rstest;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::stage::{ISSUER, Stage, TOKENS, answer, entry, go};

const LOOK: &str = "reasoning = \"I think\"\ntext = \"Grüße, Welt\"\n\
    calls = [{ tool = \"look\", arguments_text = \"{\\\"at\\\": 1}\", id = \"c1\" }, { tool = \"look\", id = \"c2\" }]\n\
    usage = { input = 1200, cached = 1000, output = 40, reasoning = 10 }";

#[rstest]
#[tokio::test]
async fn a_tool_is_called_and_its_result_told(
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
    #[values(
        "",
        "fault = { kind = \"malformed\", how = \"split_utf8\" }",
        "fault = { kind = \"malformed\", how = \"crlf\" }",
        "fault = { kind = \"empty_output\" }",
        "fault = { kind = \"malformed\", how = \"garbage\", after = 2 }",
        "fault = { kind = \"malformed\", how = \"no_blank_line\", after = 2 }"
    )]
    fault: &str,
) {
    let stage =
        Stage::new(wire, &(answer(&format!("{LOOK}\n{fault}")) + &answer("text = \"Done.\"")));
    let asked = stage.go().await;
    let found = asked.answer.as_ref().unwrap().clone();
    let call = |id: &str, arguments: &str| Call {
        id: id.to_owned(),
        tool: "look".to_owned(),
        arguments: arguments.to_owned(),
    };
    let expected = Answer {
        text: "Grüße, Welt".to_owned(),
        commentary: Vec::new(),
        reasoning: Some("I think".to_owned()),
        calls: vec![call("c1", "{\"at\": 1}"), call("c2", "{}")],
        finish: Finish::ToolCalls,
        tokens: Some(Tokens { input: 1200, cached_input: 1000, output: 40, reasoning_output: 10 }),
        replay: None,
        response_id: found.response_id.clone(),
    };
    assert_eq!((found, asked.shown().as_str(), asked.again()), (expected, "Grüße, Welt", vec![]));

    let mut history = go().history;
    let mut said = Message::call("c1".to_owned(), "look".to_owned(), "{\"at\": 1}".to_owned());
    said.content = Some("Grüße, Welt".to_owned());
    history.push(entry(said));
    history.push(entry(Message::tool("c1".to_owned(), "seen".to_owned())));
    let asked = stage.ask(&Question { history, ..go() }, &CancellationToken::new()).await;
    let found = asked.answer.unwrap();
    assert_eq!(
        (found.text.as_str(), found.finish, found.tokens),
        ("Done.", Finish::Stop, Some(TOKENS))
    );
}

#[tokio::test]
async fn commentary_is_told_once_and_apart() {
    let stage = Stage::new(
        Wire::Responses,
        &answer(
            "text = \"I am looking around.\"\nphase = \"commentary\"\ncalls = [{ tool = \"look\", id = \"c1\" }]",
        ),
    );
    let asked = stage.go().await;
    let found = asked.answer.unwrap();
    assert_eq!(
        (found.text.as_str(), &found.commentary, found.finish),
        ("", &vec!["I am looking around.".to_owned()], Finish::ToolCalls)
    );
    assert_eq!(asked.pieces, [Piece::Commentary("I am looking around.".to_owned())]);
}

#[tokio::test]
async fn the_codex_backend_gets_its_headers() {
    let stage = Stage::new(Wire::Responses, &answer("text = \"hi\""));
    stage.go().await.answer.unwrap();
    let request = stage.requests().remove(0);
    let headers = ["session_id", "x-client-request-id", "accept", "content-type", "authorization"]
        .map(|name| request.header(name).map(str::to_owned));
    let expected = [
        Some("session"),
        Some("session"),
        Some("text/event-stream"),
        Some("application/json"),
        None,
    ];
    assert_eq!(headers, expected.map(|value| value.map(str::to_owned)));
    assert_eq!(request.json()["store"], json!(false));
}

/// Reasoning is encrypted by the provider, kept by us, and sent back as it was.
#[tokio::test]
async fn encrypted_reasoning_goes_there_and_back() {
    let thought =
        json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "E", "summary": []});
    let said = json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "hi"}]});
    let events = [
        json!({"type": "response.output_item.done", "output_index": 0, "item": thought}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": said}),
        json!({"type": "response.completed", "response": {}}),
    ];
    let events = events.map(|event| format!("'{event}'")).join(", ");
    let stage = Stage::new(
        Wire::Responses,
        &(answer(&format!("events = [{events}]")) + &answer("text = \"on\"")),
    );
    let replay = stage.go().await.answer.unwrap().replay.unwrap();
    let kept = json!({"type": "reasoning", "encrypted_content": "E", "summary": []});
    let message = json!({"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "hi"}]});
    let items = vec![kept.clone(), message.clone()];
    assert_eq!(replay, Replay { issuer: ISSUER.to_owned(), items });

    let mut history = go().history;
    history.push(ostler_agent::api::Entry {
        replay: Some(replay),
        ..entry(Message::assistant("hi".to_owned()))
    });
    history.push(entry(Message::user("on".to_owned())));
    stage.ask(&Question { history, ..go() }, &CancellationToken::new()).await.answer.unwrap();
    let input = stage.requests().remove(1).json()["input"].clone();
    assert_eq!((&input[1], &input[2]), (&kept, &message));
}

#[rstest]
#[tokio::test]
async fn a_bad_question_is_never_sent(#[values(Wire::Responses, Wire::Chat)] wire: Wire) {
    let stage = Stage::new(wire, &answer("text = \"hi\""));
    let question = Question { model: String::new(), ..go() };
    let asked = stage.ask(&question, &CancellationToken::new()).await;
    assert_eq!(asked.message(), "the question cannot be asked: no model is named; set one");
    assert_eq!(stage.requests(), []);
}
