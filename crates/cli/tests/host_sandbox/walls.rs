//! Files and network.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use ostler_agent::sandbox::Means;
use ostler_agent::tool::{Tool, ToolResult};
use ostler_codex::keeper::{Above, above};
use ostler_model::decision::Decision;
use ostler_model::task::SandboxMode;
use serde_json::json;

use crate::place::{Place, both};

/// Each is tried by itself and by a grandchild in a session of its own.
const FORBIDDEN: [&str; 8] = [
    "echo x > \"$OTHER/new\"",
    "echo x > \"$OTHER/kept\"",
    "echo x >> \"$OTHER/kept\"",
    "rm -f \"$OTHER/kept\"",
    "truncate -s 0 \"$OTHER/kept\"",
    "mkdir \"$OTHER/folder\"",
    "mv \"$OTHER/kept\" \"$OTHER/moved\"",
    "ln -s \"$OTHER\" way && echo x > way/new",
];

#[tokio::test]
async fn only_the_workspace_and_temporary_folders_are_written() {
    for means in both() {
        let place = Place::new(SandboxMode::WorkspaceWrite, means);
        let name = format!("/tmp/ostler-host-sandbox-{}", std::process::id());
        let allowed = format!(
            "echo in > file && mkdir -p a/b && mv file a/b && cat a/b/file && cat \"$OTHER/kept\" && echo \
            && echo x > {name} && rm {name} && echo x > /dev/null && echo both"
        );
        let result = place.run(&allowed).await;
        assert_eq!(result, ToolResult::said("in\nkept\nboth\nexit code: 0"), "{:?}", place.means);

        for command in FORBIDDEN {
            for line in [command.to_owned(), format!("setsid sh -c '{command}'")] {
                let result = place.run(&format!("rm -f way; {line}")).await;
                assert!(result.is_error, "{:?}: {line}: {result:?}", place.means);
            }
        }
        let names: Vec<_> = std::fs::read_dir(&place.other)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["kept"]);
        assert_eq!(std::fs::read(place.other.join("kept")).unwrap(), b"kept");
    }
}

#[tokio::test]
async fn a_command_that_only_reads_writes_nowhere() {
    for means in both() {
        let place = Place::new(SandboxMode::ReadOnly, means);
        for command in ["echo x > here", "echo x > /tmp/ostler-host-sandbox-read", "mkdir folder"] {
            let result = place.run(command).await;
            assert!(result.is_error, "{:?}: {command}: {result:?}", place.means);
        }
        let read = place.run("cat \"$OTHER/kept\" 2> /dev/null").await;
        assert_eq!(read, ToolResult::said("kept\nexit code: 0"));
    }
}

#[tokio::test]
async fn what_is_protected_stays_so_inside_of_the_workspace() {
    for means in both() {
        let place = Place::new(SandboxMode::WorkspaceWrite, means);
        let terminal = place.terminal(&[&place.home]);
        let run = |command: &str| {
            let arguments = json!({ "command": command });
            let (terminal, context) = (&terminal, place.context());
            async move { terminal.call(arguments, &context).await }
        };

        assert_eq!(run("echo x > deep/beside/file").await, ToolResult::said("exit code: 0"));
        for command in
            ["echo x > \"$HOME_OF_OURS/config.toml\"", "mv deep/home deep/beside/", "mv deep away"]
        {
            let result = run(command).await;
            assert!(result.is_error, "{:?}: {command}: {result:?}", place.means);
        }
        assert!(std::fs::read_dir(&place.home).unwrap().next().is_none());
    }
}

const GUARDED: [&str; 3] = [".git", ".codex", ".agents"];

/// What is in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let found = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_decides_on_later_programs_is_not_written_and_what_is_not_there_not_made() {
    let [_, bubblewrap] = both();
    for is_there in [true, false] {
        let place = Place::new(SandboxMode::WorkspaceWrite, bubblewrap.clone());
        for name in GUARDED.iter().filter(|_| is_there) {
            std::fs::create_dir_all(place.work.join(name).join("hooks")).unwrap();
        }
        let before = names(&place.work);
        for name in GUARDED {
            for command in [
                format!("mkdir -p {name}/hooks && echo x > {name}/hooks/pre-commit"),
                format!("mkdir x && echo x > x/config.toml && mv -T x {name}"),
                format!("rmdir {name}; rm -rf {name}; mv {name} y; echo x > {name}"),
                format!("ln -sfn /tmp {name} && echo x > {name}/x"),
                format!("cd .. && mv work y && mkdir -p work/{name} && echo x > work/{name}/x"),
            ] {
                let result = place.run(&format!("rm -rf x y; {command}")).await;
                assert!(result.is_error, "there: {is_there}: {command}: {result:?}");
            }
        }
        place.run("rm -rf x y").await;
        assert_eq!(names(&place.work), before, "nothing is left behind");
        for name in GUARDED.iter().filter(|_| is_there) {
            assert_eq!(names(&place.work.join(name)), ["hooks"]);
            assert!(names(&place.work.join(name).join("hooks")).is_empty());
        }
        let result = place.run("echo x > file && mkdir folder && cat file").await;
        assert_eq!(result, ToolResult::said("x\nexit code: 0"));
    }
}

/// The places of both are on the same mounts, and the first to end must not open them for the other.
#[tokio::test]
async fn commands_beside_each_other_hold_the_same_places() {
    let [_, bubblewrap] = both();
    let place = Place::new(SandboxMode::WorkspaceWrite, bubblewrap);
    let before = names(&place.work);
    let long = place.run(
        "touch begun; while [ ! -e ended ]; do sleep 0.01; done; rm begun ended; mkdir -p .codex/x",
    );
    let short = async {
        while !place.work.join("begun").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let result = place.run("true && mkdir .git/x").await;
        std::fs::write(place.work.join("ended"), "").unwrap();
        result
    };
    let (long, short) = tokio::join!(long, short);
    assert!(long.is_error && short.is_error, "{long:?} {short:?}");
    assert_eq!(names(&place.work), before);
}

/// A folder above a writable one could be moved away, and another be put in its place.
#[tokio::test]
async fn the_way_to_a_writable_folder_below_another_stays() {
    let [_, bubblewrap] = both();
    let mut place = Place::new(SandboxMode::WorkspaceWrite, bubblewrap);
    let inner = place.work.join("a/b");
    std::fs::create_dir_all(&inner).unwrap();
    place.sandbox.writable_roots = vec![inner.display().to_string()];
    let result = place.run("mv a c && mkdir -p a/b/.codex && echo x > a/b/.codex/x").await;
    assert!(result.is_error && !inner.join(".codex").exists(), "{result:?}");
}

/// Landlock cannot take a part out of what it allows.
#[tokio::test]
async fn with_landlock_alone_a_command_is_asked_for() {
    let [landlock, bubblewrap] = both();
    let mut place = Place::new(SandboxMode::WorkspaceWrite, landlock);
    place.answer = Some(Decision::Deny);
    std::fs::create_dir_all(place.work.join(".git/hooks")).unwrap();
    let result = place.run("echo x > .git/hooks/pre-commit").await;
    assert!(result.content.starts_with("declined by ada (test)"), "{result:?}");
    assert!(names(&place.work.join(".git/hooks")).is_empty());

    place.answer = None;
    assert_eq!(place.run("ls -A .git").await, ToolResult::said("hooks\nexit code: 0"));

    // Nor can a link be held.
    place.means = bubblewrap;
    place.answer = Some(Decision::Deny);
    std::os::unix::fs::symlink("deep", place.work.join(".codex")).unwrap();
    let result = place.run("rm .codex && mkdir .codex").await;
    assert!(result.content.starts_with("declined by ada (test)"), "{result:?}");
}

/// Whoever puts a program of that name on the search path does not open the walls with it.
#[tokio::test]
async fn bubblewrap_is_used_where_it_works_and_landlock_holds_inside_of_it() {
    let [landlock, bubblewrap] = both();
    let Means::Bubblewrap(real) = &bubblewrap else { panic!("{bubblewrap:?}") };
    assert_eq!(Means::find(Some(real.clone())), Ok(bubblewrap.clone()));
    assert_eq!(Means::find(Some("/bin/false".into())), Ok(landlock));

    let mut place = Place::new(SandboxMode::WorkspaceWrite, bubblewrap);
    let fake = place.other.join("bwrap");
    let script = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n";
    ostler_testkit::write_script(&fake, script, 0o755).unwrap();
    place.means = Means::Bubblewrap(fake);
    assert_eq!(place.run("echo x > inside").await, ToolResult::said("exit code: 0"));
    let result = place.run("echo x > \"$OTHER/new\"").await;
    assert!(result.is_error && !place.other.join("new").exists(), "{result:?}");
}

#[tokio::test]
async fn without_the_network_nothing_is_reached_and_with_it_everything() {
    for means in both() {
        for network in [false, true] {
            let mut place = Place::new(SandboxMode::WorkspaceWrite, means.clone());
            place.sandbox.network = network;
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = tcp.local_addr().unwrap().port();
            let socket = place.work.join("s");
            let unix = UnixListener::bind(&socket).unwrap();
            let to_tcp = format!(
                "perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(\"127.0.0.1:{port}\") or die $!; print $s \"hi\"'"
            );
            let to_unix = "perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(\"s\") or die $!; print $s \"hi\"'";
            // A program speaks with its own children by such a pair.
            let pair = "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die $!; \
                send(A, \"hi\", 0) or die $!; recv(B, $x, 2, 0); print $x'";

            let what = format!("{means:?}, network {network}");
            for connect in [to_tcp.as_str(), to_unix] {
                let result = place.run(connect).await;
                assert_eq!(result.is_error, !network, "{what}: {connect}: {result:?}");
            }
            assert_eq!(place.run(pair).await, ToolResult::said("hi\nexit code: 0"), "{what}");
            if network {
                let mut heard = String::new();
                tcp.accept().unwrap().0.read_to_string(&mut heard).unwrap();
                unix.accept().unwrap().0.read_to_string(&mut heard).unwrap();
                assert_eq!(heard, "hihi");
            }
        }
    }
}

/// Whoever asked cannot answer: the daemon knows such a process, even without its environment.
#[tokio::test]
async fn a_command_is_known_for_an_agents() {
    let place = Place::new(SandboxMode::WorkspaceWrite, Means::Landlock);
    let (terminal, context) = (place.terminal(&[]), place.context());
    let stop = context.stop.clone();
    let arguments = json!({ "command": "setsid env -i /bin/sh -c 'echo $$ >> pids; sleep 1000'" });
    let looking = async {
        let pid = i32::try_from(place.pids(1).await[0]).unwrap();
        let found = above(&place.other, pid);
        stop.cancel();
        found
    };
    let (_, found) = tokio::join!(terminal.call(arguments, &context), looking);
    assert_eq!(found, Above::Codex { mark: "CODEX_SANDBOX" });
}
