//! Several processes at once, and processes that die at work.

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::fixture::{Home, wait_until};

/// Writes half an install, says its process id, and never ends.
const HANGING: &str = "mkdir -p $folder/node_modules; echo half > $folder/node_modules/half
echo $$ > $home/npm.new; mv $home/npm.new $home/npm.pid; sleep 600";

#[test]
fn two_processes_install_the_real_version_once() {
    let home = Home::empty();
    let start = || home.ostler("codex install 0.130.0 --json").spawn().unwrap();
    let processes = [start(), start()];
    let mut origins: Vec<String> = processes
        .into_iter()
        .map(|process| {
            let output = process.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            report["origin"].as_str().unwrap().to_owned()
        })
        .collect();
    origins.sort();
    assert_eq!(origins, ["already_there", "fetched"]);
    assert_eq!(home.unfinished(), Vec::<PathBuf>::new());
}

#[test]
fn what_a_killed_install_leaves_does_not_count_and_is_swept() {
    let home = Home::empty();
    let (mut process, npm) = start_hanging(&home);
    process.kill().unwrap();
    process.wait().unwrap();
    insta::assert_snapshot!(home.run("codex list --json"), @r#"
    {"in_use":null,"codex":[],"passed_over":[]}
    --- stderr
    note: no Codex is in use; run `ostler codex install` to fetch one
    --- exit 0
    "#);
    // npm outlived its master and still writes: its folder is left to it until it ends too.
    install_another(&home);
    let staging = home.cache().join(".staging/0.130.0");
    assert_eq!(home.unfinished(), [staging]);
    kill_process_group(npm, Signal::KILL).unwrap();
    wait_until("the dead npm's folder to be swept", || {
        install_another(&home);
        home.unfinished().is_empty()
    });
}

#[test]
fn an_interrupted_install_takes_npm_along_and_cleans_up() {
    let home = Home::empty();
    let (process, npm) = start_hanging(&home);
    kill_process(pid(&process), Signal::TERM).unwrap();
    let output = process.wait_with_output().unwrap();
    insta::assert_snapshot!(home.transcript(output), @r"
    --- stderr
    fetching Codex 0.130.0
    error: interrupted
    --- exit 130
    ");
    let stat = format!("/proc/{}/stat", npm.as_raw_nonzero());
    wait_until("npm to be gone", || {
        // A zombie that nobody reaped yet counts as gone.
        !fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "))
    });
    install_another(&home);
    assert_eq!(home.unfinished(), Vec::<PathBuf>::new());
}

fn start_hanging(home: &Home) -> (Child, Pid) {
    let bin = home.fake_npm(HANGING);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut command = home.ostler("codex install 0.130.0");
    let process = command.env("PATH", path).spawn().unwrap();
    let note = home.path().join("npm.pid");
    wait_until("npm to work", || note.exists());
    let number: i32 = fs::read_to_string(note).unwrap().trim().parse().unwrap();
    (process, Pid::from_raw(number).unwrap())
}

/// An install of another version, with an npm that only fails: all it does is to sweep.
fn install_another(home: &Home) {
    let bin = home.fake_npm("exit 1");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut command = home.ostler("codex install 0.142.5");
    let output = command.env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

fn pid(process: &Child) -> Pid {
    Pid::from_raw(process.id().cast_signed()).unwrap()
}
