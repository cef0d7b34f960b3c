#![expect(clippy::needless_pass_by_value, reason = "JSON is written where it is needed")]

use ostler_model::usage::Tokens;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::reading::ResponsesReading;
use crate::api::reading::{Flow, Stream};
use crate::api::{Answer, Call, Finish, Piece, Replay};

fn frames(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect()
}

fn read(bytes: &[u8]) -> (Option<Answer>, Vec<Piece>, Flow) {
    read_from("issuer", bytes)
}

fn read_from(issuer: &str, bytes: &[u8]) -> (Option<Answer>, Vec<Piece>, Flow) {
    let mut stream = Stream::new(ResponsesReading::new(issuer.to_owned()));
    let mut pieces = Vec::new();
    let flow = stream.feed(bytes, &mut pieces);
    let finished = stream.finish();
    let (answer, last) = finished.map_or((None, Vec::new()), |(answer, last)| (Some(answer), last));
    pieces.extend(last);
    (answer, pieces, flow)
}

fn answered(events: &[Value]) -> Answer {
    read(frames(events).as_bytes()).0.unwrap()
}

fn added(place: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": place, "item": item})
}

fn done(place: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": place, "item": item})
}

fn delta(place: u64, text: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": place, "delta": text})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "status": "completed", "content": [{"type": "output_text", "text": text}]})
}

fn phased(text: &str, phase: &str) -> Value {
    json!({"type": "message", "phase": phase, "content": [{"type": "output_text", "text": text}]})
}

fn function(id: &str, status: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "look", "arguments": "{}", "status": status})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "output": null, "usage": {
        "input_tokens": 7, "input_tokens_details": {"cached_tokens": 5},
        "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2},
    }}})
}

fn look(id: &str) -> Call {
    Call { id: id.to_owned(), tool: "look".to_owned(), arguments: "{}".to_owned() }
}

fn cut(reason: &str) -> Finish {
    Finish::Incomplete { reason: reason.to_owned() }
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

/// A stream with all that an answer can have.
fn rich() -> Vec<Value> {
    let reasoning = json!({
        "type": "reasoning", "id": "rs_1", "encrypted_content": "E",
        "summary": [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}],
    });
    let thinking = |delta: &str| json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": delta});
    vec![
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.in_progress", "response": {"id": "resp_1"}}),
        added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0}),
        thinking("first"),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0}),
        thinking("second"),
        done(0, reasoning),
        added(1, json!({"type": "message", "phase": "commentary", "content": []})),
        delta(1, "I look "),
        delta(1, "around."),
        done(1, phased("I look around.", "commentary")),
        added(2, json!({"type": "message", "phase": "final_answer", "content": []})),
        delta(2, "Grüße, "),
        delta(2, "Welt"),
        done(2, phased("Grüße, Welt", "final_answer")),
        added(3, function("c1", "in_progress")),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": "{}"}),
        done(3, function("c1", "completed")),
        completed(),
    ]
}

#[test]
fn everything_finds_its_place() {
    let (answer, pieces, flow) = read(frames(&rich()).as_bytes());
    let said = |text: &str, phase: &str| json!({"type": "message", "role": "assistant", "phase": phase, "content": [{"type": "output_text", "text": text}]});
    let expected = Answer {
        text: "Grüße, Welt".to_owned(),
        commentary: vec!["I look around.".to_owned()],
        reasoning: Some("first\n\nsecond".to_owned()),
        calls: vec![look("c1")],
        finish: Finish::ToolCalls,
        tokens: Some(Tokens { input: 7, cached_input: 5, output: 3, reasoning_output: 2 }),
        replay: Some(Replay {
            issuer: "issuer".to_owned(),
            items: vec![
                json!({"type": "reasoning", "encrypted_content": "E", "summary": [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}]}),
                said("I look around.", "commentary"),
                said("Grüße, Welt", "final_answer"),
                json!({"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}),
            ],
        }),
        response_id: Some("resp_1".to_owned()),
    };
    assert_eq!(answer, Some(expected));
    let thought = |text: &str| Piece::Reasoning(text.to_owned());
    let expected = [
        thought("first"),
        thought("\n\n"),
        thought("second"),
        Piece::Commentary("I look around.".to_owned()),
        text("Grüße, "),
        text("Welt"),
    ];
    assert_eq!((pieces, flow), (expected.to_vec(), Flow::Over));
}

#[rstest]
#[case::only_deltas(vec![delta(0, "a"), delta(0, "b"), completed()], "ab")]
#[case::only_text_done(vec![json!({"type": "response.output_text.done", "output_index": 0, "text": "ab"}), completed()], "ab")]
#[case::only_done(vec![done(0, message("ab")), completed()], "ab")]
#[case::nothing_has_ids_or_places(vec![
    json!({"type": "response.output_text.delta", "delta": "a"}),
    json!({"type": "response.output_text.delta", "delta": "b"}),
    json!({"type": "response.output_item.done", "item": message("ab")}),
    completed(),
], "ab")]
#[case::twice(vec![delta(0, "ab"), done(0, message("ab")), done(0, message("ab")), delta(0, "ab"), completed()], "ab")]
#[case::out_of_order(vec![done(1, message("b")), done(0, message("a")), completed()], "a\n\nb")]
#[case::ids_that_change(vec![
    added(0, json!({"type": "message", "id": "m1"})),
    json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "m2", "delta": "ab"}),
    done(0, json!({"type": "message", "id": "m3", "content": [{"type": "output_text", "text": "ab"}]})),
    completed(),
], "ab")]
#[case::refusal(vec![done(0, json!({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]})), completed()], "no")]
#[case::unknown_events(vec![json!({"type": "codex.rate_limits"}), json!({"type": "moon.phase", "x": 1}), json!({}), json!(7), done(0, message("ab")), completed()], "ab")]
#[case::tool_of_the_provider(vec![added(0, json!({"type": "web_search_call"})), done(0, json!({"type": "web_search_call", "status": "in_progress"})), done(1, message("ab")), completed()], "ab")]
fn a_text_is_found_whatever_comes(#[case] events: Vec<Value>, #[case] expected: &str) {
    let answer = answered(&events);
    assert_eq!((answer.text.as_str(), answer.finish), (expected, Finish::Stop));
}

#[rstest]
#[case::not_done(vec![added(0, function("c1", "in_progress")), completed()], vec![], cut("a tool call was not finished"))]
#[case::in_progress(vec![done(0, function("c1", "in_progress")), completed()], vec![], cut("a tool call was not finished"))]
#[case::one_of_two(vec![done(0, function("c1", "completed")), added(1, function("c2", "in_progress")), completed()], vec![look("c1")], cut("a tool call was not finished"))]
#[case::no_end(vec![done(0, function("c1", "completed")), added(1, function("c2", "in_progress"))], vec![look("c1")], cut("the stream broke off before its end"))]
#[case::twice(vec![done(0, function("c1", "completed")), done(0, function("c1", "completed")), done(1, function("c1", "completed")), completed()], vec![look("c1")], Finish::ToolCalls)]
#[case::parallel(vec![done(1, function("c2", "completed")), done(0, function("c1", "completed")), completed()], vec![look("c1"), look("c2")], Finish::ToolCalls)]
#[case::without_call_id(vec![done(0, json!({"type": "function_call", "id": "fc_7", "name": "look", "arguments": "{}"})), completed()], vec![look("call_7")], Finish::ToolCalls)]
#[case::arguments_only_streamed(vec![
    json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"}),
    done(0, json!({"type": "function_call", "call_id": "c1", "name": "look", "arguments": ""})), completed(),
], vec![look("c1")], Finish::ToolCalls)]
#[case::arguments_as_object(vec![done(0, json!({"type": "function_call", "call_id": "c1", "name": "look", "arguments": {}})), completed()], vec![look("c1")], Finish::ToolCalls)]
#[case::custom(vec![done(0, json!({"type": "custom_tool_call", "call_id": "c1", "name": "look", "input": "{}"})), completed()], vec![look("c1")], Finish::ToolCalls)]
#[case::nameless(vec![done(0, json!({"type": "function_call", "call_id": "c1", "arguments": "{}"})), completed()], vec![], cut("a tool call was not finished"))]
#[case::of_an_answer_that_was_cut(vec![done(0, function("c1", "incomplete")), json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}})], vec![], cut("max_output_tokens"))]
fn only_whole_calls_are_given_and_each_once(
    #[case] mut events: Vec<Value>,
    #[case] calls: Vec<Call>,
    #[case] finish: Finish,
) {
    events.insert(0, done(9, message("said")));
    let answer = answered(&events);
    assert_eq!((answer.calls, answer.finish), (calls, finish));
}

#[rstest]
#[case::limit(vec![delta(0, "a"), json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}})], cut("max_output_tokens"))]
#[case::filter(vec![json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}})], Finish::ContentFilter)]
#[case::no_end(vec![done(0, message("a"))], cut("the stream broke off before its end"))]
#[case::commentary(vec![done(0, phased("a", "commentary")), completed()], cut("only commentary came"))]
#[case::reasoning(vec![done(0, json!({"type": "reasoning", "summary": []})), completed()], cut("only reasoning came"))]
#[case::nothing(vec![completed()], cut("the answer is empty"))]
#[case::message_cut(vec![done(0, json!({"type": "message", "status": "incomplete", "content": [{"type": "output_text", "text": "a"}]})), completed()], cut("a message was not finished"))]
fn what_is_not_whole_is_never_a_success(#[case] events: Vec<Value>, #[case] finish: Finish) {
    assert_eq!(answered(&events).finish, finish);
}

#[test]
fn a_tool_call_in_the_text_is_no_answer() {
    let leak = "Sure. to=functions.look {\"at\":1}";
    let (answer, pieces, _) =
        read(frames(&[delta(0, leak), done(0, message(leak)), completed()]).as_bytes());
    let answer = answer.unwrap();
    let reason = "the model wrote a tool call as text";
    assert_eq!((answer.text.as_str(), answer.finish), ("", cut(reason)));
    assert_eq!(pieces, [text(leak), Piece::Again { reason: reason.to_owned() }]);
    let harmless = answered(&[done(0, message("Write to=functions. and so on")), completed()]);
    assert_eq!(harmless.finish, Finish::Stop);
}

#[test]
fn text_behind_a_call_is_not_shown() {
    let events = [
        delta(0, "before"),
        done(0, message("before")),
        added(1, function("c1", "in_progress")),
        delta(2, "behind"),
        done(1, function("c1", "completed")),
        done(2, message("behind")),
        completed(),
    ];
    let (answer, pieces, _) = read(frames(&events).as_bytes());
    assert_eq!(answer.unwrap().text, "before\n\nbehind");
    assert_eq!(pieces, [text("before")]);
}

#[test]
fn pieces_and_answer_say_the_same() {
    let events = [
        delta(0, "one"),
        done(0, message("one")),
        done(1, message("two")),
        json!({"type": "response.output_text.delta", "output_index": 2, "delta": "three"}),
        done(2, message("three")),
        completed(),
    ];
    let (answer, pieces, _) = read(frames(&events).as_bytes());
    let shown: String = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((answer.unwrap().text, shown.as_str()), (shown.clone(), "one\n\ntwo\n\nthree"));
}

#[test]
fn a_lost_event_is_no_success_unless_the_whole_item_came() {
    let lost = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"tor\n\n";
    let damaged = |events: &[Value]| {
        let bytes = format!("{}{lost}{}", frames(&[delta(0, "a")]), frames(events));
        read(bytes.as_bytes()).0.unwrap().finish
    };
    assert_eq!(damaged(&[done(0, message("ab")), completed()]), Finish::Stop);
    assert_eq!(damaged(&[completed()]), cut("a part of the answer could not be read"));
}

#[test]
fn two_events_that_ran_together_are_both_read() {
    let bytes = format!(
        "event: x\ndata: {}\nevent: x\ndata: {}\n\n{}",
        delta(0, "a"),
        delta(0, "b"),
        frames(&[completed()])
    );
    let answer = read(bytes.as_bytes()).0.unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("ab", Finish::Stop));
}

#[rstest]
#[case(json!({"type": "error", "code": "c"}))]
#[case(json!({"type": "response.failed", "response": {"error": {"code": "c"}}}))]
fn a_failure_ends_the_stream(#[case] event: Value) {
    let (_, _, flow) = read(frames(&[delta(0, "a"), event.clone(), completed()]).as_bytes());
    assert_eq!(flow, Flow::Failed(event));
}

#[test]
fn a_stream_with_nothing_in_it_is_no_answer() {
    for events in [
        vec![],
        vec![json!({"type": "response.created", "response": {"id": "r"}})],
        vec![added(0, json!({"type": "message"}))],
    ] {
        assert_eq!(read(frames(&events).as_bytes()).0, None, "{events:?}");
    }
}

proptest! {
    #[test]
    fn a_stream_cut_anywhere_is_whole_or_known_to_be_cut(share in 0.0..1.0_f64) {
        let whole = frames(&rich()).into_bytes();
        let expected = read(&whole).0.unwrap();
        let cut_at = (whole.len() as f64 * share) as usize;
        match read(&whole[..cut_at]).0 {
            None => {}
            Some(answer) if matches!(answer.finish, Finish::Incomplete { .. }) => {
                prop_assert!(answer.calls.iter().all(|call| expected.calls.contains(call)));
            }
            Some(answer) => prop_assert_eq!(answer, expected),
        }
    }
}

#[test]
fn the_last_bytes_decide() {
    let whole = frames(&rich()).into_bytes();
    let expected = read(&whole).0.unwrap();
    for short in 1..400 {
        let answer = read(&whole[..whole.len() - short]).0.unwrap();
        assert_eq!(answer.finish, cut("the stream broke off before its end"), "{short}");
    }
    assert_eq!(read(&whole[..]).0.unwrap(), expected);
}

/// xAI's models do so; of nobody else is reasoning ever taken for an answer.
#[test]
fn an_answer_inside_of_reasoning_is_brought_out() {
    let thought = "She is old.\n<response>\nThe mare is grey.\n</response>";
    let reasoning =
        json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": thought}]});
    let events = frames(&[done(0, reasoning), completed()]);

    let (answer, pieces, _) = read_from("xai_responses", events.as_bytes());
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), &answer.finish), ("The mare is grey.", &Finish::Stop));
    assert_eq!(answer.reasoning.as_deref(), Some("She is old."));
    assert_eq!(pieces.last(), Some(&Piece::Text("The mare is grey.".to_owned())));

    let (answer, ..) = read_from("issuer", events.as_bytes());
    let answer = answer.unwrap();
    assert!(answer.text.is_empty() && matches!(answer.finish, Finish::Incomplete { .. }));
}
