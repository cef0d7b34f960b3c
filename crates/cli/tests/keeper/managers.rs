//! The user's service manager: a real one, and ones that fail in their own ways.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{
    MANAGER_PATIENCE, NEWEST, Started, World, is_alive, json_of, mentions, pids, wait_until,
    wait_within,
};

/// Starts a user's service manager, then a keeper from inside a service-like group, and ends that group.
const WITH_MANAGER: &str = r#"
set -e
mount -t tmpfs none /run/systemd
mkdir -p /run/systemd/system
mount -t cgroup2 none /sys/fs/cgroup
base=/sys/fs/cgroup/ostler-test-$$
mkdir $base $base/manager $base/service
(echo 0 > $base/manager/cgroup.procs; exec systemd --user >manager.log 2>&1) &
manager=$!
end() {
    kill $manager; wait $manager || true
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        find $base -depth -type d -exec rmdir {} + 2>/dev/null && break
        sleep 0.2
    done
}
trap end EXIT
while ! systemctl --user is-active --quiet basic.target 2>/dev/null; do kill -0 $manager; sleep 0.05; done
(echo 0 > $base/service/cgroup.procs; exec "$@" --json > started.json)
echo 1 > $base/service/cgroup.kill
while ! [ -e go-on ]; do sleep 0.05; done
"#;

#[test]
#[ignore = "needs root, unshare and systemd with its user manager"]
fn a_keeper_started_by_a_service_is_not_in_the_service_s_group() {
    let world = World::new();
    fs::create_dir(world.path("runtime")).unwrap();
    let mut shell = world
        .command("unshare")
        .args(["--mount", "sh", "-c", WITH_MANAGER, "sh"])
        .arg(env!("CARGO_BIN_EXE_ostler"))
        .args(world.start_arguments(NEWEST))
        .env("XDG_RUNTIME_DIR", world.path("runtime"))
        .current_dir(world.path(""))
        .spawn()
        .unwrap();
    let mut started = None;
    wait_within(MANAGER_PATIENCE, "the keeper has started", || {
        assert_eq!(shell.try_wait().unwrap(), None, "the shell has failed");
        let text = fs::read_to_string(world.path("started.json")).unwrap_or_default();
        started = serde_json::from_str(&text).ok();
        started.is_some()
    });
    let keeper = Started::from(&started.unwrap());
    let unit = format!("ostler-keeper-{}.scope", keeper.id);
    let group = fs::read_to_string(format!("/proc/{}/cgroup", keeper.keeper)).unwrap();
    let alive = [keeper.keeper, keeper.codex].map(is_alive);
    // Codex listens before it minds signals; once it has answered, it does both.
    world.in_codex(&keeper, "true");
    let report = world.json(&["keeper", "stop", "--now", &keeper.id]);
    fs::write(world.path("go-on"), "").unwrap();
    let ended = shell.wait().unwrap();
    assert_eq!(keeper.record["scope"], unit, "{}", keeper.record);
    assert_eq!(keeper.record["notes"], serde_json::json!([]));
    assert!(group.contains(&unit), "{group}");
    assert_eq!(alive, [true; 2]);
    assert_eq!(report["exit"], serde_json::json!({"code": 0}));
    assert!(ended.success());
}

/// A manager that is there but does not work must not keep Codex from working.
#[test]
fn without_a_working_service_manager_the_keeper_starts_the_plain_way() {
    let world = World::new();
    let (_manager, mut start) =
        start_with_manager(&world, "echo 'Failed to connect to bus' >&2\nexit 1");
    let keeper = Started::from(&json_of(&start.output().unwrap()));
    assert_eq!(keeper.record["scope"], Value::Null);
    let expected = format!(
        "not started as ostler-keeper-{}.scope: its first stage ended with exit status: 1 Failed to connect to bus",
        keeper.id
    );
    assert_eq!(keeper.record["notes"][0], expected);
}

/// The keeper is up and only the answer is lost: a second one on the same folder would end both.
#[test]
fn a_keeper_whose_start_seems_to_fail_is_not_started_twice() {
    // The first fails at once, the second only when its time is over.
    for end in ["exit 1", "exec sleep 1000"] {
        let world = World::new();
        let command = "while [ \"$1\" != -- ]; do shift; done; shift; \"$@\" >/dev/null";
        let (_manager, mut start) = start_with_manager(&world, &format!("{command}\n{end}"));
        let keeper = Started::from(&json_of(&start.output().unwrap()));
        let unit = format!("ostler-keeper-{}.scope", keeper.id);
        assert_eq!(keeper.record["scope"], json!(unit), "{end}");
        assert_eq!(world.listed()["state"], "running", "{end}");
        let words = fs::read_to_string(world.root().join(&keeper.id).join("keeper.log")).unwrap();
        assert!(!words.contains("another keeper"), "{end}: {words}");
        assert_eq!(world.in_codex(&keeper, "echo alive"), "alive\n", "{end}");
    }
}

#[test]
fn what_was_stopped_while_it_started_is_not_started_again() {
    let world = World::new();
    let (_manager, mut start) = start_with_manager(&world, "exec sleep 1000");
    let start = start.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let needle = world.path("").to_str().unwrap().trim_end_matches('/').as_bytes().to_vec();
    let sleeps = |pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name == "sleep\n" && mentions(pid, &needle)
    };
    wait_until("the manager hangs", || pids().into_iter().any(sleeps));
    let listed = world.listed();
    assert_eq!(listed["state"], "starting");
    world.json(&["keeper", "stop", listed["id"].as_str().unwrap()]);

    let output = start.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let expected = "error: the keeper did not come up: it was asked to end while it started\n";
    assert_eq!((output.status.code(), errors.as_str()), (Some(1), expected));
    assert_eq!(fs::read_dir(world.root()).unwrap().count(), 0);
    wait_until("no process is left", || !pids().into_iter().any(|pid| mentions(pid, &needle)));
}

/// `keeper start` in a world whose `systemd-run` is this script. The manager's socket is there while the listener is.
fn start_with_manager(world: &World, script: &str) -> (UnixListener, Command) {
    fs::create_dir_all(world.path("runtime/systemd")).unwrap();
    let listener = UnixListener::bind(world.path("runtime/systemd/private")).unwrap();
    fs::create_dir(world.path("bin")).unwrap();
    let program = world.path("bin/systemd-run");
    ostler_testkit::write_script(&program, &format!("#!/bin/sh\n{script}\n"), 0o755).unwrap();
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    command.args(world.start_arguments(NEWEST)).arg("--json");
    command.env("PATH", path).env("XDG_RUNTIME_DIR", world.path("runtime"));
    command.env("OSTLER_HOME", world.path(""));
    (listener, command)
}
