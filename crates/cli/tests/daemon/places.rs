//! Where the daemon listens and what it logs, as the settings say.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::world::World;

fn configure(world: &World, text: &str) {
    fs::create_dir_all(world.path("config")).unwrap();
    fs::write(world.path("config/config.toml"), text).unwrap();
}

#[test]
fn commands_find_the_socket_that_the_settings_name_and_the_one_that_is_in_use() {
    let world = World::new();
    let (first, second) = (world.path("doors/first.sock"), world.path("doors/second.sock"));
    configure(&world, &format!("[daemon]\nsocket = {first:?}\nlog = \"error\"\n"));
    let started = world.json(&["daemon", "start"]);
    assert_eq!(started["socket"], json!(first));
    let folder = fs::metadata(world.path("doors")).unwrap().permissions().mode() & 0o777;
    assert_eq!((folder, first.exists()), (0o700, true));
    assert!(!world.path("run/daemon.sock").exists());
    assert_eq!(world.json(&["daemon", "ping", "--no-start"])["pid"], started["pid"]);

    // Whatever becomes of the file, the daemon that runs is found where it is.
    configure(&world, &format!("[daemon]\nsocket = {second:?}\n"));
    assert_eq!(world.json(&["daemon", "ping", "--no-start"])["pid"], started["pid"]);
    configure(&world, "[daemon]\nsocket = 3\n");
    assert_eq!(world.json(&["daemon", "status"])["socket"], json!(first));
    assert_eq!(world.json(&["daemon", "ping", "--no-start"])["pid"], started["pid"]);
    // At this level there was nothing to say.
    let log = world.path("state/logs/daemon.log");
    assert_eq!(fs::read_to_string(&log).unwrap(), "");

    configure(&world, &format!("[daemon]\nsocket = {second:?}\n"));
    let restarted = world.json(&["daemon", "restart"]);
    assert_eq!((&restarted["socket"], &restarted["epoch"]), (&json!(second), &json!(2)));
    assert_eq!((first.exists(), second.exists()), (false, true));
    assert!(fs::read_to_string(&log).unwrap().contains("the daemon listens on"));
    assert_eq!(world.json(&["daemon", "stop"]), json!({ "ended": restarted["pid"] }));
}

#[test]
fn a_socket_in_a_folder_of_others_is_refused() {
    let world = World::new();
    fs::create_dir(world.path("open")).unwrap();
    fs::set_permissions(world.path("open"), fs::Permissions::from_mode(0o755)).unwrap();
    configure(&world, &format!("[daemon]\nsocket = {:?}\n", world.path("open/d.sock")));
    let output = world.ostler(&["serve"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = format!("{} can be entered by other users", world.path("open").display());
    assert!(said.contains(&expected), "{said}");
}
