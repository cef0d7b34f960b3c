//! In the foreground, as a service manager runs it.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::world::{NEWEST, World, is_alive, kill, wait_until};

const OSTLER: &str = env!("CARGO_BIN_EXE_ostler");

fn pid_of(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap()
}

/// What the daemon told its manager next; a watchdog's sign of life is no news.
fn news(manager: &UnixDatagram) -> String {
    loop {
        let words = words(manager);
        if words != "WATCHDOG=1" {
            return words;
        }
    }
}

fn words(manager: &UnixDatagram) -> String {
    let mut buffer = [0; 4096];
    let length = manager.recv(&mut buffer).unwrap();
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

fn manager(address: &SocketAddr) -> UnixDatagram {
    let manager = UnixDatagram::bind_addr(address).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    manager
}

#[test]
fn signals_end_it_politely_and_no_keeper_notices() {
    for signal in [Signal::TERM, Signal::INT] {
        let world = World::new();
        let keeper = world.start(NEWEST);
        let log = world.path("log");
        let mut command = world.command(OSTLER);
        let mut serve = command.arg("serve").stderr(File::create(&log).unwrap()).spawn().unwrap();
        wait_until("it listens", || world.path("run/daemon.sock").exists());
        assert_eq!(world.json(&["daemon", "ping", "--no-start"])["pid"], serve.id());
        let second = world.ostler(&["serve", "--json"]);
        assert_eq!(second.status.code(), Some(1));
        let said: serde_json::Value = serde_json::from_slice(&second.stdout).unwrap();
        let message = format!(
            "a daemon runs already: pid {}, version {}",
            serve.id(),
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(said["error"]["message"], message);
        kill(pid_of(&serve), signal);
        assert_eq!(serve.wait().unwrap().code(), Some(0));
        assert!(!world.path("run/daemon.sock").exists());
        let said = fs::read_to_string(&log).unwrap();
        let reason = if signal == Signal::TERM { "SIGTERM" } else { "SIGINT" };
        assert!(
            said.contains(&format!("the daemon is about to end reason=\"{reason}\"")),
            "{said}"
        );
        assert_eq!([keeper.keeper, keeper.codex].map(is_alive), [true; 2]);
    }
}

#[test]
fn the_service_manager_hears_everything() {
    let world = World::new();
    let path = world.path("notify");
    let name = path.to_str().unwrap();
    let by_path = (name.to_owned(), SocketAddr::from_pathname(&path).unwrap());
    let by_name = (format!("@{name}"), SocketAddr::from_abstract_name(name).unwrap());
    for (variable, address) in [by_path, by_name] {
        let manager = manager(&address);
        let mut command = world.command(OSTLER);
        command.arg("serve").env("NOTIFY_SOCKET", variable).env("WATCHDOG_USEC", "300000");
        let mut serve = command.stderr(Stdio::null()).spawn().unwrap();
        let pid = pid_of(&serve);
        let socket = world.path("run/daemon.sock");
        let ready = format!("READY=1\nSTATUS=listens on {}\nMAINPID={pid}", socket.display());
        assert_eq!(news(&manager), ready);
        assert_eq!(world.json(&["daemon", "status"])["is_service"], true);
        for _ in 0..3 {
            assert_eq!(words(&manager), "WATCHDOG=1");
        }
        kill(pid, Signal::HUP);
        let reloading = news(&manager);
        let since = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
        assert!(since.parse::<u64>().unwrap() > 0);
        let status = "settings read again; nothing has changed";
        assert_eq!(news(&manager), format!("READY=1\nSTATUS={status}\nMAINPID={pid}"));
        kill(pid, Signal::TERM);
        assert_eq!(news(&manager), "STOPPING=1\nSTATUS=SIGTERM");
        assert_eq!(serve.wait().unwrap().code(), Some(0));
    }
}

/// A keeper's record that never comes to its end holds up the dispatcher, and nothing else: the door answers all the while.
#[test]
fn a_dispatcher_that_stands_still_loses_the_watchdog() {
    let world = World::new();
    let path = world.path("notify");
    let manager = manager(&SocketAddr::from_pathname(&path).unwrap());
    // It waits for the lock, and has looked at the keepers before: only the dispatcher is still to do so.
    let keeper = world.path("run/keepers/0123abcd");
    fs::create_dir_all(&keeper).unwrap();
    fs::create_dir_all(world.path("state")).unwrap();
    for folder in ["run", "run/keepers", "run/keepers/0123abcd", "state"] {
        fs::set_permissions(world.path(folder), fs::Permissions::from_mode(0o700)).unwrap();
    }
    let lock = File::create(world.path("state/daemon.lock")).unwrap();
    lock.lock().unwrap();
    let log = world.path("log");
    let mut command = world.command(OSTLER);
    command.args(["serve", "--successor"]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "600000");
    let mut serve = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
    let waiting = format!(" {} ", serve.id());
    wait_until("it waits for the lock", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("-> FLOCK") && line.contains(&waiting))
    });
    let record = keeper.join("record.json");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &record, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    // Open on both sides, so that whoever reads it waits for words and not for a writer.
    let unsaid = File::options().read(true).write(true).open(&record).unwrap();
    drop(lock);
    assert!(news(&manager).starts_with("READY=1\n"));
    wait_until("it is noticed", || {
        fs::read_to_string(&log).unwrap().contains("stands still silent=[\"dispatcher\"]")
    });
    // What was said before that is taken off; from now on there is silence.
    manager.set_nonblocking(true).unwrap();
    while manager.recv(&mut [0; 64]).is_ok() {}
    let complaints =
        || fs::read_to_string(&log).unwrap().matches("a part of the daemon stands still").count();
    let before = complaints();
    wait_until("more time passes", || complaints() > before + 3);
    assert!(manager.recv(&mut [0; 64]).is_err(), "it was taken for alive");
    // It goes on, and so does the watchdog.
    fs::remove_file(&record).unwrap();
    drop(unsaid);
    manager.set_nonblocking(false).unwrap();
    assert_eq!(words(&manager), "WATCHDOG=1");
    kill(pid_of(&serve), Signal::TERM);
    assert_eq!(serve.wait().unwrap().code(), Some(0));
}

/// The watchdog of somebody else is none of ours.
#[test]
fn a_watchdog_for_another_process_is_not_fed() {
    let world = World::new();
    let path = world.path("notify");
    let manager = manager(&SocketAddr::from_pathname(&path).unwrap());
    let mut command = world.command(OSTLER);
    command.arg("serve").env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "1000");
    let mut serve = command.env("WATCHDOG_PID", "1").stderr(Stdio::null()).spawn().unwrap();
    assert!(words(&manager).starts_with("READY=1\n"));
    world.json(&["daemon", "ping"]);
    kill(pid_of(&serve), Signal::TERM);
    assert_eq!(words(&manager), "STOPPING=1\nSTATUS=SIGTERM");
    serve.wait().unwrap();
}

/// A shell that hands its stdin over as the first socket, as a service manager would.
fn activated(world: &World, listener: UnixListener, count: &str) -> Child {
    let script =
        format!("exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS={count} exec {OSTLER} serve");
    let mut command = world.command("sh");
    command.args(["-c", &script]).stdin(OwnedFd::from(listener));
    command.stderr(Stdio::piped()).spawn().unwrap()
}

fn private_listener(world: &World) -> UnixListener {
    let socket = world.path("run/daemon.sock");
    fs::create_dir_all(world.path("run")).unwrap();
    fs::set_permissions(world.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).unwrap();
    listener
}

#[test]
fn an_inherited_socket_is_served_and_left_in_place() {
    let world = World::new();
    let listener = private_listener(&world);
    let socket = world.path("run/daemon.sock");
    // Whoever comes before the daemon waits for it, and asks twice: once to connect, once for the answer.
    let ping = std::thread::scope(|scope| {
        let early = scope.spawn(|| world.json(&["daemon", "ping", "--no-start"]));
        let copy = listener.try_clone().unwrap();
        let mut serve = activated(&world, copy, "1");
        let ping = early.join().unwrap();
        assert_eq!(ping["pid"], serve.id());
        // No child of the daemon may hold the socket: what was handed over is closed on exec, and so is our copy of it.
        let handed = fs::read_to_string(format!("/proc/{}/fdinfo/3", serve.id())).unwrap();
        let flags = handed.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
        assert_ne!(flags & 0o2_000_000, 0, "{handed}");
        kill(pid_of(&serve), Signal::TERM);
        assert_eq!(serve.wait().unwrap().code(), Some(0));
        ping
    });
    assert_eq!(ping["epoch"], 1);
    assert!(socket.exists());
    let mut serve = activated(&world, listener, "1");
    assert_eq!(world.json(&["daemon", "ping", "--no-start"])["epoch"], 2);
    assert_eq!(world.json(&["daemon", "stop"]), json!({ "ended": serve.id() }));
    assert_eq!(serve.wait().unwrap().code(), Some(0));
}

#[test]
fn a_socket_that_is_not_as_it_should_be_is_refused() {
    let world = World::new();
    let refused = |child: Child| {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let listener = private_listener(&world);
    let said = refused(activated(&world, listener.try_clone().unwrap(), "2"));
    assert!(said.contains("hands over \"2\" sockets and one is wanted"), "{said}");
    let socket = world.path("run/daemon.sock");
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
    let said = refused(activated(&world, listener.try_clone().unwrap(), "1"));
    assert!(said.contains("its socket unit needs SocketMode=0600"), "{said}");
    // And without activation nobody takes the place of whoever listens there.
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).unwrap();
    let output = world.ostler(&["serve"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("another program listens on"), "{said}");
}
