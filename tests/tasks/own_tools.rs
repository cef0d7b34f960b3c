//! Tools of our own MCP server run without a person's word, and only if it is really our own that runs. A program of the test
//! stands in for ours.

use std::path::{Path, PathBuf};

use ostler_engine::{EngineSettings, OwnServer};
use ostler_model::task::{Approval, AskRecord, AskState, DecidedBy, Unattended};
use ostler_model::{Decision, TaskState};
use ostler_scripted_model::{Answer, Call};
use ostler_testkit::{Stage, Workshop, tiny_mcp_server};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{PROMPT, stage, text};

const NAME: &str = "ostler-tools";

/// The model calls the tool that Codex asks about.
fn danger(version: &str) -> Answer {
    // Up to 0.130.0 the namespace ends with the separator; later ones make the name one of a function.
    let namespace = match version {
        "0.130.0" => "mcp__ostler_tools__",
        _ => "mcp__ostler_tools",
    };
    let call =
        Call { namespace: Some(namespace.to_owned()), ..Call::function("danger", json!({})) };
    Answer { calls: vec![call], ..Answer::default() }
}

/// The program that is ours, and another one that is not.
struct Programs {
    own: OwnServer,
    spoof: PathBuf,
}

fn programs(stage: &Stage) -> Programs {
    let server = tiny_mcp_server(&stage.codex_home()).unwrap();
    let (program, arguments) = (PathBuf::from(server.command.unwrap()), server.args);
    let spoof = stage.codex_home().join("spoof.mjs");
    std::fs::copy(arguments.first().unwrap(), &spoof).unwrap();
    Programs { own: OwnServer { name: NAME.to_owned(), program, arguments }, spoof }
}

impl Programs {
    fn genuine(&self) -> Value {
        json!({ "command": self.own.program, "args": self.own.arguments })
    }

    fn spoofed(&self) -> Value {
        json!({ "command": self.own.program, "args": [self.spoof] })
    }
}

/// Adds a server to the user's own config.
fn configure(stage: &Stage, name: &str, table: &Value) {
    let (command, script) = (&table["command"], table.pointer("/args/0").unwrap());
    let table = format!("\n[mcp_servers.{name}]\ncommand = {command}\nargs = [{script}]\n");
    stage.configure(|text| text + &table).unwrap();
}

async fn shop(stage: &Stage, programs: &Programs) -> Workshop {
    let own = programs.own.clone();
    let settings = |settings: &mut EngineSettings| {
        settings.own_server = Some(own);
        settings.allowed.config = vec![format!("mcp_servers.{NAME}")];
    };
    Workshop::open_with(stage, settings).await.unwrap()
}

async fn decided(shop: &Workshop, task: &ostler_model::TaskId) -> (AskState, Decision, DecidedBy) {
    let asks: Vec<AskRecord> = shop.engine.store().asks_of(task).await.unwrap();
    assert_eq!(asks.len(), 1, "{asks:?}");
    let ask = asks.first().unwrap();
    let decision = ask.decision.clone().unwrap();
    (ask.state, decision.decision, decision.by)
}

fn by(program: &Path) -> DecidedBy {
    DecidedBy::Approver { program: program.display().to_string() }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Config,
    Thread,
}

#[rstest]
#[tokio::test]
async fn our_own_server_is_known_by_its_process(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(Where::Config, Where::Thread)] place: Where,
) {
    let stage = stage(version, vec![danger(version), text("Done.")]);
    let programs = programs(&stage);
    let genuine = programs.genuine();
    if place == Where::Config {
        configure(&stage, NAME, &genuine);
    }
    let shop = shop(&stage, &programs).await;
    let task = shop.start_with(&stage, PROMPT, |settings| {
        settings.approval = Approval::OnRequest;
        // A task that waits for nobody: our own tools need nobody either.
        settings.unattended = Unattended::Decline;
        if place == Where::Thread {
            settings.config.insert(format!("mcp_servers.{NAME}"), genuine.to_string());
        }
    });
    let task = task.await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let expected = (AskState::Closed, Decision::Once, by(&programs.own.program));
    assert_eq!(decided(&shop, &task).await, expected);
    let told = stage.model().requests().last().unwrap().json().to_string();
    assert!(told.contains("ran"), "the tool did not run: {told}");
    shop.close().await.unwrap();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoof {
    /// The user's config gives our name to another program.
    Config,
    /// The same, while ours runs for the same thread under another name.
    BesideOurs,
    /// The config names ours, and the thread another one.
    Thread,
}

#[rstest]
#[tokio::test]
async fn a_server_that_only_has_our_name_is_asked_about(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(Spoof::Config, Spoof::BesideOurs, Spoof::Thread)] spoof: Spoof,
) {
    let stage = stage(version, vec![danger(version), text("Done.")]);
    let programs = programs(&stage);
    let (genuine, spoofed) = (programs.genuine(), programs.spoofed());
    match spoof {
        Spoof::Config => configure(&stage, NAME, &spoofed),
        Spoof::BesideOurs => {
            configure(&stage, NAME, &spoofed);
            configure(&stage, "another", &genuine);
        }
        Spoof::Thread => configure(&stage, NAME, &genuine),
    }
    let shop = shop(&stage, &programs).await;
    let task = shop.start_with(&stage, PROMPT, |settings| {
        settings.approval = Approval::OnRequest;
        if spoof == Spoof::Thread {
            settings.config.insert(format!("mcp_servers.{NAME}"), spoofed.to_string());
        }
    });
    let task = task.await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.answer(&ask, Decision::Deny).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let (_, decision, by) = decided(&shop, &task).await;
    assert_eq!(decision, Decision::Deny);
    assert!(matches!(by, DecidedBy::Person { .. }), "{by:?}");
    shop.close().await.unwrap();
}
