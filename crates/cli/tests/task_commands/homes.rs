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

/// In a Codex home and in our folders stands what runs outside of the sandbox, and what is trusted.
#[rstest]
fn no_task_writes_in_the_usual_home_or_in_folders_of_ours(
    #[values("0.142.5", "0.166.0")] version: &str,
    #[values("settings", "environment")] named_by: &str,
) {
    let world = world(version, "other");
    if named_by == "environment" {
        let file = world.path("o/config/config.toml");
        let config = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = config.lines().filter(|line| !line.starts_with("home =")).collect();
        fs::write(&file, lines.join("\n")).unwrap();
    }
    let home = world.path("home");
    let run = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        let ran = command.env("CODEX_HOME", &home).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    assert_eq!(run(&["daemon", "start"]).0, Some(0));
    fs::create_dir_all(world.path("home/rules")).unwrap();
    fs::create_dir_all(world.path("o/state/worktrees/t")).unwrap();
    let refused = "in which no task may write";
    for folder in
        ["home", "home/rules", "o", "o/config", "o/state", "o/state/worktrees", "o/run", ""]
    {
        let cwd = world.path(folder).canonicalize().unwrap().display().to_string();
        for command in [
            &["start", "x", "--wait", "--sandbox", "workspace-write", "--cd", &cwd][..],
            &["start", "x", "--wait", "--sandbox", "workspace-write", "--add-dir", &cwd],
            &["run", "x", "--sandbox", "workspace-write", "--cd", &cwd],
        ] {
            let (exit, errors) = run(command);
            assert_eq!(exit, Some(2), "{command:?}: {errors}");
            assert!(errors.contains(refused) && errors.contains(&cwd), "{command:?}: {errors}");
        }
        let asked = json!({ "prompt": PROMPT, "cwd": cwd, "sandbox": "workspace-write", "approval": "untrusted" });
        let said = over_http(&world, &asked);
        assert!(said.starts_with("HTTP/1.1 4") && said.contains(refused), "{cwd}: {said}");
        let said = over_mcp(
            &world,
            &json!({ "prompt": PROMPT, "cwd": cwd, "sandbox": "workspace-write" }),
        );
        assert!(said.contains(refused), "{cwd}: {said}");
    }
    assert_eq!(world.json(&["ls", "--all"])["tasks"], json!([]));
    for (folder, sandbox) in
        [("", "read-only"), ("inn", "workspace-write"), ("o/state/worktrees/t", "workspace-write")]
    {
        let cwd = world.path(folder).display().to_string();
        let (exit, errors) = run(&["start", "x", "--wait", "--sandbox", sandbox, "--cd", &cwd]);
        assert_eq!(exit, Some(0), "{folder}: {errors}");
    }
}

/// What is checked when a task is started can be another folder when its next turn begins.
#[test]
fn a_link_that_leads_into_a_home_later_ends_the_task() {
    let world = world("0.166.0", "other");
    fs::create_dir(world.path("inn/stall")).unwrap();
    let cwd = world.path("inn/stall").display().to_string();
    let started =
        world.run(&["start", "x", "--wait", "--sandbox", "workspace-write", "--cd", &cwd]);
    assert_eq!(started.exit, 0, "{} {}", started.out, started.errors);
    let task = started.out.lines().next().unwrap().to_owned();
    fs::remove_dir(world.path("inn/stall")).unwrap();
    std::os::unix::fs::symlink(world.path("home"), world.path("inn/stall")).unwrap();
    let sent = world.run(&["send", &task, "more", "--wait"]);
    assert_ne!(sent.exit, 0, "{} {}", sent.out, sent.errors);
    let log = format!("{:?}", world.log(&task));
    assert!(log.contains("in which no task may write"), "{log}");
}
