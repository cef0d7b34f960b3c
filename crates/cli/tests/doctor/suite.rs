//! `ostler doctor --codex BIN`: the compatibility suite on real Codex, and on what is none.

use std::process::Output;

use serde_json::{Value, json};

use super::world::{VERSIONS, World};

const FLOWS: [&str; 13] = [
    "version",
    "schema",
    "greeting",
    "plain-turn",
    "command-allowed",
    "command-refused",
    "file-change",
    "steer",
    "interrupt",
    "goal",
    "two-clients",
    "unknown-request",
    "resume-after-kill",
];

fn report(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{errors}"))
}

fn results(report: &Value) -> Vec<(&str, &str)> {
    let flows = report["flows"].as_array().unwrap().iter();
    flows.map(|flow| (flow["flow"].as_str().unwrap(), flow["result"].as_str().unwrap())).collect()
}

#[test]
fn every_flow_passes_on_every_version_and_nothing_is_left() {
    for version in VERSIONS {
        let world = World::empty();
        world.write("codex-home/config.toml", "model = \"mine\"\n");
        let codex = ostler_testkit::codex_binary(version).unwrap();
        let mut before = world.files();

        let output = world.ostler(&["doctor", "--json", "--codex", codex.to_str().unwrap()]);

        let report = report(&output);
        let expected: Vec<_> = FLOWS.iter().map(|flow| (*flow, "passed")).collect();
        assert_eq!(results(&report), expected, "{version}: {report:#}");
        assert_eq!((&report["ok"], &report["version"]), (&json!(true), &json!(version)));
        assert_eq!(output.status.code(), Some(0));
        let mut after = world.files();
        for files in [&mut before, &mut after] {
            files.retain(|name, _| name != "run" && name != "run/keepers");
        }
        assert_eq!(after, before, "{version}: the suite left something behind");
    }
}

/// A binary by its name on PATH, shown to a person.
#[test]
fn the_table_says_what_was_tried() {
    let world = World::empty();
    let codex = ostler_testkit::codex_binary(VERSIONS[2]).unwrap();
    std::os::unix::fs::symlink(&codex, world.path("bin/my-codex")).unwrap();

    let output = world.ostler(&["doctor", "--codex", "my-codex"]);

    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(&format!("Codex {}, ", VERSIONS[2])), "{text}");
    assert!(text.lines().any(|line| line.starts_with("FLOW               RESULT")), "{text}");
    assert_eq!(text.lines().last(), Some("all 13 flows passed"), "{text}");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn what_is_no_codex_fails_and_nothing_else_is_tried() {
    let world = World::empty();
    for (binary, why) in
        [("/usr/bin/true", "without a version number"), ("/nowhere/codex", "is not there")]
    {
        let output = world.ostler(&["doctor", "--json", "--codex", binary]);

        let report = report(&output);
        let mut expected: Vec<_> = FLOWS.iter().map(|flow| (*flow, "not_tried")).collect();
        expected[0].1 = "failed";
        assert_eq!(results(&report), expected, "{report:#}");
        let saw = report["flows"][0]["saw"].as_str().unwrap();
        assert!(saw.contains(why), "{binary}: {saw}");
        assert_eq!((output.status.code(), &report["ok"]), (Some(1), &json!(false)));
    }
}
