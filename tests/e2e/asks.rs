//! Everything that Codex asks, through the driver.

mod command;
mod current_time;
mod deciders;
mod elsewhere;
mod file_change;
mod mcp;
mod network;
mod permissions;
mod reason;
mod tokens;
mod tools;
mod user_input;

use std::time::Duration;

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::thread::{Decided, SendTicket, TurnInput};
use ostler_model::thread::{AskEnd, IfBusy};
use ostler_model::{AskId, Decision};
use ostler_scripted_model::{Answer, Call, Conversation, Script};
use ostler_testkit::{Driven, DrivenThread, KeptCodex, Stage};
use serde_json::Value;

/// One app-server with a driver, and a model that knows several conversations.
struct World {
    driven: Driven,
    codex: KeptCodex,
    stage: Stage,
}

/// Each conversation begins with a prompt of its own.
fn stage_of(version: &str, conversations: Vec<(&str, Vec<Answer>)>) -> Stage {
    let conversation =
        |(prompt, answers): (&str, _)| Conversation { prompt: prompt.to_owned(), answers };
    let conversations = conversations.into_iter().map(conversation).collect();
    let script = Script { conversations, ..Script::default() };
    Stage::set(env!("CARGO_BIN_EXE_ostler"), env!("CARGO_TARGET_TMPDIR"), version, script).unwrap()
}

async fn world(version: &str, conversations: Vec<(&str, Vec<Answer>)>) -> World {
    World::on(stage_of(version, conversations)).await
}

impl World {
    async fn on(stage: Stage) -> Self {
        let codex = stage.codex().await.unwrap();
        let driven = stage.drive(&codex).await.unwrap();
        Self { driven, codex, stage }
    }

    /// A thread that asks before every command which is not known to be harmless.
    async fn thread(&self) -> DrivenThread {
        self.thread_with(ThreadOptions::default()).await
    }

    async fn thread_with(&self, options: ThreadOptions) -> DrivenThread {
        let sandbox = crate::thread::workspace_write();
        let settings = self.stage.settings(sandbox, ApprovalPolicy::Untrusted);
        self.driven.thread(settings, options).await.unwrap()
    }

    /// A thread that may only read, and asks for more.
    async fn read_only(&self) -> DrivenThread {
        let sandbox = SandboxPolicy::ReadOnly { network_access: false };
        let settings = self.stage.settings(sandbox, ApprovalPolicy::OnRequest);
        self.driven.thread(settings, ThreadOptions::default()).await.unwrap()
    }

    /// What the model was told in the last request that holds this text, as JSON text.
    fn told(&self, prompt: &str) -> String {
        let requests = self.stage.model().requests();
        let bodies = requests.iter().rev().map(|request| request.json()["input"].to_string());
        bodies.into_iter().find(|body| body.contains(prompt)).unwrap_or_default()
    }

    /// The outputs of tools that the model was told in the last request of this conversation.
    fn outputs(&self, prompt: &str) -> Vec<String> {
        let input: Value = serde_json::from_str(&self.told(prompt)).unwrap();
        let items = input.as_array().unwrap().iter();
        let outputs = items.filter(|item| item["type"].as_str().unwrap().ends_with("_output"));
        outputs
            .map(|item| {
                item["output"].as_str().map_or_else(|| item["output"].to_string(), Into::into)
            })
            .collect()
    }
}

/// What must come without waiting for anybody; a busy machine may take its time.
async fn soon<T>(coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), coming).await.unwrap()
}

fn decided(decision: Decision) -> Decided {
    Decided { decision, by: "ann".to_owned(), reason: None }
}

/// How an ask ends that Ann has decided.
fn by_ann(decision: Decision) -> AskEnd {
    AskEnd::Decided { decision, by: "ann".to_owned() }
}

async fn send(thread: &DrivenThread, prompt: &str) -> SendTicket {
    thread.thread.send(TurnInput::text(prompt), IfBusy::Fail).await.unwrap()
}

/// Decides the ask, and looks that this is how it is told to have ended.
async fn decide(thread: &mut DrivenThread, ask: &AskId, decision: Decision) {
    thread.thread.answer(ask.clone(), decided(decision.clone())).await;
    assert_eq!(thread.closed(ask).await.unwrap(), by_ann(decision));
}

/// The model calls a tool.
fn call(tool: &str, arguments: Value) -> Answer {
    Answer { calls: vec![Call::function(tool, arguments)], ..Answer::default() }
}
