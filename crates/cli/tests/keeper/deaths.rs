//! Whoever dies, Codex's tree is never lost: the starter, the keeper, Codex.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use ostler_codex::keeper::{Above, KeeperId, above};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use crate::world::{Started, VERSIONS, World, is_alive, kill, wait_until};

#[test]
fn codex_outlives_its_starter_and_stop_ends_the_whole_tree() {
    for version in VERSIONS {
        let world = World::new();
        let (keeper, mut starter) = start_from_a_shell(&world, version);
        let group = Pid::from_raw(i32::try_from(starter.id()).unwrap()).unwrap();
        kill_process_group(group, Signal::KILL).unwrap();
        starter.wait().unwrap();

        let orphans = world.leave_orphans(&keeper);
        let listed = world.listed();
        assert_eq!(listed["state"], "running", "{version}: {listed}");
        let processes = listed["processes"].as_array().unwrap();
        let mut listed: Vec<i64> =
            processes.iter().map(|process| process["identity"]["pid"].as_i64().unwrap()).collect();
        listed.sort_unstable();
        let mut expected = [keeper.codex, orphans[0], orphans[1]].map(i64::from).to_vec();
        expected.sort_unstable();
        // Codex may just be running something of its own besides.
        expected.retain(|pid| !listed.contains(pid));
        assert!(expected.is_empty(), "{version}: {expected:?} missing in {listed:?}");

        let report = world.json(&["keeper", "stop", "--now", &keeper.id[..4]]);
        let left = [keeper.keeper, keeper.codex, orphans[0], orphans[1]].map(is_alive);
        assert_eq!(left, [false; 4], "{version}");
        assert_eq!(report["id"], keeper.id);
        assert_eq!(report["exit"], json!({"code": 0}), "{version}: {report}");
        let record = world.record(&keeper.id);
        assert_eq!(record["ended"]["how"], "stopped", "{version}: {record}");
        assert_eq!(world.listed()["state"], "ended");
    }
}

#[test]
fn a_dead_keeper_is_seen_and_its_tree_is_ended() {
    for version in VERSIONS {
        let world = World::new();
        let keeper = world.start(version);
        let orphans = world.leave_orphans(&keeper);
        let id = KeeperId::parse(&keeper.id).unwrap();
        let kept = Above::Keeper(id);
        let under = |pid| above(&world.root(), pid);
        let family = [keeper.codex, orphans[0], orphans[1]];
        assert_eq!(family.map(under), vec![kept.clone(); 3].as_slice());

        kill(keeper.keeper, Signal::KILL);
        wait_until("the keeper is dead", || !is_alive(keeper.keeper));
        assert!(is_alive(keeper.codex), "{version}: codex died with its keeper");
        assert_eq!(world.listed()["state"], "keeper-dead", "{version}");
        assert_eq!([keeper.codex, orphans[0]].map(under), [kept.clone(), kept.clone()]);
        // Who cleared its environment is now known by the control group alone, where there is one.
        let has_group = keeper.record["control_group"].is_string();
        assert_eq!(under(orphans[1]) == kept, has_group, "{version}");
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(under(own), Above::Nothing);

        let report = world.json(&["keeper", "stop", "--now", &keeper.id]);
        assert_eq!([keeper.codex, orphans[0]].map(is_alive), [false; 2], "{version}");
        assert_eq!(is_alive(orphans[1]), !has_group, "{version}: {:?}", keeper.record);
        assert_eq!(report["exit"], "unknown", "{version}");
        let record = world.record(&keeper.id);
        assert_eq!(record["ended"]["how"], "without_keeper", "{version}");
        assert_eq!(world.listed()["state"], "ended", "{version}");
        assert!(!keeper.socket.is_symlink() && !keeper.socket.exists());
    }
}

#[test]
fn a_killed_codex_leaves_nothing_behind() {
    for version in VERSIONS {
        let world = World::new();
        let keeper = world.start(version);
        let orphans = world.leave_orphans(&keeper);
        let real_socket = std::fs::read_link(&keeper.socket).unwrap();
        kill(keeper.codex, Signal::KILL);
        wait_until("the keeper has ended", || !is_alive(keeper.keeper));
        assert_eq!(orphans.map(is_alive), [false; 2], "{version}");
        let record = world.record(&keeper.id);
        assert_eq!(record["state"], "ended", "{version}");
        assert_eq!(record["ended"]["exit"], json!({"signal": 9}), "{version}");
        assert_eq!(record["ended"]["how"], "by_itself", "{version}");
        let leftovers = record["ended"]["leftovers"].as_u64().unwrap();
        assert!(leftovers >= 2, "{version}: {record}");
        assert!(!real_socket.exists() && !keeper.socket.is_symlink(), "{version}");
        if let Some(group) = record["control_group"].as_str() {
            assert!(!std::path::Path::new(group).exists(), "{group} is left");
        }
        assert_eq!(world.listed()["state"], "ended", "{version}");
    }
}

/// A shell that starts a keeper and lives on, in a process group of its own.
fn start_from_a_shell(world: &World, version: &str) -> (Started, std::process::Child) {
    let mut command = world.command("sh");
    let mut shell = command
        .args(["-c", "\"$@\" --json || exit; exec sleep 1000", "sh"])
        .arg(env!("CARGO_BIN_EXE_ostler"))
        .args(world.start_arguments(version))
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(shell.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let started = Started::from(&serde_json::from_str(&line).unwrap());
    (started, shell)
}
