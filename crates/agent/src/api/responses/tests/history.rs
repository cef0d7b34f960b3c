#![expect(clippy::needless_pass_by_value, reason = "JSON is written where it is needed")]

use ostler_model::Message;
use serde_json::{Value, json};

use super::super::OldReasoning;
use super::super::history::input;
use crate::api::{Entry, Replay};

fn entry(message: Message) -> Entry {
    Entry::plain(message)
}

fn call(id: &str) -> Message {
    Message::call(id.to_owned(), "look".to_owned(), "{}".to_owned())
}

fn replayed(message: Message, items: Value) -> Entry {
    let items = items.as_array().unwrap().clone();
    Entry { replay: Some(Replay { issuer: "issuer".to_owned(), items }), ..entry(message) }
}

fn sent(history: &[Entry]) -> Value {
    Value::Array(input(history, "issuer", OldReasoning::SentBack))
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn called(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"})
}

fn thought(content: &str) -> Value {
    json!({"type": "reasoning", "encrypted_content": content, "summary": []})
}

#[test]
fn a_conversation_becomes_items() {
    let long = "x".repeat(65);
    let mut asking = call("call_1|fc_1");
    asking.content = Some("Looking.".to_owned());
    let history = [
        Entry {
            images: vec!["data:image/png;base64,AA==".to_owned()],
            ..entry(Message::user("see".to_owned()))
        },
        entry(asking),
        entry(Message::tool("call_1|fc_1".to_owned(), "seen".to_owned())),
        entry(call(&long)),
        entry(Message::tool(long, String::new())),
        entry(Message::assistant("Done.".to_owned())),
        entry(Message::assistant(String::new())),
    ];
    let short = "call_9537c5fdf120482f7d58d25e";
    let expected = json!([
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
        ]},
        said("Looking."),
        called("call_1"),
        {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
        called(short),
        {"type": "function_call_output", "call_id": short, "output": ""},
        said("Done."),
    ]);
    assert_eq!(sent(&history), expected);
}

#[test]
fn reasoning_goes_back_where_it_stood_and_without_its_id() {
    let phased = json!({
        "type": "message", "role": "assistant", "id": "msg_1", "phase": "commentary",
        "content": [{"type": "output_text", "text": "I look."}],
    });
    let long = json!({"type": "message", "id": "x".repeat(65), "content": [{"type": "output_text", "text": "Hi."}]});
    let mut asking = call("c1");
    asking.content = Some("Hi.".to_owned());
    let entry = replayed(
        asking,
        json!([
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "A", "summary": null, "extra": 1},
            phased,
            {"type": "reasoning", "id": "rs_2", "encrypted_content": "B", "summary": [{"type": "summary_text", "text": "s"}]},
            long,
            called("c1"),
            {"type": "web_search_call", "id": "ws"},
        ]),
    );
    let second = json!({
        "type": "reasoning", "encrypted_content": "B", "summary": [{"type": "summary_text", "text": "s"}],
    });
    let result = entry_result();
    let expected = json!([thought("A"), phased, second, said("Hi."), called("c1"), result_item()]);
    assert_eq!(sent(&[entry, result]), expected);
}

fn entry_result() -> Entry {
    entry(Message::tool("c1".to_owned(), "seen".to_owned()))
}

fn result_item() -> Value {
    json!({"type": "function_call_output", "call_id": "c1", "output": "seen"})
}

#[test]
fn what_only_its_issuer_can_read_is_sent_to_nobody_else() {
    let entry = replayed(Message::assistant("Hi.".to_owned()), json!([thought("A"), said("Hi.")]));
    let history = [entry];
    assert_eq!(sent(&history), json!([thought("A"), said("Hi.")]));
    assert_eq!(input(&history, "another", OldReasoning::SentBack), [said("Hi.")]);
    assert_eq!(input(&history, "issuer", OldReasoning::LeftOut), [said("Hi.")]);
}

#[test]
fn a_message_that_was_changed_says_what_it_says_now() {
    let items = json!([thought("A"), said("secret"), called("c9")]);
    let redacted = replayed(Message::assistant("[hidden]".to_owned()), items);
    assert_eq!(sent(&[redacted]), json!([thought("A"), said("[hidden]")]));
}

#[test]
fn what_cannot_be_taken_back_is_left_out() {
    let items = json!([
        {"type": "reasoning", "id": "rs_tmp_1", "encrypted_content": "A", "summary": []},
        {"type": "reasoning", "id": "rs_2", "summary": []},
        {"type": "function_call", "call_id": "c1"},
        "nonsense",
        7,
    ]);
    assert_eq!(
        sent(&[replayed(Message::assistant("Hi.".to_owned()), items)]),
        json!([said("Hi.")])
    );
}

#[test]
fn reasoning_that_nothing_follows_gets_an_empty_message() {
    let alone = replayed(Message::assistant(String::new()), json!([thought("A")]));
    assert_eq!(sent(&[alone]), json!([thought("A"), said("")]));
}

/// Copilot's ids of messages are bound to a connection that is gone; OpenAI's help its cache.
#[test]
fn copilot_gets_no_ids_of_messages_back() {
    let mut item = said("Done.");
    item["id"] = json!("msg_1");
    let ids = |issuer: &str| {
        let replay = Replay { issuer: issuer.to_owned(), items: vec![item.clone()] };
        let message = Message::assistant("Done.".to_owned());
        let history = [Entry { replay: Some(replay), ..entry(message) }];
        let items = input(&history, issuer, OldReasoning::SentBack);
        items[0].get("id").cloned()
    };
    assert_eq!((ids("issuer"), ids("github_responses")), (Some(json!("msg_1")), None));
}
