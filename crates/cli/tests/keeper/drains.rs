//! Who asks a keeper to end, however often and whoever else does, waits for the running turns and never cuts them off.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::world::{Client, Started, VERSIONS, World, is_alive, kill, wait_until};

const IMPATIENT: [&str; 4] = ["keeper", "stop", "--wait", "1"];

#[test]
fn the_first_request_to_end_waits_for_running_turns() {
    for version in VERSIONS {
        let world = World::new();
        let keeper = world.start(version);
        let _client = start_a_turn(&world, &keeper);

        // The second one comes while the keeper drains.
        for _ in 0..2 {
            let stop = world.ostler(&[&IMPATIENT[..], &[&keeper.id]].concat());
            assert_eq!(stop.status.code(), Some(124), "{version}: {stop:?}");
            assert_eq!(world.listed()["state"], "draining", "{version}");
        }
        the_turn_finishes(&world, &keeper, version);
        let record = world.record(&keeper.id);
        assert_eq!(record["ended"]["exit"], json!({"code": 0}), "{version}");
        assert_eq!(record["ended"]["how"], "drained", "{version}");
    }
}

#[test]
fn two_who_ask_at_once_do_not_cut_the_turn_off() {
    for version in VERSIONS {
        let world = World::new();
        let keeper = world.start(version);
        let _client = start_a_turn(&world, &keeper);

        let stop = || {
            let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
            command.args(IMPATIENT).arg(&keeper.id).stderr(Stdio::null()).spawn().unwrap()
        };
        let codes = [stop(), stop()].map(|mut stop| stop.wait().unwrap().code());
        assert_eq!(codes, [Some(124); 2], "{version}");
        // Two signals that come together count as one, so here is one that surely comes second.
        let log = world.root().join(&keeper.id).join("keeper.log");
        let requests = || fs::read_to_string(&log).unwrap().matches("Terminate:").count();
        let before = requests();
        assert!(before >= 1, "{version}");
        kill(keeper.keeper, Signal::TERM);
        wait_until("the keeper has seen the signal", || requests() > before);
        the_turn_finishes(&world, &keeper, version);
        assert_eq!(world.record(&keeper.id)["ended"]["how"], "drained", "{version}");
    }
}

#[test]
fn without_its_keeper_codex_is_asked_once_and_finishes_its_turns() {
    for version in VERSIONS {
        let world = World::new();
        let keeper = world.start(version);
        let _client = start_a_turn(&world, &keeper);
        kill(keeper.keeper, Signal::KILL);
        wait_until("the keeper is dead", || !is_alive(keeper.keeper));
        for _ in 0..2 {
            let stop = world.ostler(&[&IMPATIENT[..], &[&keeper.id]].concat());
            assert_eq!(stop.status.code(), Some(124), "{version}: {stop:?}");
        }
        the_turn_finishes(&world, &keeper, version);
        assert_eq!(world.record(&keeper.id)["ended"]["how"], "without_keeper", "{version}");
    }
}

#[test]
fn a_keeper_that_dies_while_it_drains_has_asked_already() {
    for version in VERSIONS {
        let world = World::new();
        let keeper = world.start(version);
        let _client = start_a_turn(&world, &keeper);
        let stop = world.ostler(&[&IMPATIENT[..], &[&keeper.id]].concat());
        assert_eq!(stop.status.code(), Some(124), "{version}: {stop:?}");
        kill(keeper.keeper, Signal::KILL);
        wait_until("the keeper is dead", || !is_alive(keeper.keeper));
        let stop = world.ostler(&[&IMPATIENT[..], &[&keeper.id]].concat());
        assert_eq!(stop.status.code(), Some(124), "{version}: {stop:?}");
        the_turn_finishes(&world, &keeper, version);
    }
}

/// A turn that lasts until the file `release` is there, and then leaves the file `finished`.
fn start_a_turn(world: &World, keeper: &Started) -> Client {
    let mut client = Client::connect(&keeper.socket);
    let started = client.call("thread/start", &json!({"cwd": world.path("codex-home")}));
    let script = format!(
        "while ! [ -e {0} ]; do sleep 0.05; done; touch {1}",
        world.path("release").display(),
        world.path("finished").display()
    );
    let thread = &started["thread"]["id"];
    client.call("thread/shellCommand", &json!({"threadId": thread, "command": script}));
    client.read_until("item/started");
    client
}

fn the_turn_finishes(world: &World, keeper: &Started, version: &str) {
    assert!(is_alive(keeper.codex), "{version}: codex was cut off");
    assert!(!world.path("finished").exists());
    fs::write(world.path("release"), "").unwrap();
    world.json(&["keeper", "stop", &keeper.id]);
    assert!(world.path("finished").exists(), "{version}: the turn was cut off");
    assert_eq!([keeper.keeper, keeper.codex].map(is_alive), [false; 2], "{version}");
}
