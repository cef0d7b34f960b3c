use rstest::rstest;
use serde_json::{Value, json};

use super::super::request::body;
use super::super::{Dialect, OldReasoning, Responses};
use crate::api::provider::{GITHUB, XAI};
use crate::api::{Entry, Question};
use crate::tool::ToolDefinition;
use ostler_model::Message;

fn question() -> Question {
    Question {
        model: "gpt-5.5".to_owned(),
        instructions: "Be brief.".to_owned(),
        history: vec![Entry::plain(Message::user("hello".to_owned()))],
        session: "conversation-1".to_owned(),
        ..Question::default()
    }
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object"}),
    }
}

fn asked(question: &Question) -> Value {
    body(question, "issuer", OldReasoning::SentBack)
}

fn hello() -> Value {
    json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}])
}

#[test]
fn a_plain_question() {
    let expected = json!({
        "model": "gpt-5.5",
        "instructions": "Be brief.",
        "input": hello(),
        "store": false,
        "stream": true,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "pck_213c22ed7234eb11116e1e88",
    });
    assert_eq!(asked(&question()), expected);
}

#[test]
fn a_question_with_tools() {
    let question =
        Question { effort: Some("none".to_owned()), tools: vec![tool("look")], ..question() };
    let expected = json!({
        "model": "gpt-5.5",
        "instructions": "Be brief.",
        "input": hello(),
        "store": false,
        "stream": true,
        "tools": [{
            "type": "function", "name": "look", "description": "Looks.",
            "parameters": {"type": "object"}, "strict": false,
        }],
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "prompt_cache_key": "pck_6260f47435a54de0881c79ef",
    });
    assert_eq!(asked(&question), expected);
}

#[rstest]
#[case("gpt-5.5", None, json!("medium"))]
#[case("gpt-5.5", Some(""), json!("medium"))]
#[case("gpt-5.5", Some("minimal"), json!("low"))]
#[case("gpt-5.5", Some("high"), json!("high"))]
#[case("gpt-5.5", Some("ultra"), json!("ultra"))]
#[case("gpt-5.6", Some("ultra"), json!("max"))]
#[case("gpt-5.5", Some("none"), json!(null))]
fn the_effort_is_in_the_words_of_the_model(
    #[case] model: &str,
    #[case] effort: Option<&str>,
    #[case] expected: Value,
) {
    let (model, effort) = (model.to_owned(), effort.map(str::to_owned));
    let body = asked(&Question { model, effort, ..question() });
    assert_eq!(body["reasoning"]["effort"], expected);
    assert_eq!(body.get("include").is_some(), expected != json!(null));
}

#[rstest]
#[case::thinks_as_it_likes("grok-4", Some("high"), json!(null))]
#[case("grok-3-mini", None, json!({"effort": "medium"}))]
#[case("grok-4.3", Some("minimal"), json!({"effort": "low"}))]
#[case("grok-4.3", Some("xhigh"), json!({"effort": "high"}))]
#[case("grok-4.20-multi-agent-0309", Some("ultra"), json!({"effort": "high"}))]
fn xai_is_asked_in_its_own_words(
    #[case] model: &str,
    #[case] effort: Option<&str>,
    #[case] expected: Value,
) {
    let (model, effort) = (model.to_owned(), effort.map(str::to_owned));
    let body = body(&Question { model, effort, ..question() }, XAI, OldReasoning::SentBack);
    assert_eq!(body["reasoning"], expected);
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert!(body["prompt_cache_key"].is_string());
}

#[test]
fn copilot_is_told_the_effort_alone_and_no_key_of_a_cache() {
    let expected = json!({
        "model": "gpt-5.5",
        "instructions": "Be brief.",
        "input": hello(),
        "store": false,
        "stream": true,
        "reasoning": {"effort": "medium"},
    });
    assert_eq!(body(&question(), GITHUB, OldReasoning::SentBack), expected);
    let none = Question { effort: Some("none".to_owned()), ..question() };
    assert_eq!(body(&none, GITHUB, OldReasoning::SentBack)["reasoning"], json!(null));
}

#[test]
fn the_cache_is_shared_by_all_who_begin_alike() {
    let key = |question: &Question| asked(question)["prompt_cache_key"].clone();
    let tools = |names: [&str; 2]| Question { tools: names.map(tool).to_vec(), ..question() };
    let other = Question { session: "conversation-2".to_owned(), ..question() };
    assert_eq!(key(&question()), key(&other));
    assert_eq!(key(&tools(["a", "b"])), key(&tools(["b", "a"])));
    assert_ne!(key(&tools(["a", "b"])), key(&question()));
    let bare = |session: &str| Question {
        instructions: String::new(),
        session: session.to_owned(),
        ..question()
    };
    assert_eq!(key(&bare("conversation-1")), json!("conversation-1"));
    assert_eq!(key(&bare(&"x".repeat(65))), json!("pck_9537c5fdf120482f7d58d25e"));
    assert_eq!(key(&bare("")), json!(null));
    assert_eq!(asked(&bare(""))["instructions"], json!("You are a helpful assistant."));
}

#[test]
fn only_the_codex_backend_is_told_the_session() {
    let headers = |issuer: &str, session: &str| {
        let question = Question { session: session.to_owned(), ..question() };
        Responses { issuer: issuer.to_owned() }.headers(&question)
    };
    let both = |session: &str| {
        vec![("session_id", session.to_owned()), ("x-client-request-id", session.to_owned())]
    };
    assert_eq!(headers("codex_backend", "s"), both("s"));
    assert_eq!(headers("codex_backend", &"x".repeat(65)), both("ses_9537c5fdf120482f7d58d25e"));
    assert_eq!(headers("codex_backend", ""), []);
    assert_eq!(headers("other:x", "s"), []);
}
