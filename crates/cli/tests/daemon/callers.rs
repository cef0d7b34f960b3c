//! Who calls: persons, and agents in every disguise.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::world::{NEWEST, World, is_alive, json_of, kill, wait_until};

const OSTLER: &str = env!("CARGO_BIN_EXE_ostler");

fn standing(ping: &Value) -> Value {
    ping["caller"]["standing"].clone()
}

#[test]
fn what_runs_below_a_keeper_is_an_agent_whatever_it_does() {
    let world = World::new();
    world.json(&["daemon", "start"]);
    let keeper = world.start(NEWEST);
    let home = world.path("");
    let home = home.to_str().unwrap();
    let agent = json!({ "is": "agent", "why": format!("runs below keeper {}", keeper.id) });
    assert_eq!(standing(&world.json(&["daemon", "ping"])), json!({ "is": "person" }));
    let disguises = [
        format!("{OSTLER} daemon ping --json"),
        format!("env -i OSTLER_HOME={home} {OSTLER} daemon ping --json"),
        format!("setsid env -i OSTLER_HOME={home} {OSTLER} daemon ping --json"),
        // Its parent has ended when it asks, so it is the keeper's child.
        format!(
            "cd {home}; (env -i OSTLER_HOME={home} PATH=\"$PATH\" setsid sh -c \
             'while [ -e waits ]; do sleep 0.02; done; {OSTLER} daemon ping --json > said.new; mv said.new said' \
             </dev/null >/dev/null 2>&1 & echo > waits); rm -f waits; while ! [ -e said ]; do sleep 0.02; done; cat said"
        ),
    ];
    for disguise in disguises {
        let said: Value = serde_json::from_str(&world.in_codex(&keeper, &disguise)).unwrap();
        assert_eq!(standing(&said), agent, "{disguise}");
    }
    let refused = world.in_codex(&keeper, &format!("{OSTLER} daemon stop --json || true"));
    let refused: Value = serde_json::from_str(&refused).unwrap();
    let message = refused["error"]["message"].as_str().unwrap();
    let start = "the daemon refuses: an agent may not do this: process ";
    let end = format!(" runs below keeper {}", keeper.id);
    assert!(message.starts_with(start) && message.ends_with(&end), "{message}");
    assert_eq!(world.json(&["daemon", "status"])["running"], true);
    world.json(&["daemon", "stop"]);
    for command in ["daemon start", "daemon ping", "serve"] {
        let refused = format!("{OSTLER} {command} --json 2>/dev/null || true");
        let refused: Value = serde_json::from_str(&world.in_codex(&keeper, &refused)).unwrap();
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("an agent may not "), "{command}: {message}");
        assert_eq!(refused["error"]["exit"], 2, "{command}");
    }
}

#[test]
fn codex_s_own_marks_make_an_agent() {
    let world = World::new();
    world.json(&["daemon", "start"]);
    for mark in ["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"] {
        let mut command = world.command(OSTLER);
        command.args(["daemon", "ping", "--json"]).env(mark, "1");
        let why = format!("runs below a Codex ({mark} is set)");
        let said = json_of(&command.output().unwrap());
        assert_eq!(standing(&said), json!({ "is": "agent", "why": why }));
        // The shell below which it runs is looked at, too.
        let mut command = world.command("sh");
        let script = format!("env -u {mark} {OSTLER} daemon ping --json; true");
        let said = json_of(&command.args(["-c", &script]).env(mark, "1").output().unwrap());
        assert_eq!(standing(&said), json!({ "is": "agent", "why": why }));
    }
}

#[test]
fn whoever_lives_in_another_pid_namespace_is_an_agent() {
    let world = World::new();
    world.json(&["daemon", "start"]);
    let mut command = world.command("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--pid", "--fork", "--mount-proc", OSTLER, "daemon", "ping", "--json"]);
    let said = json_of(&command.output().unwrap());
    let why = "cannot be looked at: it lives in a pid namespace of its own";
    assert_eq!(standing(&said), json!({ "is": "agent", "why": why }));
}

/// The one who connected has ended, and what it left behind speaks in its name: whose pid it is now cannot be known.
#[test]
fn whoever_has_ended_before_it_was_looked_at_is_an_agent() {
    let world = World::new();
    let daemon = world.json(&["daemon", "start"])["pid"].as_i64().unwrap();
    let daemon = i32::try_from(daemon).unwrap();
    kill(daemon, Signal::STOP);
    let script = r#"
        use IO::Socket::UNIX;
        my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
        exit if fork;
        print $socket "GET /v1/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        $socket->flush;
        print while <$socket>;
    "#;
    let mut command = world.command("perl");
    command.args(["-e", script]).arg(world.path("run/daemon.sock"));
    let mut first = command.stdout(Stdio::piped()).spawn().unwrap();
    let first_pid = i32::try_from(first.id()).unwrap();
    wait_until("the one who connected has ended", || !is_alive(first_pid));
    let mut stdout = first.stdout.take().unwrap();
    first.wait().unwrap();
    kill(daemon, Signal::CONT);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut said).unwrap();
    let (_, body) = said.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let caller = &body["caller"];
    assert_eq!(caller["standing"]["is"], "agent", "{caller}");
}
