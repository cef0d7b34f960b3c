//! Control groups, real ones.

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
