use std::collections::BTreeMap;

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_model::ask::{ElicitationAsk, ElicitationWant};
use ostler_model::decision::Remember;
use ostler_model::form::{FormField, FormFieldKind, FormOption, FormValue};
use ostler_model::item::{ItemBody, ToolCall};
use ostler_model::thread::Update;
use ostler_model::{Ask, AskKind, Decision, TurnEnd};
use ostler_scripted_model::{Answer, Call};
use ostler_testkit::{DrivenThread, tiny_mcp_server};
use rstest::rstest;
use serde_json::{Value, json};

use super::{World, decide, decided, send, world};
use crate::text;

/// The model calls a tool of the server. Up to 0.130.0 the namespace ends with the separator.
fn tool(version: &str, name: &str) -> Answer {
    let namespace = if version == "0.130.0" { "mcp__tiny__" } else { "mcp__tiny" };
    let call = Call { namespace: Some(namespace.to_owned()), ..Call::function(name, json!({})) };
    Answer { calls: vec![call], ..Answer::default() }
}

async fn thread(world: &World) -> DrivenThread {
    let sandbox = crate::thread::workspace_write();
    let server = tiny_mcp_server(&world.stage.codex_home()).unwrap();
    let settings = ThreadSettings {
        mcp_servers: BTreeMap::from([("tiny".to_owned(), server)]),
        ..world.stage.settings(sandbox, ApprovalPolicy::OnRequest)
    };
    world.driven.thread(settings, ThreadOptions::default()).await.unwrap()
}

fn elicitation(ask: &Ask) -> &ElicitationAsk {
    match &ask.kind {
        AskKind::Elicitation(elicitation) => elicitation,
        other => panic!("{other:?}"),
    }
}

/// The last call of a tool that ended.
fn last_call(thread: &DrivenThread) -> ToolCall {
    let calls = thread.updates().filter_map(|update| match update {
        Update::ItemEnded { item, .. } => match &item.body {
            ItemBody::ToolCall(call) => Some(call.clone()),
            _ => None,
        },
        _ => None,
    });
    calls.last().unwrap()
}

/// What the tool gave back: what the server was answered.
fn result(thread: &DrivenThread) -> Value {
    let call = last_call(thread);
    let parts: Value = serde_json::from_str(call.result.as_ref().unwrap()).unwrap();
    serde_json::from_str(parts[0]["text"].as_str().unwrap()).unwrap()
}

#[rstest]
#[tokio::test]
async fn whether_a_tool_may_run_is_decided_in_every_way(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let prompts = ["allow once", "refuse it", "drop it", "allow here", "allow always"];
    let conversation = |prompt| (prompt, vec![tool(version, "danger"), text("Done.")]);
    let world = world(version, prompts.map(conversation).to_vec()).await;
    let mut thread = thread(&world).await;

    send(&thread, "allow once").await;
    let (id, ask) = thread.ask().await.unwrap();
    let wanted = elicitation(&ask);
    assert_eq!(wanted.server, "tiny");
    assert_eq!(wanted.message, "Allow the tiny MCP server to run tool \"danger\"?");
    let approval = ElicitationWant::ToolApproval {
        tool: Some("danger".to_owned()),
        description: Some("Destroys something.".to_owned()),
        arguments: Some("{}".to_owned()),
    };
    assert_eq!(wanted.want, approval);
    // Codex does not say which call it is about; we do.
    let began = thread.updates().find_map(|update| match update {
        Update::ItemBegan { item, .. } => item.is_tool().then(|| item.id.clone()),
        _ => None,
    });
    assert_eq!(ask.item, began);
    assert!(began.is_some());
    let offers = [
        Decision::Once,
        Decision::Session,
        Decision::Always(Remember::Tool),
        Decision::Deny,
        Decision::Cancel,
    ];
    assert_eq!(ask.offers, offers);
    decide(&mut thread, &id, Decision::Once).await;
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!(result(&thread), json!({ "ran": "danger" }));

    for (prompt, decision, error) in [
        ("refuse it", Decision::Deny, "user rejected MCP tool call"),
        ("drop it", Decision::Cancel, "user cancelled MCP tool call"),
    ] {
        send(&thread, prompt).await;
        let (id, _) = thread.ask().await.unwrap();
        decide(&mut thread, &id, decision).await;
        assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed, "{prompt}");
        assert_eq!(last_call(&thread).error.as_deref(), Some(error));
    }

    send(&thread, "allow here").await;
    let (id, _) = thread.ask().await.unwrap();
    decide(&mut thread, &id, Decision::Session).await;
    thread.turn_end().await.unwrap();
    let told = thread.seen.len();
    send(&thread, "allow here").await;
    thread.turn_end().await.unwrap();
    assert!(!asked_since(&thread, told), "it was asked again in the session");
    assert_eq!(result(&thread), json!({ "ran": "danger" }));

    // In another thread it is asked again, until it is allowed always.
    let mut other = self::thread(&world).await;
    send(&other, "allow always").await;
    let (id, _) = other.ask().await.unwrap();
    decide(&mut other, &id, Decision::Always(Remember::Tool)).await;
    other.turn_end().await.unwrap();
    assert_eq!(result(&other), json!({ "ran": "danger" }));
    let told = other.seen.len();
    send(&other, "allow always").await;
    other.turn_end().await.unwrap();
    assert!(!asked_since(&other, told), "it was asked again");
}

fn asked_since(thread: &DrivenThread, told: usize) -> bool {
    use ostler_codex::thread::Told;
    let is_ask = |told: &ostler_codex::thread::ThreadUpdate| {
        matches!(told.what, Told::Update(Update::AskOpened { .. }))
    };
    thread.seen[told..].iter().any(is_ask)
}

#[rstest]
#[tokio::test]
async fn a_server_gets_the_answer_to_its_own_question(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let asks = |prompt, name| (prompt, vec![tool(version, name), text("Done.")]);
    let world = world(
        version,
        vec![
            asks("fill the form", "form"),
            asks("decline the form", "form"),
            asks("cancel the form", "form"),
            asks("open the page", "url"),
            asks("do not open it", "url"),
        ],
    )
    .await;
    let mut thread = thread(&world).await;

    send(&thread, "fill the form").await;
    let (id, ask) = thread.ask().await.unwrap();
    let wanted = elicitation(&ask);
    assert_eq!((wanted.server.as_str(), wanted.message.as_str()), ("tiny", "Who rides?"));
    let option = |value: &str| FormOption { value: value.to_owned(), title: None };
    let fields = vec![
        FormField {
            name: "name".to_owned(),
            title: Some("Name".to_owned()),
            description: None,
            kind: FormFieldKind::Text,
            required: true,
        },
        FormField {
            name: "pace".to_owned(),
            title: None,
            description: None,
            kind: FormFieldKind::Choice(vec![option("walk"), option("trot")]),
            required: false,
        },
    ];
    assert_eq!(wanted.want, ElicitationWant::Form(fields));
    let form = |values: &[(&str, &str)]| {
        let values = values.iter();
        let values =
            values.map(|(name, text)| ((*name).to_owned(), FormValue::Text((*text).to_owned())));
        Decision::Form(values.collect())
    };
    // What the server could not use is refused at the door.
    thread.thread.answer(id.clone(), decided(form(&[("pace", "gallop")]))).await;
    thread
        .until("a refusal", |update| matches!(update, Update::DecisionRefused { .. }).then_some(()))
        .await
        .unwrap();
    decide(&mut thread, &id, form(&[("name", "Ada"), ("pace", "trot")])).await;
    thread.turn_end().await.unwrap();
    let filled = json!({ "action": "accept", "content": { "name": "Ada", "pace": "trot" } });
    assert_eq!(result(&thread), filled);

    for (prompt, decision, action) in [
        ("decline the form", Decision::Deny, "decline"),
        ("cancel the form", Decision::Cancel, "cancel"),
        ("do not open it", Decision::Deny, "decline"),
    ] {
        send(&thread, prompt).await;
        let (id, _) = thread.ask().await.unwrap();
        decide(&mut thread, &id, decision).await;
        assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed, "{prompt}");
        assert_eq!(result(&thread), json!({ "action": action }), "{prompt}");
    }

    send(&thread, "open the page").await;
    let (id, ask) = thread.ask().await.unwrap();
    let wanted = elicitation(&ask);
    assert_eq!(wanted.message, "Please sign in");
    assert_eq!(wanted.want, ElicitationWant::Url("https://example.test/login".to_owned()));
    decide(&mut thread, &id, Decision::Once).await;
    thread.turn_end().await.unwrap();
    assert_eq!(result(&thread)["action"], "accept");
}
