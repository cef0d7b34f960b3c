//! Killed at every step that it takes on disk.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::world::{World, report};

/// More steps than there are; the last one that is tried is not reached.
const MOST_STEPS: usize = 60;

const SOURCE: &str = include_str!("kill.c");

/// A library that ends the program that it is loaded into at its step `KILL_AT`.
fn library(world: &World) -> PathBuf {
    let (source, library) = (world.path("kill.c"), world.path("kill.so"));
    fs::write(&source, SOURCE).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output()
        .unwrap();
    assert!(built.status.success(), "{built:?}");
    library
}

fn killed_at(world: &World, library: &Path, step: usize, arguments: &[&str]) -> Output {
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    command.args(["migrate", "--json"]).args(arguments);
    command.env("LD_PRELOAD", library).env("KILL_AT", step.to_string()).output().unwrap()
}

/// Whether it was killed; otherwise it must have gone well.
fn was_killed(output: &Output) -> bool {
    let was_killed = output.status.signal() == Some(9);
    assert!(was_killed || output.status.success(), "{output:?}");
    was_killed
}

/// The first write, and one that changes what the first one wrote.
fn through(before: Option<&str>) {
    let world = World::new("0.166.0");
    let library = library(&world);
    let more = world.path("more.yaml");
    fs::write(&more, "mcp_servers:\n  straw: {command: x}\n").unwrap();
    let (host, more) = (world.path("host.yaml"), more.to_str().unwrap().to_owned());
    let arguments = ["--write", "--from", host.to_str().unwrap()];
    let found = || fs::read_to_string(world.config()).ok();
    if let Some(before) = before {
        fs::write(world.config(), before).unwrap();
    }
    let mut kills = 0;
    for step in 1..MOST_STEPS {
        let first = killed_at(&world, &library, step, &arguments);
        let is_over = !was_killed(&first);
        let undo = || {
            assert!(world.undo().status.success());
            assert_eq!(found().as_deref(), before, "undone after the kill at step {step}");
        };
        if is_over {
            undo();
            break;
        }
        kills += 1;
        // As it was or as it is to be, and undone from there; or written again, and then undone.
        match step % 2 {
            0 => undo(),
            _ => {
                assert!(world.write().status.success());
                assert_eq!(world.home(), ["config.toml"], "step {step}");
                undo();
            }
        }
        assert!(step + 1 < MOST_STEPS, "it has more steps than were tried");
    }
    assert!(kills >= 5, "{kills}");

    // A second write, from what the first one wrote.
    let arguments = ["--write", "--from", host.to_str().unwrap(), "--from", &more];
    for step in 1..MOST_STEPS {
        assert_eq!(report(&world.write())["written"], true, "{step}");
        let second = killed_at(&world, &library, step, &arguments);
        let is_over = !was_killed(&second);
        if step % 2 == 0 {
            assert!(world.migrate(&arguments).status.success());
            assert!(found().unwrap().contains("[mcp_servers.straw]"), "step {step}");
        }
        assert!(world.undo().status.success());
        assert_eq!(found().as_deref(), before, "undone after the kill at step {step}");
        if is_over {
            return;
        }
    }
    panic!("it has more steps than were tried");
}

#[test]
fn a_file_that_was_there_is_found_again_wherever_it_was_killed() {
    // With a block of the format before ours, which the first write replaces.
    let old = "model = 'x'\n# managed by hermes-agent\n[mcp_servers.stale]\ncommand = \"gone\"\n# end hermes-agent managed section\n";
    through(Some(old));
}

#[test]
fn a_file_that_was_not_there_is_gone_again_wherever_it_was_killed() {
    through(None);
}
