//! Starting, ending, dying and replacing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::world::{NEWEST, World, is_alive, json_of, kill, mentions, pids, wait_until};

const OSTLER: &str = env!("CARGO_BIN_EXE_ostler");

fn pid(value: &Value) -> i32 {
    i32::try_from(value["pid"].as_i64().unwrap()).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn error_of(output: &Output) -> (Option<i32>, Value) {
    let text = String::from_utf8_lossy(&output.stdout);
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code(), value["error"].clone())
}

/// The processes of this world that are daemons.
fn daemons(world: &World) -> Vec<i32> {
    let home = world.path("");
    let needle = home.to_str().unwrap().trim_end_matches('/').as_bytes();
    let is_daemon = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.windows(7).any(|window| window == b"\0serve\0") && mentions(*pid, needle)
    };
    pids().into_iter().filter(is_daemon).collect()
}

#[test]
fn a_daemon_is_started_once_shown_and_ended() {
    let world = World::new();
    let output = world.ostler(&["daemon", "status", "--json"]);
    assert_eq!(output.status.code(), Some(6));
    assert_eq!(output.stdout, b"{\"running\":false}\n");
    let socket = world.path("run/daemon.sock");
    let log = world.path("state/logs/daemon.log");
    let started = world.json(&["daemon", "start"]);
    let daemon = pid(&started);
    let version = env!("CARGO_PKG_VERSION");
    let expected = |did: &str| json!({ "did": did, "pid": daemon, "version": version, "epoch": 1, "socket": socket, "log": log });
    assert_eq!(started, expected("started"));
    assert_eq!(world.json(&["daemon", "start"]), expected("runs already"));
    assert_eq!((mode(&socket), mode(&log)), (0o600, 0o600));
    assert_eq!((mode(&world.path("run")), mode(&world.path("state"))), (0o700, 0o700));
    // A session of its own: the end of a terminal does not reach it.
    let stat = fs::read_to_string(format!("/proc/{daemon}/stat")).unwrap();
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
    assert_eq!(session, daemon.to_string());
    let mut status = world.json(&["daemon", "status"]);
    let started_at = status["started_at"].take();
    assert!(started_at.is_string());
    let expected = json!({
        "running": true, "answers": true, "pid": daemon, "version": version, "started_at": null,
        "epoch": 1, "is_service": false,
            "listens": null, "socket": socket, "log": log,
    });
    assert_eq!(status, expected);
    assert_eq!(world.json(&["daemon", "stop"]), json!({ "ended": daemon }));
    assert!(!is_alive(daemon) && !socket.exists());
    assert_eq!(world.json(&["daemon", "stop"]), json!({ "ended": null }));
}

#[test]
fn many_starts_at_once_leave_one_daemon_and_all_find_it() {
    for _ in 0..3 {
        let world = World::new();
        let starts: Vec<Child> = (0..8)
            .map(|_| {
                let mut command = world.command(OSTLER);
                command.args(["daemon", "start", "--json"]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let found =
            starts.into_iter().map(|start| pid(&json_of(&start.wait_with_output().unwrap())));
        let found: Vec<i32> = found.collect();
        assert_eq!(found, vec![found[0]; 8]);
        // Those that lost are gone or about to go.
        wait_until("one daemon is left", || daemons(&world) == [found[0]]);
        assert_eq!(world.json(&["daemon", "status"])["epoch"], 1);
        let log = fs::read_to_string(world.path("state/logs/daemon.log")).unwrap();
        assert!(!log.contains("ERROR"), "{log}");
    }
}

#[test]
fn a_killed_daemon_is_replaced_although_its_socket_is_still_there() {
    let world = World::new();
    let first = pid(&world.json(&["daemon", "start"]));
    kill(first, Signal::KILL);
    wait_until("it is dead", || !is_alive(first));
    let socket = world.path("run/daemon.sock");
    assert!(socket.exists());
    assert_eq!(world.ostler(&["daemon", "status"]).status.code(), Some(6));
    let second = world.json(&["daemon", "start"]);
    assert_ne!(pid(&second), first);
    assert_eq!(second["epoch"], 2);
}

/// Commands that come in the middle wait for the new one, and no keeper notices.
#[test]
fn a_restart_is_a_new_process_and_nobody_is_turned_away() {
    let world = World::new();
    let keeper = world.start(NEWEST);
    let first = pid(&world.json(&["daemon", "start"]));
    let mut restart = world.command(OSTLER);
    let restart = restart.args(["daemon", "restart", "--json"]).stdout(Stdio::piped());
    let mut restart = restart.stderr(Stdio::piped()).spawn().unwrap();
    let mut pings = 0;
    while restart.try_wait().unwrap().is_none() {
        let output = world.ostler(&["daemon", "ping", "--no-start", "--json"]);
        // Only a connection that was open already may break off.
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || said.contains("broke off"), "{output:?}");
        pings += 1;
    }
    assert!(pings > 0);
    let second = json_of(&restart.wait_with_output().unwrap());
    assert_ne!(pid(&second), first);
    assert_eq!((&second["did"], &second["epoch"]), (&json!("started"), &json!(2)));
    assert_eq!([keeper.keeper, keeper.codex].map(is_alive), [true; 2]);
    assert_eq!(world.in_codex(&keeper, "echo alive"), "alive\n");
}

#[test]
fn a_restart_without_a_daemon_is_a_start() {
    let world = World::new();
    assert_eq!(world.json(&["daemon", "restart"])["epoch"], 1);
}

#[test]
fn a_restart_that_cannot_succeed_leaves_the_daemon_alone() {
    let world = World::new();
    let daemon = pid(&world.json(&["daemon", "start"]));
    let mut command = world.command(OSTLER);
    command.args(["daemon", "restart", "--json"]).env("OSTLER_KEEPER", "0123abcd");
    let (code, error) = error_of(&command.output().unwrap());
    let message = "an agent may not replace the daemon: this process runs below keeper 0123abcd";
    assert_eq!((code, &error["message"]), (Some(2), &json!(message)));
    fs::set_permissions(world.path("run"), fs::Permissions::from_mode(0o750)).unwrap();
    let (code, error) = error_of(&world.ostler(&["daemon", "restart", "--json"]));
    let message = format!("{} can be entered by other users", world.path("run").display());
    assert_eq!((code, &error["message"]), (Some(1), &json!(message)));
    assert_eq!(world.json(&["daemon", "ping"])["pid"], daemon);
    assert_eq!(daemons(&world), [daemon]);
}

#[test]
fn a_daemon_that_hangs_is_ended_all_the_same() {
    let world = World::new();
    let daemon = pid(&world.json(&["daemon", "start"]));
    kill(daemon, Signal::STOP);
    let ended = world.json(&["daemon", "stop", "--now"]);
    assert_eq!(ended, json!({ "ended": daemon }));
    assert!(!is_alive(daemon));
}

#[test]
fn a_daemon_whose_socket_was_removed_is_replaced() {
    let world = World::new();
    let first = pid(&world.json(&["daemon", "start"]));
    fs::remove_file(world.path("run/daemon.sock")).unwrap();
    let second = pid(&world.json(&["daemon", "restart"]));
    assert_ne!(first, second);
    assert!(!is_alive(first));
    assert_eq!(world.json(&["daemon", "ping"])["pid"], second);
}

#[test]
fn a_start_that_fails_says_what_the_daemon_said() {
    let world = World::new();
    world.json(&["daemon", "start"]);
    world.json(&["daemon", "stop"]);
    fs::write(world.path("run/daemon.sock"), "").unwrap();
    let since = Instant::now();
    let (code, error) = error_of(&world.ostler(&["daemon", "start", "--json"]));
    assert_eq!(code, Some(1));
    assert_eq!(error["message"], "the daemon ended right after its start");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("is in the way: it is no socket of ours; move it away"), "{hint}");
    assert!(!hint.contains("listens on"), "words of an earlier daemon: {hint}");
    assert!(since.elapsed() < Duration::from_secs(20), "it waited for a daemon that cannot come");
}

#[test]
fn commands_start_the_daemon_unless_they_are_told_not_to() {
    let world = World::new();
    let (code, error) = error_of(&world.ostler(&["daemon", "ping", "--no-start", "--json"]));
    assert_eq!((code, &error["hint"]), (Some(6), &json!("start it with `ostler daemon start`")));
    let mut command = world.command(OSTLER);
    command.args(["daemon", "ping", "--json"]).env("OSTLER_NO_DAEMON_START", "1");
    assert_eq!(error_of(&command.output().unwrap()).0, Some(6));
    assert!(!world.path("state/daemon.lock").exists());
    assert_eq!(world.json(&["daemon", "ping"])["epoch"], 1);
}
