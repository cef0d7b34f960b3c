#![expect(clippy::needless_pass_by_value, reason = "JSON is written where it is needed")]

use ostler_model::Message;
use ostler_model::usage::Tokens;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::{Chat, Dialect, OldReasoning};
use crate::api::reading::{Flow, Stream};
use crate::api::{Answer, Call, Entry, Finish, Piece, Question};
use crate::tool::ToolDefinition;

#[test]
fn a_question_becomes_messages() {
    let entry = |message: Message| Entry::plain(message);
    let question = Question {
        model: "m".to_owned(),
        effort: Some("high".to_owned()),
        instructions: "Be brief.".to_owned(),
        history: vec![
            entry(Message::user("hello".to_owned())),
            entry(Message::assistant(String::new())),
            Entry {
                images: vec!["https://x/y.png".to_owned()],
                ..entry(Message::user("see".to_owned()))
            },
            entry(Message::call("c1".to_owned(), "look".to_owned(), "{}".to_owned())),
            entry(Message::tool("c1".to_owned(), "seen".to_owned())),
            entry(Message::assistant("Done.".to_owned())),
        ],
        tools: vec![ToolDefinition {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: json!({"type": "object"}),
        }],
        ..Question::default()
    };
    let expected = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hello"},
            {"role": "user", "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "seen"},
            {"role": "assistant", "content": "Done."},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {
            "name": "look", "description": "Looks.", "parameters": {"type": "object"},
        }}],
        "tool_choice": "auto",
        "reasoning_effort": "high",
    });
    assert_eq!(Chat.body(&question, OldReasoning::SentBack), expected);
}

fn frames(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn read(bytes: &[u8]) -> (Option<Answer>, Vec<Piece>, Flow) {
    let mut stream = Stream::new(Chat.reading());
    let mut pieces = Vec::new();
    let flow = stream.feed(bytes, &mut pieces);
    (stream.finish().map(|(answer, _)| answer), pieces, flow)
}

fn delta(delta: Value) -> Value {
    json!({"id": "chat_1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn said(text: &str) -> Value {
    delta(json!({"content": text}))
}

fn calls(deltas: Value) -> Value {
    delta(json!({"tool_calls": deltas}))
}

fn finish(reason: &str) -> Value {
    json!({"id": "chat_1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn call(id: &str, arguments: &str) -> Call {
    Call { id: id.to_owned(), tool: "look".to_owned(), arguments: arguments.to_owned() }
}

fn cut(reason: &str) -> Finish {
    Finish::Incomplete { reason: reason.to_owned() }
}

fn rich() -> Vec<u8> {
    let chunks = [
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "hm"})),
        said("Grüße, "),
        said("Welt"),
        calls(json!([{"index": 0, "id": "c1", "function": {"name": "look", "arguments": ""}}])),
        calls(json!([{"index": 1, "id": "c2", "function": {"name": "look", "arguments": "{\"b"}}])),
        calls(
            json!([{"index": 0, "function": {"arguments": "{}"}}, {"index": 1, "function": {"arguments": "\":1}"}}]),
        ),
        finish("tool_calls"),
        json!({"id": "chat_1", "choices": [], "usage": {
            "prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 5},
            "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2},
        }}),
    ];
    format!("{}data: [DONE]\n\n", frames(&chunks)).into_bytes()
}

#[test]
fn everything_finds_its_place() {
    let (answer, pieces, flow) = read(&rich());
    let expected = Answer {
        text: "Grüße, Welt".to_owned(),
        reasoning: Some("hm".to_owned()),
        calls: vec![call("c1", "{}"), call("c2", "{\"b\":1}")],
        finish: Finish::ToolCalls,
        tokens: Some(Tokens { input: 7, cached_input: 5, output: 3, reasoning_output: 2 }),
        response_id: Some("chat_1".to_owned()),
        ..Answer::default()
    };
    assert_eq!(answer, Some(expected));
    let expected = [
        Piece::Reasoning("hm".to_owned()),
        Piece::Text("Grüße, ".to_owned()),
        Piece::Text("Welt".to_owned()),
    ];
    assert_eq!((pieces, flow), (expected.to_vec(), Flow::Over));
}

#[rstest]
#[case::all_numbered_zero(vec![
    calls(json!([{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "1"}}])),
    calls(json!([{"index": 0, "id": "c2", "function": {"name": "look", "arguments": "2"}}])),
], vec![call("c1", "1"), call("c2", "2")])]
#[case::not_numbered(vec![
    calls(json!([{"id": "c1", "function": {"name": "look", "arguments": "1"}}])),
    calls(json!([{"function": {"arguments": "1"}}])),
    calls(json!([{"id": "c2", "function": {"name": "look", "arguments": {"a": 2}}}])),
], vec![call("c1", "11"), call("c2", "{\"a\":2}")])]
#[case::out_of_order(vec![
    calls(json!([{"index": 1, "id": "c2", "function": {"name": "look", "arguments": "2"}}])),
    calls(json!([{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "1"}}])),
], vec![call("c1", "1"), call("c2", "2")])]
#[case::without_id(vec![
    calls(json!([{"index": 0, "function": {"name": "look", "arguments": "1"}}])),
], vec![call("call_chat_1_0", "1")])]
#[case::name_repeated(vec![
    calls(json!([{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "1"}}])),
    calls(json!([{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "2"}}])),
], vec![call("c1", "12")])]
fn calls_are_put_together(#[case] mut chunks: Vec<Value>, #[case] expected: Vec<Call>) {
    // Some providers say `stop` and mean the calls.
    chunks.push(finish("stop"));
    let answer = read(frames(&chunks).as_bytes()).0.unwrap();
    assert_eq!((answer.calls, answer.finish), (expected, Finish::ToolCalls));
}

fn one_call() -> Value {
    calls(json!([{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]))
}

#[rstest]
#[case::length(vec![said("a"), one_call(), finish("length")], cut("length"))]
#[case::filter(vec![said("a"), one_call(), finish("content_filter")], Finish::ContentFilter)]
#[case::no_finish(vec![said("a"), one_call()], cut("the stream broke off before its end"))]
#[case::no_call(vec![said("a"), finish("tool_calls")], cut("a tool call was announced and did not come"))]
#[case::nameless(vec![calls(json!([{"index": 0, "id": "c", "function": {"arguments": "{}"}}])), finish("tool_calls")], cut("a tool call was not finished"))]
#[case::new_word(vec![said("a"), one_call(), finish("moon")], cut("moon"))]
fn what_is_not_whole_is_never_a_success_and_calls_nothing(
    #[case] chunks: Vec<Value>,
    #[case] finish: Finish,
) {
    for end in ["", "data: [DONE]\n\n"] {
        let answer = read(format!("{}{end}", frames(&chunks)).as_bytes()).0.unwrap();
        assert_eq!((answer.calls, answer.finish), (Vec::new(), finish.clone()));
    }
}

#[test]
fn a_chunk_that_cannot_be_read_is_missed() {
    let bytes = format!("{}data: {{\"tor\n\n{}", frames(&[said("a")]), frames(&[finish("stop")]));
    let answer = read(bytes.as_bytes()).0.unwrap();
    assert_eq!(answer.finish, cut("a part of the answer could not be read"));
}

#[rstest]
#[case(json!({"error": {"message": "m"}}))]
#[case(json!({"choices": [{"error": {"message": "m"}}]}))]
fn an_error_ends_the_stream(#[case] chunk: Value) {
    let (_, _, flow) = read(frames(&[said("a"), chunk, finish("stop")]).as_bytes());
    assert!(matches!(flow, Flow::Failed(_)), "{flow:?}");
}

#[test]
fn a_stream_with_nothing_in_it_is_no_answer() {
    for text in ["", "data: [DONE]\n\n", "data: {\"choices\":[]}\n\n"] {
        assert_eq!(read(text.as_bytes()).0, None, "{text}");
    }
}

proptest! {
    /// The count of tokens comes last, behind the model's last word, so it alone may be missing.
    #[test]
    fn a_stream_cut_anywhere_is_whole_or_known_to_be_cut(share in 0.0..1.0_f64) {
        let whole = rich();
        let expected = read(&whole).0.unwrap();
        let cut_at = (whole.len() as f64 * share) as usize;
        match read(&whole[..cut_at]).0 {
            None => {}
            Some(answer) if answer.finish == cut("the stream broke off before its end") => {
                prop_assert_eq!(answer.calls, Vec::new());
            }
            Some(answer) => prop_assert_eq!(Answer { tokens: expected.tokens, ..answer }, expected),
        }
    }
}
