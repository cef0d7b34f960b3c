//! Control groups and the user's service manager, both real.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::world::{NEWEST, Started, World, is_alive, json_of, kill, wait_until};

/// A mount of our own in a mount namespace of our own; it ends with its last process.
const WITH_GROUPS: &str = "mount -t cgroup2 none \"$0\" && exec \"$@\"";

/// The keeper takes a group exactly if the system offers one. Root makes the system offer one.
#[test]
fn codex_gets_a_control_group_where_the_system_offers_one() {
    let world = World::new();
    let is_root = rustix::process::geteuid().is_root();
    let arguments = world.start_arguments(NEWEST);
    let output = if is_root {
        let mount_point = world.path("groups");
        fs::create_dir(&mount_point).unwrap();
        let mut command = world.command("unshare");
        command.args(["--mount", "sh", "-c", WITH_GROUPS]).arg(mount_point);
        command.arg(env!("CARGO_BIN_EXE_ostler")).args(arguments).arg("--json").output()
    } else {
        let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
        command.args(arguments).arg("--json").output()
    };
    let keeper = Started::from(&json_of(&output.unwrap()));
    let group_of = |pid: i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        let own = text.lines().find_map(|line| line.strip_prefix("0::"));
        own.unwrap_or_default().to_owned()
    };
    let name = format!("ostler-keeper-{}", keeper.id);
    if !keeper.record["control_group"].is_string() {
        assert!(!is_root, "{}", keeper.record);
        assert_eq!(group_of(keeper.codex), group_of(keeper.keeper));
        let notes = keeper.record["notes"].to_string();
        assert!(notes.contains("no control group"), "{notes}");
        return;
    }
    let expected = Path::new(&group_of(keeper.keeper)).join(&name);
    assert_eq!(Path::new(&group_of(keeper.codex)), expected);
    let orphans = world.leave_orphans(&keeper);
    assert_eq!(orphans.map(|pid| Path::new(&group_of(pid)) == expected), [true; 2]);
    // The keeper sees the mount; from here the group is seen through the keeper's eyes.
    let recorded = keeper.record["control_group"].as_str().unwrap();
    let seen = format!("/proc/{}/root{recorded}", keeper.codex);
    assert!(Path::new(&seen).join("cgroup.kill").exists(), "{seen}");
    kill(keeper.codex, Signal::KILL);
    wait_until("the keeper has ended", || !is_alive(keeper.keeper));
    assert_eq!(orphans.map(is_alive), [false; 2]);
    let again = Command::new("unshare")
        .args(["--mount", "sh", "-c", "mount -t cgroup2 none \"$0\" && ! [ -e \"$1\" ]"])
        .args([&world.path("groups"), Path::new(recorded)])
        .status();
    assert!(!is_root || again.unwrap().success(), "{recorded} is left");
}

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
    wait_until("the keeper has started", || {
        assert_eq!(shell.try_wait().unwrap(), None, "the shell has failed");
        let text = fs::read_to_string(world.path("started.json")).unwrap_or_default();
        started = serde_json::from_str(&text).ok();
        started.is_some()
    });
    let keeper = Started::from(&started.unwrap());
    let unit = format!("ostler-keeper-{}.scope", keeper.id);
    let group = fs::read_to_string(format!("/proc/{}/cgroup", keeper.keeper)).unwrap();
    let alive = [keeper.keeper, keeper.codex].map(is_alive);
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
    fs::create_dir_all(world.path("runtime/systemd")).unwrap();
    let _deaf =
        std::os::unix::net::UnixListener::bind(world.path("runtime/systemd/private")).unwrap();
    fs::create_dir(world.path("bin")).unwrap();
    let program = world.path("bin/systemd-run");
    fs::write(&program, "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    command.args(world.start_arguments(NEWEST)).arg("--json");
    command.env("PATH", path).env("XDG_RUNTIME_DIR", world.path("runtime"));
    command.env("OSTLER_HOME", world.path(""));
    let keeper = Started::from(&json_of(&command.output().unwrap()));
    assert_eq!(keeper.record["scope"], serde_json::Value::Null);
    let expected = format!(
        "not started as ostler-keeper-{}.scope: its first stage ended with exit status: 1 Failed to connect to bus",
        keeper.id
    );
    assert_eq!(keeper.record["notes"][0], expected);
}
