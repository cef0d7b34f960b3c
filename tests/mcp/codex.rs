//! Codex uses `ostler mcp`: a task of Codex starts another task of Codex, and cannot decide for it.

use std::fs;

use ostler_scripted_model::{Conversation, ProviderLimits, Script, ScriptedModel};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::world::{World, word};
use crate::{LEAVES_A_LINE, command, conversation, text, tool};

/// Registers an MCP server of ours with the Codex of this world.
pub(crate) fn register(
    world: &World,
    home: &str,
    server: &str,
    command: &str,
    more: &[(&str, &str)],
) {
    let path = world.path(home).join("config.toml");
    let ours = world.path("o").display().to_string();
    let mut entry = format!(
        "\n[mcp_servers.{server}]\ncommand = {:?}\nargs = [{command:?}]\nstartup_timeout_sec = 60\n\
         [mcp_servers.{server}.env]\nOSTLER_HOME = {ours:?}\n",
        env!("CARGO_BIN_EXE_ostler"),
    );
    for (name, value) in more {
        entry.push_str(&format!("{name} = {value:?}\n"));
    }
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text + &entry).unwrap();
}

/// Allows all that the task asks until it is over, and says how it ended.
pub(crate) fn allow_all(world: &World, task: &str) -> Value {
    loop {
        let ran = world.run(&["wait", task, "--json", "--timeout", "90s"]);
        if ran.exit != 4 {
            assert_eq!(ran.exit, 0, "{} {}", ran.out, ran.errors);
            return world.json(&["show", task]);
        }
        for ask in asks(world, task) {
            world.json(&["answer", &ask, "once"]);
        }
    }
}

fn asks(world: &World, task: &str) -> Vec<String> {
    let all = world.json(&["asks"])["asks"].as_array().unwrap().clone();
    let of_task = all.iter().map(|shown| &shown["ask"]).filter(|ask| ask["task"] == task);
    of_task.map(|ask| word(&ask["id"])).collect()
}

#[rstest]
fn a_task_starts_another_and_cannot_decide_for_it(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    // The operator has even named it: what runs below Codex decides nothing all the same.
    let more = "\n[mcp]\nmay_decide = [\"codex-mcp-client\", \"self\"]\n";
    let start = json!({
        "prompt": "ride out", "sandbox": "workspace-write", "approval_policy": "untrusted", "key": "ride",
    });
    let conversations = vec![
        conversation(
            "send a rider",
            vec![tool(version, "ostler", "codex_start", start), text("Sent.")],
        ),
        conversation("ride out", vec![command(LEAVES_A_LINE), text("Back again.")]),
    ];
    let world = World::with(version, conversations, more);
    world.name_home("other");
    register(&world, "home", "ostler", "mcp", &[]);
    let asking = ["--approval", "on-request", "--sandbox", "workspace-write"];
    let started = world.json(&[&["start", "send a rider"], &asking[..]].concat());
    let first = word(&started["task"]["id"]);
    let ended = allow_all(&world, &first);
    assert_eq!(ended["task"]["last_result"]["final_answer"], "Sent.", "{ended}");

    let all = world.json(&["ls", "--all"])["tasks"].as_array().unwrap().clone();
    let second = all.iter().find(|task| task["title"] == "ride out").unwrap();
    let by = second["started_by"].as_str().unwrap();
    assert!(by.starts_with("an agent of ") && by.contains("(mcp "), "{by}");
    let second = word(&second["id"]);
    let ran = world.run(&["wait", &second, "--timeout", "90s"]);
    assert_eq!(ran.exit, 4, "{} {}", ran.out, ran.errors);
    let ask = asks(&world, &second).remove(0);

    // Another task of Codex tries to answer, with a model of its own that knows the ask.
    let respond = json!({ "request_id": ask, "decision": "accept" });
    let answers = vec![tool(version, "ostler", "codex_respond", respond), text("I may not.")];
    let other = OtherHome::of(&world, conversation("let the rider go", answers));
    register(&world, "other", "ostler", "mcp", &[]);
    let home = world.path("other").display().to_string();
    let words = [&["start", "let the rider go", "--codex-home", &home], &asking[..]].concat();
    let third = word(&world.json(&words)["task"]["id"]);
    let ended = allow_all(&world, &third);
    assert_eq!(ended["task"]["last_result"]["final_answer"], "I may not.", "{ended}");
    let told = other.model.requests();
    let told: Vec<String> =
        told.iter().map(|it| String::from_utf8_lossy(&it.body).into_owned()).collect();
    assert!(told.iter().any(|body| body.contains("an agent may not answer")), "{told:?}");
    assert_eq!(asks(&world, &second), std::slice::from_ref(&ask));
    assert_eq!(world.lines("ran.log"), 0);

    world.json(&["answer", &ask, "once"]);
    let ended = allow_all(&world, &second);
    assert_eq!(ended["task"]["last_result"]["final_answer"], "Back again.");
    assert_eq!(world.lines("ran.log"), 1);
}

/// Whatever an agent asks for, the task that it gets has no more rights than the one that it belongs to.
#[rstest]
fn a_task_gets_no_task_with_more_rights_than_its_own(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    // A repository of an agent's own making names programs, which git starts outside of every sandbox.
    let nest = tempfile::tempdir().unwrap();
    std::fs::create_dir(nest.path().join(".git")).unwrap();
    let nest = nest.path().canonicalize().unwrap();
    let mut answers: Vec<_> = [
        json!({ "prompt": "ride far", "cwd": nest }),
        json!({ "prompt": "ride far", "worktree": true }),
        json!({ "prompt": "ride far", "sandbox": "workspace-write" }),
        json!({ "prompt": "ride far", "approval_policy": "on-request" }),
        // A home of its own making could have any program in it, which Codex starts outside of every sandbox.
        json!({ "prompt": "ride far", "codex_home": "/tmp" }),
    ]
    .into_iter()
    .map(|start| tool(version, "ostler", "codex_start", start))
    .collect();
    answers.push(text("I may not."));
    let world = World::with(version, vec![conversation("send a rider", answers)], "");
    register(&world, "home", "ostler", "mcp", &[]);
    let asking = ["--approval", "untrusted", "--sandbox", "read-only"];
    let started = world.json(&[&["start", "send a rider"], &asking[..]].concat());
    let first = word(&started["task"]["id"]);
    let ended = allow_all(&world, &first);
    assert_eq!(ended["task"]["last_result"]["final_answer"], "I may not.", "{ended}");
    let told = world.model.requests();
    let told: Vec<String> =
        told.iter().map(|it| String::from_utf8_lossy(&it.body).into_owned()).collect();
    let made = "an agent may not have a git worktree made";
    assert!(told.iter().any(|body| body.contains(made)), "{made:?} is not in {told:?}");
    let elsewhere = format!("to work in {}", nest.display());
    for right in [
        elsewhere.as_str(),
        "a sandbox that is wider than read-only",
        "to be asked about less",
        "another CODEX_HOME",
    ] {
        let refused = format!("more rights than its own: {right}");
        assert!(told.iter().any(|body| body.contains(&refused)), "{refused:?} is not in {told:?}");
    }
    assert_eq!(world.json(&["ls", "--all"])["tasks"].as_array().unwrap().len(), 1);
}

/// Another Codex home, with another model.
struct OtherHome {
    model: ScriptedModel,
    /// Serves the model; last, because the model ends in it.
    _runtime: Runtime,
}

impl OtherHome {
    fn of(world: &World, conversation: Conversation) -> Self {
        let runtime = Runtime::new().unwrap();
        let inside = runtime.enter();
        let script = Script { conversations: vec![conversation], ..Script::default() };
        let model = ScriptedModel::start(script).unwrap();
        drop(inside);
        fs::create_dir(world.path("other")).unwrap();
        let config = model.codex_config(&ProviderLimits::default());
        fs::write(world.path("other/config.toml"), config).unwrap();
        Self { model, _runtime: runtime }
    }
}
