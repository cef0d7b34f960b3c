use std::collections::BTreeMap;

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread::DynamicTool;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::thread::{ThreadHandlers, ToolHandler, ToolReply, TurnInput};
use ostler_model::decision::ToolOutput;
use ostler_model::thread::{AskEnd, DecisionRefusal, Update, Withdrawal};
use ostler_model::{AskKind, Decision, ThreadId, TurnEnd};
use ostler_scripted_model::{Answer, Call};
use ostler_testkit::DrivenThread;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{World, call, decided, send, soon, world};
use crate::text;

fn tool(name: &str) -> DynamicTool {
    let schema = json!({ "type": "object", "properties": { "oats": { "type": "integer" } } });
    DynamicTool::new(name.to_owned(), "A tool of the stable.".to_owned(), schema)
}

fn said(text: &str, succeeded: bool) -> ToolReply {
    ToolReply { succeeded, outputs: vec![ToolOutput::Text(text.to_owned())] }
}

/// Tells when it is dropped.
struct Gone(mpsc::UnboundedSender<&'static str>);

impl Drop for Gone {
    fn drop(&mut self) {
        // The test may be over.
        self.0.send("gone").ok();
    }
}

/// `feed` answers, `fail` says that it failed, `burst` panics in its future, `trip` before there is one, `sleep` never
/// ends; there is no handler for `lost`.
fn handlers(tell: mpsc::UnboundedSender<&'static str>) -> ThreadHandlers {
    let feed = ToolHandler::new(|call| async move {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        said(&format!("fed {} oats", arguments["oats"]), true)
    });
    let sleep = ToolHandler::new(move |_| {
        let gone = Gone(tell.clone());
        async move {
            let _gone = gone;
            std::future::pending::<ToolReply>().await
        }
    });
    let tools = [
        ("feed", feed),
        ("fail", ToolHandler::new(|_| async { said("the bag is empty", false) })),
        ("burst", ToolHandler::new(|_| async { panic!("the bag burst") })),
        ("trip", ToolHandler::new(|_| -> std::future::Ready<ToolReply> { panic!("tripped") })),
        ("sleep", sleep),
        ("shop/sell", ToolHandler::new(|_| async { said("sold", true) })),
    ];
    ThreadHandlers { tools: BTreeMap::from(tools.map(|(name, tool)| (name.to_owned(), tool))) }
}

async fn thread(world: &World, handlers: ThreadHandlers) -> DrivenThread {
    let sandbox = crate::thread::workspace_write();
    let names = ["feed", "fail", "burst", "trip", "sleep", "lost"];
    let settings = ThreadSettings {
        dynamic_tools: names.map(tool).to_vec(),
        ..world.stage.settings(sandbox, ApprovalPolicy::Never)
    };
    let options = ThreadOptions { handlers, ..ThreadOptions::default() };
    world.driven.thread(settings, options).await.unwrap()
}

#[rstest]
#[tokio::test]
async fn tools_of_ours_run_and_fail_as_themselves(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let names = ["feed", "fail", "burst", "trip", "lost", "sleep"];
    let conversation =
        |name: &'static str| (name, vec![call(name, json!({ "oats": 3 })), text("Went on.")]);
    let world = world(version, names.map(conversation).to_vec()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut thread = thread(&world, handlers(tell)).await;

    let panicked = |reason: &str| AskEnd::Declined { reason: reason.to_owned() };
    for (name, how, output) in [
        ("feed", AskEnd::Served, "fed 3 oats"),
        ("fail", AskEnd::Served, "the bag is empty"),
        ("burst", panicked("the tool panicked: the bag burst"), "the tool could not be run"),
        ("trip", panicked("the tool panicked: tripped"), "the tool could not be run"),
        ("lost", AskEnd::Refused, "dynamic tool request failed"),
    ] {
        send(&thread, name).await;
        let (id, ask) = thread.ask().await.unwrap();
        let AskKind::ToolCall(wanted) = &ask.kind else { panic!("{ask:?}") };
        assert_eq!((wanted.tool.as_str(), wanted.arguments.as_str()), (name, r#"{"oats":3}"#));
        assert_eq!(thread.closed(&id).await.unwrap(), how, "{name}");
        let result = thread.turn_end().await.unwrap();
        assert_eq!(result.end, TurnEnd::Completed, "{name}");
        assert_eq!(result.final_answer.as_deref(), Some("Went on."), "{name}");
        assert_eq!(world.outputs(name).last().map(String::as_str), Some(output), "{name}");
    }

    // No person answers for a tool, and one that is no longer needed is ended.
    send(&thread, "sleep").await;
    let (id, _) = thread.ask().await.unwrap();
    thread.thread.answer(id.clone(), decided(Decision::Deny)).await;
    let refused = thread.until("a refusal", |update| match update {
        Update::DecisionRefused { why, .. } => Some(why.clone()),
        _ => None,
    });
    assert_eq!(refused.await.unwrap(), DecisionRefusal::NotForPeople);
    thread.thread.interrupt("ann").await;
    let withdrawn = AskEnd::Withdrawn { reason: Withdrawal::TurnEnded };
    assert_eq!(thread.closed(&id).await.unwrap(), withdrawn);
    assert_eq!(soon(told.recv()).await, Some("gone"));
}

/// Tools in a namespace are known by both names. Codex keeps the tools of a thread, so another client may have given them.
#[rstest]
#[tokio::test]
async fn a_tool_in_a_namespace_is_found(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let sell = Call { namespace: Some("shop".to_owned()), ..Call::function("sell", json!({})) };
    let sell = Answer { calls: vec![sell], ..Answer::default() };
    let world = world(
        version,
        vec![("say hello", vec![text("Hello.")]), ("sell it", vec![sell, text("Sold.")])],
    )
    .await;
    let mut client = world.stage.client(&world.codex).await.unwrap();
    let peer = client.server.peer().clone();
    let start = json!({
        "cwd": world.stage.workspace(),
        "sandbox": "read-only",
        "approvalPolicy": "on-request",
        "dynamicTools": [{
            "namespace": "shop", "name": "sell", "description": "Sells.",
            "inputSchema": { "type": "object", "properties": {} },
        }],
    });
    let soon = std::time::Duration::from_secs(60);
    let opened = peer.request("thread/start", &start, soon).await.unwrap();
    let opened: Value = serde_json::from_str(opened.get()).unwrap();
    let id = ThreadId::new(opened["thread"]["id"].as_str().unwrap());
    let hello = json!({ "threadId": id, "input": [{ "type": "text", "text": "say hello" }] });
    peer.request("turn/start", &hello, soon).await.unwrap();
    client.turn_end(&id).await.unwrap();
    client.close().await;

    let (tell, _told) = mpsc::unbounded_channel();
    let options = ThreadOptions { handlers: handlers(tell), ..ThreadOptions::default() };
    let settings = ThreadSettings::new(world.stage.workspace().display().to_string());
    let (resumed, updates) =
        world.driven.driver.resume_thread(&id, settings, options).await.unwrap();
    let mut thread = DrivenThread::new(resumed, updates);
    let ticket = thread
        .thread
        .send(TurnInput::text("sell it"), ostler_model::thread::IfBusy::Queue)
        .await
        .unwrap();
    let (ask_id, ask) = thread.ask().await.unwrap();
    let AskKind::ToolCall(wanted) = &ask.kind else { panic!("{ask:?}") };
    assert_eq!((wanted.namespace.as_deref(), wanted.tool.as_str()), (Some("shop"), "sell"));
    assert_eq!(thread.closed(&ask_id).await.unwrap(), AskEnd::Served);
    assert_eq!(ticket.outcome().await.unwrap().result.end, TurnEnd::Completed);
    assert_eq!(world.outputs("sell it").last().map(String::as_str), Some("sold"));
}
