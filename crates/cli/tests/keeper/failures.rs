//! What goes wrong says so, and leaves nothing behind.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ostler_codex::keeper::environment::EnvironmentRule;
use ostler_codex::keeper::{KeeperError, StartKeeper, start};

use crate::world::{NEWEST, World, is_alive, mentions, pids, wait_until};

#[test]
fn a_program_that_is_not_codex_is_refused_with_its_own_words() {
    let world = World::new();
    let loud = script(&world, "sleep 1000 & echo 'no such thing: '$OPENAI_API_KEY >&2; exit 3");
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    let output = command
        .args(["keeper", "start", "--codex", loud.to_str().unwrap()])
        .env("OPENAI_API_KEY", "a-secret-of-somebody")
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let expected = format!(
        "error: {} ended before it listened (exit code 3); is it a codex with app-server?\n\
         its last words:\n  no such thing: ‹redacted›\n",
        loud.display()
    );
    assert_eq!((output.status.code(), errors.as_str()), (Some(1), expected.as_str()));
    nothing_is_left(&world);

    for (codex, code, reason) in [
        (world.path("missing"), 2, "No such file or directory (os error 2)"),
        (world.path("codex-home"), 2, "it is not a file"),
        (script(&world, "#!/missing/interpreter\n"), 2, "cannot start"),
    ] {
        if reason == "cannot start" {
            fs::write(&codex, "#!/missing/interpreter\n").unwrap();
        }
        let output = world.ostler(&["keeper", "start", "--codex", codex.to_str().unwrap()]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{errors}");
        assert!(errors.contains(reason), "{errors}");
        nothing_is_left(&world);
    }
}

/// 20 MB are more than a pipe holds and more than the log keeps.
#[test]
fn a_program_is_never_held_up_by_its_own_output() {
    let world = World::new();
    let flood = script(&world, "yes | head -c 20000000 >&2; echo the end >&2; exit 7");
    let output = world.ostler(&["keeper", "start", "--codex", flood.to_str().unwrap()]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("(exit code 7)"), "{errors}");
    assert!(errors.ends_with("y\n  the end\n"), "{errors}");
    nothing_is_left(&world);
}

#[tokio::test]
async fn a_program_that_never_listens_is_ended_at_the_deadline() {
    let world = World::new();
    let deaf = script(&world, "echo waiting for nothing; setsid sleep 1000 & exec sleep 1000");
    let environment = world.environment().into_iter();
    let request = StartKeeper {
        root: world.root(),
        program: PathBuf::from(env!("CARGO_BIN_EXE_ostler")),
        codex: deaf,
        codex_version: None,
        environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
        environment_rule: EnvironmentRule::default(),
        purpose: None,
        extra_arguments: Vec::new(),
        open_files: None,
        // Long enough for the program's first word on a busy machine.
        ready_deadline: Duration::from_secs(15),
    };
    let error = start(request).await.unwrap_err();
    assert!(
        matches!(&error, KeeperError::NotReady { said, .. } if said == "waiting for nothing"),
        "{error}"
    );
    nothing_is_left(&world);
}

#[test]
fn a_path_too_long_for_a_socket_says_what_to_set() {
    let world = World::new();
    let deep = world.path(&"d".repeat(100));
    fs::create_dir(&deep).unwrap();
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    let output =
        command.args(world.start_arguments(NEWEST)).env("OSTLER_HOME", &deep).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("107") && errors.contains("set OSTLER_HOME"), "{errors}");
    assert_eq!(fs::read_dir(deep.join("run/keepers")).unwrap().count(), 0);
}

#[test]
fn a_broken_record_is_shown_and_what_runs_can_still_be_ended() {
    let world = World::new();
    let keeper = world.start(NEWEST);
    let orphans = world.leave_orphans(&keeper);
    let record = world.root().join(&keeper.id).join("record.json");
    for garbage in ["", "{", "[]", "\u{0}\u{1}", "{\"schema\": 1}", "{\"schema\": 999}"] {
        fs::write(&record, garbage).unwrap();
        let listed = world.listed();
        assert_eq!(listed["state"], "broken", "{garbage:?}: {listed}");
        assert!(listed["broken"].as_str().unwrap().contains("record.json"), "{listed}");
    }
    let table = world.ostler(&["keeper", "list"]);
    let table = String::from_utf8(table.stdout).unwrap();
    let longest = table.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(80), "{table}");

    let report = world.json(&["keeper", "stop", "--now", &keeper.id]);
    // The keeper knows better than its file and has written it anew.
    assert_eq!(report["exit"], serde_json::json!({"code": 0}), "{report}");
    assert_eq!(world.listed()["state"], "ended");
    let left = [keeper.keeper, keeper.codex, orphans[0], orphans[1]].map(is_alive);
    assert_eq!(left, [false; 4]);
}

#[test]
fn unknown_and_unclear_ids_have_their_own_exit_codes() {
    let world = World::new();
    let code = |id: &str| world.ostler(&["keeper", "stop", id]).status.code();
    assert_eq!(code("0123"), Some(3));
    for name in ["0123aaaa", "0123bbbb", "not-a-keeper"] {
        fs::create_dir_all(world.root().join(name)).unwrap();
    }
    assert_eq!(
        [code("0123"), code(""), code("ffff"), code("0123a")],
        [Some(2), Some(2), Some(3), Some(0)]
    );
    let list = world.ostler(&["keeper", "list"]);
    let list = String::from_utf8(list.stdout).unwrap();
    assert_eq!(
        list,
        "ID        STATE        PID      PROCS  AGE    DETAIL\n\
         0123aaaa  gone         -        0      -      nobody saw its end\n\
         0123bbbb  gone         -        0      -      nobody saw its end\n"
    );
}

fn script(world: &World, text: &str) -> PathBuf {
    let path = world.path("program");
    ostler_testkit::write_script(&path, &format!("#!/bin/sh\n{text}\n"), 0o755).unwrap();
    path
}

fn nothing_is_left(world: &World) {
    assert_eq!(fs::read_dir(world.root()).map_or(0, Iterator::count), 0);
    let needle = world.path("").to_str().unwrap().trim_end_matches('/').as_bytes().to_vec();
    // What was killed may take a moment until it has been reaped by init.
    wait_until("no process is left", || !pids().into_iter().any(|pid| mentions(pid, &needle)));
}
