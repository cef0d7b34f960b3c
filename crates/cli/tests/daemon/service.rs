//! The user's service manager: a real one, and a stand-in that writes down what it is told.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::{MANAGER_PATIENCE, NEWEST, Started, World, is_alive, json_of, wait_within};

const OSTLER: &str = env!("CARGO_BIN_EXE_ostler");

/// Lives through what a service lives through, and writes down what it sees.
const WITH_MANAGER: &str = r#"
set -e
ostler=$1; shift
mount -t tmpfs none /run/systemd
mkdir -p /run/systemd/system
mount -t cgroup2 none /sys/fs/cgroup
base=/sys/fs/cgroup/ostler-test-$$
mkdir $base $base/manager
(echo 0 > $base/manager/cgroup.procs; exec systemd --user >manager.log 2>&1) &
manager=$!
end() {
    kill $manager; wait $manager || true
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        find $base -depth -type d -exec rmdir {} + 2>/dev/null && break
        sleep 0.2
    done
}
trap end EXIT
while ! systemctl --user is-active --quiet basic.target 2>/dev/null; do kill -0 $manager; sleep 0.05; done
ping() { $ostler daemon ping --no-start --json > $1.json; }
$ostler service install --json > install.json
ping installed
group=/sys/fs/cgroup$(systemctl --user show -p ControlGroup --value ostler.service)
(echo 0 > $group/cgroup.procs; exec $ostler "$@" --json > scoped.json)
(echo 0 > $group/cgroup.procs; PATH=$PWD/tools; export PATH; exec $ostler "$@" --json > plain.json)
systemctl --user restart ostler.service
ping restarted
$ostler daemon restart --json > replaced.json
kill -9 $(systemctl --user show -p MainPID --value ostler.service)
while [ "$(systemctl --user is-active ostler.service)" != active ]; do sleep 0.05; done
ping revived
$ostler daemon stop --json > stopped.json
ping called
$ostler keeper list --json > keepers.json
$ostler service uninstall --json > uninstall.json
$ostler daemon status --json > after.json || true
: > done
while ! [ -e go-on ]; do sleep 0.05; done
"#;

fn unit(world: &World, name: &str) -> PathBuf {
    world.path(".config/systemd/user").join(name)
}

#[test]
#[ignore = "needs root, unshare and systemd with its user manager"]
fn a_service_is_restarted_killed_and_removed_and_keepers_live_through_all_of_it() {
    let world = World::new();
    fs::create_dir(world.path("runtime")).unwrap();
    // Enough for a shell, and no way to the manager.
    fs::create_dir(world.path("tools")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", world.path("tools/sh")).unwrap();
    let mut shell = world
        .command("unshare")
        .args(["--mount", "sh", "-c", WITH_MANAGER, "sh", OSTLER])
        .args(world.start_arguments(NEWEST))
        .env("XDG_RUNTIME_DIR", world.path("runtime"))
        .current_dir(world.path(""))
        .spawn()
        .unwrap();
    // Everything in it has its own deadline, or is a manager that must answer.
    wait_within(MANAGER_PATIENCE, "the service has lived its life", || {
        assert_eq!(shell.try_wait().unwrap(), None, "the shell has failed");
        world.path("done").exists()
    });
    let read = |name: &str| -> Value {
        let text = fs::read(world.path(&format!("{name}.json"))).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let keepers = ["scoped", "plain"].map(|name| Started::from(&read(name)));
    let alive = keepers.each_ref().map(|keeper| [keeper.keeper, keeper.codex].map(is_alive));
    let answers = keepers.each_ref().map(|keeper| world.in_codex(keeper, "echo alive"));
    fs::write(world.path("go-on"), "").unwrap();
    let ended = shell.wait().unwrap();

    let [socket, service] = ["ostler.socket", "ostler.service"].map(|name| unit(&world, name));
    assert_eq!(read("install"), json!({ "wrote": [socket, service], "lingers": false }));
    let pids = ["installed", "restarted", "replaced", "revived", "called"]
        .map(|name| (read(name)["epoch"].as_u64().unwrap(), read(name)["pid"].as_u64().unwrap()));
    assert_eq!(pids.map(|(epoch, _)| epoch), [1, 2, 3, 4, 5]);
    assert_eq!(read("stopped"), json!({ "ended": pids[3].1 }));
    let standing = read("called")["caller"]["standing"].clone();
    assert_eq!(standing, json!({ "is": "person" }));
    let scopes = keepers.each_ref().map(|keeper| keeper.record["scope"].is_string());
    assert_eq!(scopes, [true, false]);
    assert_eq!((alive, answers), ([[true; 2]; 2], ["alive\n", "alive\n"].map(str::to_owned)));
    assert_eq!(read("uninstall"), json!({ "removed": [service, socket] }));
    assert_eq!(read("after"), json!({ "running": false }));
    assert!(!socket.exists() && !service.exists());
    assert!(ended.success());
}

/// A manager that only listens, and a `systemctl` that notes what it was asked for.
fn stand_in(world: &World) -> (UnixListener, impl Fn(&[&str]) -> Command) {
    fs::create_dir_all(world.path("runtime/systemd")).unwrap();
    let listener = UnixListener::bind(world.path("runtime/systemd/private")).unwrap();
    fs::create_dir(world.path("bin")).unwrap();
    let program = world.path("bin/systemctl");
    let asked = world.path("asked");
    let script = format!("#!/bin/sh\necho \"$@\" >> {}\n", asked.display());
    ostler_testkit::write_script(&program, &script, 0o755).unwrap();
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let ostler = |arguments: &[&str]| {
        let mut command = world.command(OSTLER);
        command.args(arguments).arg("--json").env("PATH", &path);
        command.env("XDG_RUNTIME_DIR", world.path("runtime"));
        command
    };
    let environment = ostler(&[]);
    let made = move |arguments: &[&str]| {
        let mut command = Command::new(environment.get_program());
        command.env_clear().args(arguments).arg("--json");
        for (name, value) in environment.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command
    };
    (listener, made)
}

#[test]
fn units_are_shown_written_and_removed() {
    let world = World::new();
    let [socket, service] = ["ostler.socket", "ostler.service"].map(|name| unit(&world, name));
    // Without a manager nothing is written, but all is shown.
    let output = world.ostler(&["service", "install"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!socket.exists());
    let (_manager, ostler) = stand_in(&world);
    let shown = json_of(&ostler(&["service", "install", "--print"]).output().unwrap());
    let home = world.path("");
    let home = home.to_str().unwrap().trim_end_matches('/');
    let mark = "# Written by `ostler service install`; `ostler service uninstall` removes it.";
    let socket_text = format!(
        "{mark}\n[Unit]\nDescription=Where Ostler's daemon is reached\n\n[Socket]\n\
         ListenStream={home}/run/daemon.sock\nSocketMode=0600\nDirectoryMode=0700\n\n\
         [Install]\nWantedBy=sockets.target\n"
    );
    let service_text = format!(
        "{mark}\n[Unit]\nDescription=Ostler keeps OpenAI Codex at work\nRequires=ostler.socket\n\
         After=ostler.socket\n\n[Service]\nType=notify\nExecStart=\"{OSTLER}\" serve\n\
         ExecReload=kill -HUP $MAINPID\nWatchdogSec=60\nRestart=on-failure\nRestartSec=1\n\
         # Keepers and their turns outlive the daemon, also where they could not get a scope of their own.\n\
         KillMode=process\nTimeoutStopSec=30\nUMask=0077\nEnvironment=\"OSTLER_HOME={home}\"\n\
         Environment=\"PATH={home}/bin:/usr/bin:/bin\"\n\n[Install]\nWantedBy=default.target\n"
    );
    let expected = json!({ "units": [
        { "path": socket, "text": socket_text }, { "path": service, "text": service_text },
    ] });
    assert_eq!(shown, expected);
    assert!(!socket.exists());
    for _ in 0..2 {
        let installed = json_of(&ostler(&["service", "install"]).output().unwrap());
        assert_eq!(installed, json!({ "wrote": [socket, service], "lingers": false }));
        assert_eq!(fs::read_to_string(&socket).unwrap(), socket_text);
        assert_eq!(fs::read_to_string(&service).unwrap(), service_text);
    }
    let asked = fs::read_to_string(world.path("asked")).unwrap();
    let once = "--user daemon-reload\n--user enable ostler.socket ostler.service\n\
                --user restart ostler.socket ostler.service\n";
    assert_eq!(asked, once.repeat(2));
    fs::remove_file(world.path("asked")).unwrap();
    let removed = json_of(&ostler(&["service", "uninstall"]).output().unwrap());
    assert_eq!(removed, json!({ "removed": [service, socket] }));
    assert!(!socket.exists() && !service.exists());
    let asked = fs::read_to_string(world.path("asked")).unwrap();
    let expected = "--user disable --now ostler.service ostler.socket\n--user daemon-reload\n";
    assert_eq!(asked, expected);
    let removed = json_of(&ostler(&["service", "uninstall"]).output().unwrap());
    assert_eq!(removed, json!({ "removed": [] }));
}

#[test]
fn what_others_wrote_or_started_is_left_alone() {
    let world = World::new();
    let (_manager, ostler) = stand_in(&world);
    let service = unit(&world, "ostler.service");
    fs::create_dir_all(service.parent().unwrap()).unwrap();
    fs::write(&service, "[Service]\nExecStart=mine\n").unwrap();
    let refused = |arguments: &[&str]| {
        let output = ostler(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        value["error"]["message"].as_str().unwrap().to_owned()
    };
    let foreign =
        format!("{} is not ours: `ostler service install` did not write it", service.display());
    assert_eq!(refused(&["service", "install"]), foreign);
    assert_eq!(refused(&["service", "uninstall"]), foreign);
    assert_eq!(fs::read_to_string(&service).unwrap(), "[Service]\nExecStart=mine\n");
    fs::remove_file(&service).unwrap();
    std::os::unix::fs::symlink("/dev/null", &service).unwrap();
    assert_eq!(refused(&["service", "install"]), foreign);
    fs::remove_file(&service).unwrap();
    let pid = world.json(&["daemon", "start"])["pid"].clone();
    let message = format!("a daemon runs already (pid {pid}), and not as a service");
    assert_eq!(refused(&["service", "install"]), message);
    assert!(!unit(&world, "ostler.socket").exists() && !world.path("asked").exists());
}
