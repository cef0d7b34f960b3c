//! `ostler doctor --fix`: what dead processes left goes, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::world::{VERSIONS, World};

const NEWEST: &str = VERSIONS[2];

/// What was done, and what was left, with the reasons.
fn fix(world: &World) -> (Vec<String>, Value) {
    let output = world.ostler(&["doctor", "--fix", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let home = format!("{}/", world.path("").display());
    let fixes = report["fixes"].as_array().unwrap().iter().map(|fix| {
        let text = match fix["left"].as_str() {
            None => fix["what"].as_str().unwrap().to_owned(),
            Some(why) => format!("{}: {why}", fix["what"].as_str().unwrap()),
        };
        text.replace(home.trim_end_matches("//"), "~").replace("~//", "~/")
    });
    (fixes.collect(), report.clone())
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap()
}

#[test]
fn what_dead_processes_left_is_taken_away_and_each_is_named() {
    let world = World::with(NEWEST);
    let mut dead = Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let (scratch, schema) =
        (format!("state/doctor-{}", dead.id()), format!("cache/schema-{}", dead.id()));
    let own = format!("state/doctor-{}", std::process::id());
    for folder in [scratch.as_str(), &schema, &own, "state/doctor-notes", "run"] {
        fs::create_dir_all(world.path(folder)).unwrap();
    }
    world.write(&format!("{scratch}/auth.json"), "old");
    world.write("state/daemon.lock", "");
    world.write("codex-home/history.jsonl", "mine\n");
    drop(UnixListener::bind(world.path("run/daemon.sock")).unwrap());
    fs::set_permissions(world.path("run"), fs::Permissions::from_mode(0o755)).unwrap();
    let found = world.doctor();
    assert_eq!(found.check("leftovers")[..2], ["warning", "3 things that nobody needs"]);
    assert_eq!(found.check("runtime-folder")[0], "problem");

    let (fixes, report) = fix(&world);

    let mut expected = vec![
        "~/run: closed to other users".to_owned(),
        format!("removed the folder ~/{schema}"),
        "removed the socket ~/run/daemon.sock".to_owned(),
        format!("removed the folder ~/{scratch}"),
    ];
    expected.sort();
    let mut told = fixes;
    told.sort();
    assert_eq!(told, expected);
    assert_eq!(check(&report, "leftovers")["state"], "ok", "{report}");
    assert_eq!(check(&report, "runtime-folder")["state"], "ok", "{report}");
    for gone in [scratch.as_str(), &schema, "run/daemon.sock"] {
        assert!(!world.path(gone).exists(), "{gone}");
    }
    for kept in
        [own.as_str(), "state/doctor-notes", "state/daemon.lock", "codex-home/history.jsonl"]
    {
        assert!(world.path(kept).exists(), "{kept}");
    }
    assert_eq!(fix(&world).0, [""; 0], "the second time there is nothing to do");
}

#[test]
fn a_codex_without_its_keeper_is_ended() {
    let world = World::with(NEWEST);
    let codex = ostler_testkit::codex_binary(NEWEST).unwrap();
    let codex = codex.to_str().unwrap();
    let started = world.ostler(&["keeper", "start", "--json", "--codex", codex]);
    let started: Value = serde_json::from_slice(&started.stdout).unwrap();
    let id = started["id"].as_str().unwrap();
    let pid = |of: &str| i32::try_from(started["record"][of]["pid"].as_i64().unwrap()).unwrap();
    assert_eq!(fix(&world).0, [""; 0], "a keeper that lives was touched");

    kill_process(Pid::from_raw(pid("keeper")).unwrap(), Signal::KILL).unwrap();
    wait_for_end(pid("keeper"));
    let (fixes, report) = fix(&world);

    let [fixed] = fixes.as_slice() else { panic!("{fixes:?}") };
    let start = format!("ended the Codex of the dead keeper {id}, and all below it: ");
    assert!(fixed.starts_with(&start), "{fixed}");
    wait_for_end(pid("codex"));
    let found = "none runs; 1 ended within the last day";
    assert_eq!(check(&report, "keepers")["found"], json!(found));
}

fn wait_for_end(pid: i32) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < deadline, "{pid} did not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An agent must not put in order what is not its own.
#[test]
fn an_agent_fixes_nothing() {
    let world = World::empty();
    fs::create_dir_all(world.path("run")).unwrap();
    fs::set_permissions(world.path("run"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    let output =
        command.args(["doctor", "--fix"]).env("OSTLER_KEEPER", "0123abcd").output().unwrap();

    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let mode = fs::metadata(world.path("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

/// A task that is forgotten has left two worktrees: one as it began, and one with work in it.
#[test]
fn a_worktree_without_a_task_goes_only_if_nothing_is_lost() {
    let world = World::empty();
    for command in ["start", "stop"] {
        let output = world.ostler(&["daemon", command]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let script = r#"
        git init -q -b main inn && cd inn
        git -c user.name=x -c user.email=x@x commit -q --allow-empty -m first
        for task in empty worked; do
            path="$HOME/state/worktrees/$task"
            git worktree add -q -b "ostler/$task" "$path"
            printf '{"repository":"%s","path":"%s","branch":"ostler/%s","base":"%s","into":"main"}' \
                "$PWD" "$path" "$task" "$(git rev-parse HEAD)" > "$path.json"
        done
        echo work > "$HOME/state/worktrees/worked/file""#;
    fs::create_dir_all(world.path("state/worktrees")).unwrap();
    let mut shell = world.command("bash");
    let output = shell.args(["-ec", script]).current_dir(world.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let (mut fixes, _) = fix(&world);
    fixes.retain(|fix| fix.contains("worktree"));

    assert_eq!(
        fixes,
        [
            "removed the worktree ~/state/worktrees/empty of the forgotten task empty",
            "the worktree ~/state/worktrees/worked of the forgotten task worked: \
             it has work that is nowhere else",
        ]
    );
    assert!(!world.path("state/worktrees/empty").exists());
    assert_eq!(fs::read_to_string(world.path("state/worktrees/worked/file")).unwrap(), "work\n");
}
