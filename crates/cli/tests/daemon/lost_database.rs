//! A database that is gone, or less than it was: no daemon begins anew in silence.

use std::fs;
use std::process::Output;

use rustix::process::Signal;
use serde_json::Value;

use crate::world::{World, is_alive, kill, wait_until};

const ACCEPT: [&str; 3] = ["daemon", "start", "--accept-lost-database"];

fn started() -> World {
    let world = World::new();
    world.json(&["daemon", "start"]);
    world
}

/// What a start that is refused says: the daemon's own words.
fn refused(world: &World) -> String {
    refused_by(&world.ostler(&["daemon", "start", "--json"]))
}

fn refused_by(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error: Value = serde_json::from_slice(&output.stdout).unwrap();
    let hint = error["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("`ostler daemon start --accept-lost-database`"), "{hint}");
    hint
}

fn remove_database(world: &World) {
    for file in ["ostler.db", "ostler.db-wal", "ostler.db-shm"] {
        drop(fs::remove_file(world.path("state").join(file)));
    }
}

fn kill_daemon(world: &World) {
    let pid = world.json(&["daemon", "status"])["pid"].as_i64().unwrap();
    let pid = i32::try_from(pid).unwrap();
    kill(pid, Signal::KILL);
    wait_until("the daemon is gone", || !is_alive(pid));
}

#[test]
fn a_database_that_is_gone_is_told_with_what_is_left_until_a_person_accepts_it() {
    let world = started();
    world.json(&["daemon", "stop"]);
    remove_database(&world);
    let worktrees = world.path("state/worktrees");
    fs::create_dir_all(&worktrees).unwrap();
    let note = r#"{"path":"/w/a1b2","repository":"/r","branch":"ostler/a1b2","base":"0123"}"#;
    fs::write(worktrees.join("a1b2.json"), note).unwrap();
    let day = world.path(".codex/sessions/2026/05/01");
    fs::create_dir_all(&day).unwrap();
    let meta = r#"{"type":"session_meta","payload":{"id":"0199-a","cwd":"/work/oats"}}"#;
    fs::write(day.join("rollout-2026-05-01T10-00-00-0199-a.jsonl"), meta).unwrap();

    // However often it is tried, and whoever does it.
    for _ in 0..2 {
        let said = refused(&world);
        assert!(
            said.contains("state/ostler.db is gone: the last daemon here had 0 tasks"),
            "{said}"
        );
        assert!(said.contains("worktree of task a1b2: /w/a1b2"), "{said}");
        assert!(said.contains("thread in /work/oats") && said.contains("resume 0199-a"), "{said}");
    }
    let listed = refused_by(&world.ostler(&["ls", "--json"]));
    assert!(listed.contains("is gone"), "{listed}");
    assert!(!world.path("state/ostler.db").exists(), "it began anew");

    assert_eq!(world.json(&ACCEPT)["did"], "started");
    assert_eq!(world.json(&ACCEPT)["did"], "runs already");
    world.json(&["daemon", "stop"]);
    world.json(&["daemon", "start"]);
}

#[test]
fn a_write_ahead_log_that_is_lost_after_a_kill_is_told() {
    let world = started();
    kill_daemon(&world);
    world.json(&["daemon", "start"]);
    kill_daemon(&world);
    let (log, aside) = (world.path("state/ostler.db-wal"), world.path("state/aside"));
    fs::rename(&log, &aside).unwrap();
    let said = refused(&world);
    assert!(said.contains("ostler.db-wal is gone although the last daemon was killed"), "{said}");
    assert!(!log.exists(), "looking has made it");
    refused(&world);
    fs::rename(&aside, &log).unwrap();
    world.json(&["daemon", "start"]);

    kill_daemon(&world);
    fs::remove_file(&log).unwrap();
    refused(&world);
    world.json(&ACCEPT);
}

#[test]
fn a_database_that_is_older_than_it_was_is_told() {
    let world = started();
    world.json(&["daemon", "stop"]);
    let (database, copy) = (world.path("state/ostler.db"), world.path("state/copy"));
    fs::copy(&database, &copy).unwrap();
    world.json(&["daemon", "start"]);
    world.json(&["daemon", "stop"]);
    fs::copy(&copy, &database).unwrap();
    let said = refused(&world);
    assert!(said.contains("is older than it was: epoch 1"), "{said}");
    fs::write(&database, "").unwrap();
    assert!(refused(&world).contains("is empty"));
    world.json(&ACCEPT);
}
