//! A daemon of another version.

use std::sync::Arc;

use jiff::Timestamp;
use ostler_server::heart::{Heart, Pulse};
use ostler_server::lock::{Claim, DaemonLock};
use ostler_server::routes::routes;
use ostler_server::{Door, DoorSettings, Hall, Limits, Standing};
use serde_json::{Value, json};

use crate::world::World;

/// A daemon as a version to come would be, inside this test.
fn other_daemon(world: &World, version: &'static str) -> std::thread::JoinHandle<()> {
    let (lock, socket) = (world.path("state/daemon.lock"), world.path("run/daemon.sock"));
    // Makes the folders.
    world.json(&["daemon", "start"]);
    world.json(&["daemon", "stop"]);
    let (open, opened) = std::sync::mpsc::channel();
    let daemon = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let started_at = Timestamp::UNIX_EPOCH;
            let claim = Claim {
                version: version.to_owned(),
                started_at,
                is_service: false,
                socket: socket.clone(),
            };
            let lock = DaemonLock::take(&lock, claim).unwrap();
            let door = Door::open(DoorSettings::Path(socket), Limits::default(), &lock).unwrap();
            let hall = Arc::new(Hall::new(version, std::process::id(), Timestamp::UNIX_EPOCH, 2));
            let router = routes(hall.clone(), []);
            let beat = Heart::new(Pulse::Never).part("door");
            open.send(()).unwrap();
            door.serve(router, hall, Arc::new(|_| Standing::Person), beat).await;
            drop(lock);
        });
    });
    opened.recv().unwrap();
    daemon
}

#[test]
fn another_version_is_named_and_replaced_only_on_request() {
    let own = env!("CARGO_PKG_VERSION");
    let cases = [
        (
            "0.0.1",
            "`ostler daemon restart` replaces the daemon by this version; running turns go on",
        ),
        (
            "99.0.0",
            "this ostler is the older one: use the newer, or `ostler daemon restart` to go back to this one",
        ),
    ];
    for (version, hint) in cases {
        let world = World::new();
        let daemon = other_daemon(&world, version);
        let output = world.ostler(&["daemon", "ping", "--json"]);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let message = format!("the daemon is ostler {version} and this is ostler {own}");
        let expected = json!({ "error": { "exit": 6, "message": message, "hint": hint } });
        assert_eq!((output.status.code(), said), (Some(6), expected));
        let output = world.ostler(&["daemon", "start"]);
        let note = String::from_utf8(output.stderr).unwrap();
        assert!(note.contains("`ostler daemon restart` replaces it"), "{note}");
        assert!(!daemon.is_finished());
        let replaced = world.json(&["daemon", "restart"]);
        assert_eq!((&replaced["version"], &replaced["epoch"]), (&json!(own), &json!(3)));
        daemon.join().unwrap();
    }
}
