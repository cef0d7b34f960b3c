//! The agent's own tools on Codex's own connection: the chat runs them, for as long as it is there.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ostler_store::conversations::Conversations;
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::world::{Plan, World, outcome};
use crate::{call, conversation, text};

const ON_CODEX: [&str; 2] = ["--runtime", "codex_app_server"];
const PATIENCE: Duration = Duration::from_secs(90);

/// The names of the tools that Codex told the model of, in its first request.
fn told_of(world: &World) -> Vec<String> {
    let tools = world.codex.requests()[0].json()["tools"].clone();
    let name = |tool: &Value| tool["name"].as_str().map(str::to_owned);
    tools.as_array().unwrap().iter().filter_map(name).collect()
}

/// What the model was told that its tools said, over all requests of the last conversation.
fn outputs(world: &World) -> Vec<String> {
    let last = world.codex.requests().last().unwrap().json();
    let input = last["input"].as_array().unwrap().iter();
    let outputs = input.filter(|item| item["type"] == "function_call_output");
    outputs.map(|item| item["output"].to_string()).collect()
}

/// Our server is registered, as for everybody who has migrated.
fn migrate(world: &World) {
    let file = world.path("servers.yaml");
    fs::write(&file, "mcp_servers: {}\n").unwrap();
    let migrated = world.run(&["migrate", "--from", file.to_str().unwrap()]);
    let overlay = fs::read_to_string(world.path("o/state/migrate/overlay.json"));
    assert!(overlay.unwrap_or_default().contains("ostler-tools"), "{migrated:?}");
}

pub(crate) fn todos(world: &World) -> String {
    world.runtime.block_on(async {
        let all = Conversations::open(world.path("o/state/conversations.db")).await.unwrap();
        let found = all.find("", 2).await.unwrap();
        let kept = all.note(&found[0].id, "todos").await.unwrap();
        all.close().await;
        kept.unwrap_or_default()
    })
}

#[rstest]
fn codex_calls_tools_that_the_chat_runs(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let oats = json!({ "action": "add", "target": "memory", "content": "The mare likes oats." });
    let list = json!({ "todos": [{ "id": "1", "content": "feed the mare", "status": "pending" }] });
    let codex = vec![
        conversation("what is left", vec![call("todo", json!({})), text("The mare.")]),
        conversation(
            "note it",
            vec![
                call("memory", oats),
                call("todo", list),
                call("skills_list", json!({})),
                text("Noted."),
            ],
        ),
    ];
    let agent = "codex_tools = \"dynamic\"\nreview = false";
    let world = World::new(Plan { version, codex, agent, ..Plan::default() });
    migrate(&world);

    let found = world.ask("note it", &ON_CODEX);

    assert_eq!(found["final_response"], "Noted.", "{found}");
    let told = told_of(&world);
    for tool in
        ["memory", "todo", "session_search", "skill_view", "web_extract", "browser_navigate"]
    {
        assert!(told.iter().any(|name| name == tool), "{tool} is not among {told:?}");
    }
    for tool in ["terminal", "write_file", "delegate_task", "skill_manage"] {
        assert!(!told.iter().any(|name| name == tool), "{tool} is among {told:?}");
    }
    assert!(!told.iter().any(|name| name.contains("ostler")), "the server is left out: {told:?}");
    let memory = fs::read_to_string(world.path("o/state/agent/memories/MEMORY.md")).unwrap();
    assert_eq!(memory.matches("The mare likes oats.").count(), 1, "{memory}");
    assert!(todos(&world).contains("feed the mare"));
    assert_eq!(found["tool_iterations"], 3, "{found}");
    assert_eq!(world.host.requests_seen(), 0);

    // Another chat, another daemon's connection, the same thread and the same tools.
    world.wait_until_no_codex_runs();
    let next = world.ask("what is left", &["--resume", "last"]);
    assert_eq!(next["final_response"], "The mare.", "{next}");
    assert_eq!(next["thread"], found["thread"]);
    assert!(outputs(&world).last().unwrap().contains("feed the mare"), "{:?}", outputs(&world));
}

#[rstest]
fn nothing_is_offered_where_nothing_is_to_be(#[values("none", "mcp")] tools: &'static str) {
    let codex = vec![conversation("hello", vec![text("Hello.")])];
    let agent = format!("codex_tools = {tools:?}").leak();
    let world = World::new(Plan { codex, agent, ..Plan::default() });
    if tools == "none" {
        migrate(&world);
    }

    let found = world.ask("hello", &ON_CODEX);

    assert_eq!(found["final_response"], "Hello.", "{found}");
    let told = told_of(&world);
    let is_ours = |name: &String| name.contains("ostler") || name == "memory" || name == "todo";
    assert!(!told.iter().any(is_ours), "{told:?}");
}

/// Switched off for the thread, where it stands in Codex's own file.
#[test]
fn a_server_in_codexs_own_file_is_left_out_too() {
    let codex = vec![conversation("hello", vec![text("Hello.")])];
    let agent = "codex_tools = \"dynamic\"";
    let world = World::new(Plan { codex, agent, ..Plan::default() });
    let file = world.path("servers.yaml");
    fs::write(&file, "mcp_servers: {}\n").unwrap();
    let migrated = world.run(&["migrate", "--write", "--from", file.to_str().unwrap()]);
    let config = fs::read_to_string(world.path("home/config.toml")).unwrap();
    assert!(config.contains("ostler-tools"), "{migrated:?}");

    let found = world.ask("hello", &ON_CODEX);

    assert_eq!(found["final_response"], "Hello.", "{found}");
    let told = told_of(&world);
    assert!(told.iter().any(|name| name == "memory"), "{told:?}");
    assert!(!told.iter().any(|name| name.contains("ostler")), "{told:?}");
}

/// A place that takes requests and never answers; tells of each.
fn silent() -> (u16, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = [0; 1024];
            if matches!(stream.read(&mut head), Ok(1..)) && tell.send(()).is_err() {
                return;
            }
            held.push(stream);
        }
    });
    (port, told)
}

/// A chat in the middle of a call.
struct Stuck {
    world: World,
    chat: Child,
    visits: Receiver<()>,
}

fn stuck(version: &'static str) -> Stuck {
    let (port, visits) = silent();
    let page = json!({ "urls": [format!("http://localhost:{port}/")] });
    let codex = vec![
        conversation("and then", vec![text("Then this.")]),
        conversation("look", vec![call("web_extract", page), text("Went on.")]),
    ];
    let agent = format!(
        "codex_tools = \"dynamic\"\nreview = false\n\n[web]\nallowed_hosts = [\"localhost:{port}\"]\ntimeout = \"5m\"\n"
    );
    let world = World::new(Plan { version, codex, agent: agent.leak(), ..Plan::default() });
    let arguments = [&["chat", "-q", "look", "--json"][..], &ON_CODEX].concat();
    let mut command = world.command(&arguments);
    let chat = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    visits.recv_timeout(PATIENCE).unwrap();
    Stuck { world, chat, visits }
}

#[rstest]
fn the_model_is_told_when_the_chat_is_gone(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let Stuck { world, mut chat, visits } = stuck(version);
    chat.kill().unwrap();
    chat.wait().unwrap();
    world.wait_for_codex(2);

    let output = outputs(&world).pop().unwrap();
    assert!(output.contains("the chat that ran the tool is gone"), "{output}");
    let next = world.ask("and then", &["--resume", "last"]);
    assert_eq!(next["final_response"], "Then this.", "{next}");
    let kept: Vec<String> = world.kept().into_iter().map(|it| it.body).collect();
    assert_eq!(kept.iter().filter(|it| it.contains("Went on.")).count(), 1, "{kept:?}");
    assert!(visits.try_recv().is_err(), "it was run once");
}

/// Whether the tool did its work is not known to the daemon that comes, so nobody runs it again.
#[rstest]
fn a_call_is_not_run_again_after_the_daemon_was_replaced(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let Stuck { world, chat, visits } = stuck(version);
    let restarted = world.run(&["daemon", "restart"]);
    assert!(restarted.status.success(), "{restarted:?}");

    let found = outcome(&chat.wait_with_output().unwrap());

    assert_eq!(found["final_response"], "Went on.", "{found}");
    let output = outputs(&world).pop().unwrap();
    assert!(output.contains("it is not known whether"), "{output}");
    assert!(visits.try_recv().is_err(), "it was run once");
}

#[test]
fn a_stop_ends_the_call_and_the_next_turn_works() {
    let Stuck { world, chat, .. } = stuck("0.166.0");
    let pid = Pid::from_raw(i32::try_from(chat.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();

    let output = chat.wait_with_output().unwrap();

    let found = outcome(&output);
    assert_eq!((output.status.code(), &found["interrupted"]), (Some(7), &json!(true)), "{found}");
    let next = world.ask("and then", &["--resume", "last"]);
    assert_eq!(next["final_response"], "Then this.", "{next}");
}
