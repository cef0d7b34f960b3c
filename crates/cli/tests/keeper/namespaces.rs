//! A keeper seen from another pid namespace, such as a container that shares its folder.

use std::process::Output;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::world::{NEWEST, Started, VERSIONS, World, is_alive, json_of, kill, wait_until};

/// Codex's tree gets a control group, whose members have no pid in the other namespace.
const WITH_GROUPS: &str = "mount -t cgroup2 none \"$0\" && exec \"$@\"";

const ADVICE: &str = "in another pid namespace, e.g. a container; run ostler there";

#[test]
fn nothing_of_a_keeper_is_ended_or_removed_from_another_pid_namespace() {
    for version in VERSIONS {
        let world = World::new();
        let keeper = world.start(version);
        let listed = json_of(&elsewhere(&world, &["keeper", "list", "--json"]));
        let seen = &listed["keepers"][0];
        let seen = [&seen["state"], &seen["advice"], &seen["processes"]];
        assert_eq!(seen, [&json!("elsewhere"), &json!(ADVICE), &json!([])], "{version}");
        let table = String::from_utf8(elsewhere(&world, &["keeper", "list"]).stdout).unwrap();
        assert!(table.ends_with(&format!("\nelsewhere: {ADVICE}\n")), "{version}: {table}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{version}: {table}");

        let before = world.record(&keeper.id);
        for arguments in
            [&["keeper", "stop", &keeper.id][..], &["keeper", "stop", "--now", &keeper.id]]
        {
            let refused = elsewhere(&world, arguments);
            let errors = String::from_utf8(refused.stderr).unwrap();
            assert_eq!(refused.status.code(), Some(1), "{version}: {errors}");
            assert!(errors.contains("in another pid namespace"), "{version}: {errors}");
        }
        let sweep = ["keeper", "sweep", "--older-than", "0", "--json"];
        assert_eq!(json_of(&elsewhere(&world, &sweep)), json!({"removed": []}), "{version}");

        assert_eq!(world.record(&keeper.id), before, "{version}");
        assert_eq!(world.listed()["state"], "running", "{version}");
        assert_eq!(world.in_codex(&keeper, "echo alive"), "alive\n", "{version}");
    }
}

/// What its own record says may be lost; the lock of the keeper says enough.
#[test]
fn a_living_keeper_without_a_usable_record_is_safe_from_another_pid_namespace() {
    let world = World::new();
    let keeper = world.start(NEWEST);
    let path = world.root().join(&keeper.id).join("record.json");
    let mut record = keeper.record.clone();
    record.as_object_mut().unwrap().remove("pid_namespace");
    for text in [record.to_string(), "{".to_owned()] {
        std::fs::write(&path, &text).unwrap();
        let refused = elsewhere(&world, &["keeper", "stop", "--now", &keeper.id]);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let sweep = ["keeper", "sweep", "--older-than", "0", "--json"];
        assert_eq!(json_of(&elsewhere(&world, &sweep)), json!({"removed": []}));
    }
    std::fs::write(&path, keeper.record.to_string()).unwrap();
    assert_eq!(world.in_codex(&keeper, "echo alive"), "alive\n");
}

/// The kernel shows members that have no pid here as 0; no process here may be taken for one of them.
#[test]
#[ignore = "needs root, nsenter and unshare"]
fn strangers_in_another_pid_namespace_are_no_members_of_the_group() {
    let world = World::new();
    std::fs::create_dir(world.path("groups")).unwrap();
    let mut command = world.command("unshare");
    command.args(["--mount", "sh", "-c", WITH_GROUPS]).arg(world.path("groups"));
    command.arg(env!("CARGO_BIN_EXE_ostler")).args(world.start_arguments(NEWEST)).arg("--json");
    let keeper = Started::from(&json_of(&command.output().unwrap()));
    assert!(keeper.record["control_group"].is_string(), "{}", keeper.record);
    // A record as the first versions wrote it, so that the group alone is looked at.
    let mut record = keeper.record.clone();
    record.as_object_mut().unwrap().remove("pid_namespace");
    std::fs::write(world.root().join(&keeper.id).join("record.json"), record.to_string()).unwrap();

    let mut command = world.command("nsenter");
    let keeper_pid = keeper.keeper.to_string();
    command.args([
        "--target",
        &keeper_pid,
        "--mount",
        "unshare",
        "--pid",
        "--fork",
        "--mount-proc",
    ]);
    let script = "sleep 1000 & \"$@\"; kill $!";
    command.args([
        "sh",
        "-c",
        script,
        "sh",
        env!("CARGO_BIN_EXE_ostler"),
        "keeper",
        "list",
        "--json",
    ]);
    let listed: Value = json_of(&command.output().unwrap());
    assert_eq!(listed["keepers"][0]["processes"], json!([]));

    kill(keeper.codex, Signal::KILL);
    wait_until("the keeper has ended", || !is_alive(keeper.keeper));
}

/// Runs `ostler` beside a stranger in a pid namespace of its own, as root or as the root of a user namespace.
fn elsewhere(world: &World, arguments: &[&str]) -> Output {
    let mut command = world.command("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--pid", "--fork", "--mount-proc"]);
    let script = "sleep 1000 & \"$@\"; code=$?; kill $! || exit 99; exit $code";
    command.args(["sh", "-c", script, "sh"]).arg(env!("CARGO_BIN_EXE_ostler"));
    command.args(arguments).output().unwrap()
}
