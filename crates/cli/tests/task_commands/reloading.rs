//! The settings of a daemon that runs, changed by a signal; and the settings of `run`.

use std::fs::{self, File};
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::world::World;
use crate::{LEAVES_A_LINE, PROMPT, command, text};

fn log(world: &World) -> String {
    fs::read_to_string(world.path("o/state/logs/daemon.log")).unwrap_or_default()
}

/// Tells the daemon to read its settings again, and waits until it says these words for the first time.
fn reload(world: &World, words: &[&str]) {
    assert!(words.iter().all(|words| !log(world).contains(words)));
    let pid = world.json(&["daemon", "status"])["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::HUP).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !words.iter().all(|words| log(world).contains(words)) {
        assert!(Instant::now() < deadline, "{words:?} is not in {}", log(world));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_the_file_says_now_holds_for_what_begins_now() {
    let world = World::new("0.166.0", vec![text("Done.")]);
    let place = world.path("o/config/config.toml");
    let before = fs::read_to_string(&place).unwrap();
    let dangerous = ["start", PROMPT, "--wait", "--sandbox", "danger-full-access"];
    assert_eq!(world.run(&dangerous).exit, 2);

    let rule = "[[policy]]\ndecision = \"deny\"\nhost = \"example.com\"\n";
    let after = format!(
        "{before}allow_danger_full_access = true\n[limits]\nrunning = 3\n[daemon]\nlog = \"debug\"\n{rule}"
    );
    fs::write(&place, &after).unwrap();
    reload(
        &world,
        &["settings read again; applied: limits.running, policy, tasks.allow_danger_full_access; \
           only after `ostler daemon restart`: daemon.log"],
    );
    let started = world.run(&dangerous);
    assert_eq!(started.exit, 0, "{} {}", started.out, started.errors);
    assert_eq!(world.json(&["policy", "ls"])["rules"][0]["id"], "config-1");

    // All that is wrong is said, and nothing changes.
    fs::write(&place, "[limits]\nrunning = 0\n[tasks]\nsandbok = 1\n").unwrap();
    reload(
        &world,
        &["the settings stay as they were", "limits.running must be", "tasks.sandbok is unknown"],
    );
    assert_eq!(world.run(&dangerous).exit, 0);

    fs::write(&place, format!("{before}[limits]\nqueued = 7\n")).unwrap();
    let applied = "applied: limits.queued, limits.running, policy, tasks.allow_danger_full_access";
    reload(&world, &[applied]);
    assert_eq!(world.run(&dangerous).exit, 2);
    assert_eq!(world.json(&["policy", "ls"])["rules"], serde_json::json!([]));
}

/// There is no `CODEX_HOME` here, and no `~/.codex` that would do.
#[test]
fn run_uses_the_home_of_the_settings_unless_the_shell_names_one() {
    let world = World::new("0.166.0", vec![text("Done.")]);
    let ran = world.run(&["run", PROMPT]);
    assert_eq!(ran.exit, 0, "{} {}", ran.out, ran.errors);
    let sessions = |home: &str| world.path(home).join("sessions").exists();
    assert!(sessions("home") && !sessions(".codex"));

    fs::create_dir(world.path("other")).unwrap();
    fs::copy(world.path("home/config.toml"), world.path("other/config.toml")).unwrap();
    let mut run = world.command(&["run", PROMPT]);
    let output = run.env("CODEX_HOME", world.path("other")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(sessions("other"));
}

/// What the service manager tells the daemon is for the daemon alone, and a program that takes too long leaves nothing.
#[test]
fn the_approver_has_nothing_of_the_service_manager_and_ends_with_all_it_has_started() {
    let world = World::new("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let place = world.path("o/config/config.toml");
    let script =
        format!("env > {0}/env; sleep 600 & echo $! > {0}/pid; wait", world.path("").display());
    let own = fs::read_to_string(&place).unwrap();
    let approver =
        format!("[approver]\ncommand = [\"/bin/sh\", \"-c\", {script:?}]\ntimeout = \"10s\"\n");
    fs::write(&place, format!("{own}{approver}")).unwrap();
    let manager = UnixDatagram::bind(world.path("notify")).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut serve = world.command(&["serve"]);
    serve.env("NOTIFY_SOCKET", world.path("notify")).env("WATCHDOG_USEC", "60000000");
    serve.env("LISTEN_FDNAMES", "ostler").env("KEPT", "1");
    let log = world.path("log");
    let mut serve = serve.stderr(File::create(&log).unwrap()).spawn().unwrap();
    manager.recv(&mut [0; 512]).unwrap();

    world.start_asking();
    let deadline = Instant::now() + Duration::from_secs(90);
    while !fs::read_to_string(&log).unwrap().contains("the approver took too long") {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
    let environment = fs::read_to_string(world.path("env")).unwrap();
    assert!(environment.contains("KEPT=1\n"), "{environment}");
    for name in ["LISTEN_", "NOTIFY_SOCKET", "WATCHDOG_"] {
        assert!(!environment.contains(name), "{environment}");
    }
    let pid = fs::read_to_string(world.path("pid")).unwrap();
    let process = format!("/proc/{}/stat", pid.trim());
    let is_alive = || fs::read_to_string(&process).is_ok_and(|stat| !stat.contains(") Z "));
    while is_alive() {
        assert!(Instant::now() < deadline, "what the approver has started is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
    world.run(&["daemon", "stop", "--now"]);
    serve.wait().unwrap();
}
