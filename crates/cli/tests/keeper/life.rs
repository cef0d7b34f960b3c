//! A keeper's ordinary life: its files, its memory, its end when asked.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use ostler_codex::keeper::{REMAINS_FOR, find, remove, sweep};
use rustix::process::Signal;
use serde_json::json;

use crate::world::{NEWEST, VERSIONS, World, is_alive, kill, wait_until};

#[test]
fn only_the_owner_can_reach_the_socket_and_read_the_logs() {
    for version in VERSIONS {
        let world = World::new();
        let keeper = world.start(version);
        let folder = world.root().join(&keeper.id);
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let socket = folder.join("socket");
        // A folder of Codex's own, or the files that the keeper holds open.
        let real_folder = fs::read_link(&socket).unwrap();
        let real_folder = real_folder.parent().unwrap().to_owned();
        let files = ["record.json", "keeper.log", "stderr.log"].map(|name| folder.join(name));
        assert_eq!(mode(folder), 0o700);
        assert_eq!(mode(real_folder) & 0o077, 0);
        assert_eq!(mode(socket), 0o600);
        assert_eq!(files.map(mode), [0o600; 3]);
    }
}

/// The budget is 8 MB. Clean pages are those of our binary, which the kernel keeps once for all copies and can drop: whether they count as
/// private says only whether another copy happens to run.
#[test]
fn a_keeper_needs_less_than_8_mb_of_its_own() {
    let world = World::new();
    let keeper = world.start(NEWEST);
    world.in_codex(&keeper, "true");
    let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", keeper.keeper)).unwrap();
    let own = text.lines().find_map(|line| line.strip_prefix("Private_Dirty:")).unwrap();
    let own: u64 = own.trim().trim_end_matches(" kB").parse().unwrap();
    assert!((1..8_000).contains(&own), "{own} kB:\n{text}");
}

#[test]
fn a_keeper_belongs_to_nobody_and_holds_nothing_of_its_starter() {
    let world = World::new();
    let held = world.path("held");
    fs::write(&held, "").unwrap();
    let output = world
        .command("sh")
        .args(["-c", "exec 9<held; \"$@\" --json", "sh"])
        .arg(env!("CARGO_BIN_EXE_ostler"))
        .args(world.start_arguments(NEWEST))
        .current_dir(world.path(""))
        .output()
        .unwrap();
    let keeper = crate::world::Started::from(&crate::world::json_of(&output));
    let stat = fs::read_to_string(format!("/proc/{}/stat", keeper.keeper)).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    // Process group and session, fields 5 and 6.
    let own = keeper.keeper.to_string();
    assert_eq!(fields[2..4], [own.as_str(), own.as_str()]);
    for pid in [keeper.keeper, keeper.codex] {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let open = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        assert_eq!(open.filter(|file| *file == held).count(), 0);
        let cwd = fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
        assert_eq!(cwd.to_str(), Some("/"));
    }
    // The terminal it was started from may go.
    kill(keeper.keeper, Signal::HUP);
    kill(keeper.keeper, Signal::PIPE);
    assert_eq!(world.in_codex(&keeper, "echo alive"), "alive\n");
    assert!(is_alive(keeper.keeper));
}

#[test]
fn what_has_ended_is_swept_when_it_is_old_enough() {
    let world = World::new();
    let ended = world.start(NEWEST);
    kill(ended.codex, Signal::KILL);
    wait_until("the keeper has ended", || !is_alive(ended.keeper));
    let alive = world.start(NEWEST);
    let lost = world.root().join("0000dead");
    fs::create_dir(&lost).unwrap();
    let hour = Duration::from_secs(60 * 60);
    let now = Timestamp::now();
    assert_eq!(sweep(&world.root(), hour, now).unwrap(), []);
    let removed = sweep(&world.root(), hour, now + hour).unwrap();
    let mut removed: Vec<String> = removed.into_iter().map(String::from).collect();
    removed.sort();
    let mut expected = vec![ended.id, "0000dead".to_owned()];
    expected.sort();
    assert_eq!(removed, expected);
    let listed = world.listed();
    assert_eq!((&listed["id"], &listed["state"]), (&json!(alive.id), &json!("running")));
}

#[test]
fn a_folder_is_removed_once_its_keeper_has_ended_and_not_before() {
    let world = World::new();
    let keeper = world.start(NEWEST);
    // Judged while it ran; what counts is how it is when it is removed.
    let found = find(&world.root(), &keeper.id).unwrap();
    let refused = remove(&found).unwrap_err().to_string();
    let folder = world.root().join(&keeper.id);
    let expected =
        format!("cannot remove {}: its keeper has not ended; stop it first", folder.display());
    assert_eq!(refused, expected);
    kill(keeper.keeper, Signal::KILL);
    wait_until("the keeper is dead", || !is_alive(keeper.keeper));
    assert_eq!(remove(&found).unwrap_err().to_string(), expected);
    assert_eq!(world.in_codex(&keeper, "echo alive"), "alive\n");

    world.json(&["keeper", "stop", "--now", &keeper.id]);
    remove(&found).unwrap();
    assert!(!folder.exists());
    remove(&found).unwrap();
}

#[test]
fn a_start_removes_what_ended_long_ago() {
    let world = World::new();
    fs::create_dir_all(world.root()).unwrap();
    fs::set_permissions(world.root(), Permissions::from_mode(0o700)).unwrap();
    let [old, new] = ["0000dead", "0000beef"].map(|id| world.root().join(id));
    for folder in [&old, &new] {
        fs::create_dir(folder).unwrap();
    }
    let long_ago = SystemTime::now() - 2 * REMAINS_FOR;
    fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
    world.start(NEWEST);
    assert_eq!([old.exists(), new.exists()], [false, true]);
}
