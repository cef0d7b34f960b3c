//! A Codex home names programs, so it is one that the operator has named: on every door.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use ostler_scripted_model::Conversation;
use rstest::rstest;
use serde_json::{Value, json};

use crate::world::World;
use crate::{ASKS, PROMPT, command, text};

/// With a second home, whose own MCP server leaves a file.
fn world(version: &str, home: &str) -> World {
    let asks = vec![command("sh -c 'echo ran >> ran.log'"), text("Done.")];
    let talk = Conversation { prompt: PROMPT.to_owned(), answers: asks };
    let world = World::with(version, vec![talk], "");
    fs::create_dir_all(world.path(home)).unwrap();
    let usual = fs::read_to_string(world.path("home/config.toml")).unwrap();
    let server = format!(
        "[mcp_servers.canary]\ncommand = \"sh\"\nargs = [\"-c\", \"touch {}; cat\"]\n",
        world.path("ran").display()
    );
    fs::write(world.path(home).join("config.toml"), usual + &server).unwrap();
    world
}

fn over_http(world: &World, body: &Value) -> String {
    let mut daemon = UnixStream::connect(world.path("o/run/daemon.sock")).unwrap();
    let body = body.to_string();
    write!(
        daemon,
        "POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut said = String::new();
    daemon.read_to_string(&mut said).unwrap();
    said
}

fn over_mcp(world: &World, arguments: &Value) -> String {
    let mut command = world.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "codex_start", "arguments": arguments } }),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    let answer = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("\"id\":2")));
    drop(stdin);
    child.wait().unwrap();
    answer.unwrap().unwrap()
}

#[rstest]
fn a_home_that_the_operator_has_not_named_is_refused_on_every_door(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let world = world(version, "other");
    let home = world.path("other").canonicalize().unwrap().display().to_string();
    let leave = format!("`homes = [{home:?}]` in [codex]");
    let refused = || {
        let typed = world.run(&["start", PROMPT, "--wait", "--codex-home", &home]);
        assert_eq!(typed.exit, 2, "{} {}", typed.out, typed.errors);
        assert!(typed.errors.contains(&leave), "{}", typed.errors);
        let cwd = world.path("inn").display().to_string();
        let asked = |home: &str| json!({ "prompt": PROMPT, "cwd": cwd, "sandbox": "read-only", "approval": "untrusted", "codex_home": home });
        let said = over_http(&world, &asked(&home));
        let plain = said.replace("\\\"", "\"");
        assert!(said.starts_with("HTTP/1.1 4") && plain.contains(&leave), "{said}");
        let said = over_http(&world, &asked("other"));
        assert!(said.starts_with("HTTP/1.1 4") && said.contains("is not absolute"), "{said}");
        let said = over_mcp(&world, &json!({ "prompt": PROMPT, "cwd": cwd, "codex_home": home }));
        assert!(said.contains("in [codex]"), "{said}");
        assert_eq!(world.json(&["ls", "--all"])["tasks"], json!([]));
        assert!(!world.path("ran").exists(), "its program has run");
    };
    refused();
    world.name_home("other");
    drop(world.run(&["daemon", "stop", "--now"]));
    let taken = world.run(&["start", "x", "--wait", "--codex-home", &home]);
    assert_eq!(taken.exit, 0, "{} {}", taken.out, taken.errors);
    assert!(world.path("ran").exists(), "a home that is named is used whole");
}

#[test]
fn no_home_is_where_a_task_may_write() {
    let world = world("0.166.0", "inn/other");
    world.name_home("inn/other");
    let home = world.path("inn/other").display().to_string();
    let start = |options: &[&str]| world.run(&[&["start", "x", "--wait"], options].concat());

    let own = start(&["--sandbox", "workspace-write", "--codex-home", &home]);
    assert_eq!(own.exit, 2, "{} {}", own.out, own.errors);
    assert!(own.errors.contains("where a task may write"), "{}", own.errors);
    let holds = start(&["--sandbox", "workspace-write"]);
    assert_eq!(holds.exit, 2, "{} {}", holds.out, holds.errors);
    assert!(holds.errors.contains("in which no task may write"), "{}", holds.errors);
    assert!(!world.path("ran").exists());

    let named = fs::read_to_string(world.path("o/config/config.toml")).unwrap();
    fs::write(world.path("o/config/config.toml"), named.replace("inn/other", "barn")).unwrap();
    drop(world.run(&["daemon", "stop", "--now"]));
    fs::rename(world.path("inn/other"), world.path("barn")).unwrap();
    let wide = world.path("barn").display().to_string();
    let beside = world.run(&[&["start", PROMPT, "--wait", "--add-dir", &wide], &ASKS[..]].concat());
    assert_eq!(beside.exit, 2, "{} {}", beside.out, beside.errors);
    let taken = start(&["--codex-home", &wide]);
    assert_eq!(taken.exit, 0, "{} {}", taken.out, taken.errors);
}
