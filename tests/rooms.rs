//! Holds the crates to the picture in ARCHITECTURE.md: who may know whom, and who alone may know a foreign world.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Every arrow between rooms that is allowed. An arrow that is not here is a design question, not a line to add.
const ARROWS: [(&str, &[&str]); 10] = [
    ("ostler-model", &[]),
    ("ostler-config", &[]),
    ("ostler-scripted-model", &[]),
    ("ostler-codex", &["ostler-model"]),
    // Who is an agent is for `codex` to know; the server is given a function that says so.
    ("ostler-server", &["ostler-engine", "ostler-model"]),
    ("ostler-store", &["ostler-model"]),
    ("ostler-engine", &["ostler-codex", "ostler-model", "ostler-store"]),
    // What it needs of the daemon it is given as traits, because it runs in another process: decision 0013.
    ("ostler-agent", &["ostler-model", "ostler-store"]),
    // `keeper`, `codex`, `doctor` and `demo` work without a daemon, so the door for people reaches codex itself.
    (
        "ostler",
        &[
            "ostler-agent",
            "ostler-codex",
            "ostler-config",
            // The daemon is this binary, too: it builds the engine and gives it to the server.
            "ostler-engine",
            "ostler-model",
            "ostler-scripted-model",
            "ostler-server",
        ],
    ),
    (
        "ostler-testkit",
        &["ostler-codex", "ostler-engine", "ostler-model", "ostler-scripted-model", "ostler-store"],
    ),
];

/// Crates that stand for a world only some rooms may know.
const WORLDS: [(&str, &[&str]); 14] = [
    ("clap", &["ostler"]),
    ("anstream", &["ostler"]),
    ("indicatif", &["ostler"]),
    ("pulldown-cmark", &["ostler"]),
    ("etcetera", &["ostler"]),
    ("tungstenite", &["ostler-codex"]),
    ("axum", &["ostler-server"]),
    ("hyper", &["ostler-codex", "ostler-scripted-model", "ostler-server"]),
    ("html5ever", &["ostler-agent"]),
    // The agent asks models; the server, which is where HTTP is known, tells webhooks and chats.
    ("reqwest", &["ostler-agent", "ostler-server"]),
    ("rmcp", &["ostler-server"]),
    ("rusqlite", &["ostler-store"]),
    ("tokio-rustls", &["ostler-server"]),
    (
        "tokio",
        &[
            "ostler",
            "ostler-agent",
            "ostler-codex",
            "ostler-engine",
            "ostler-scripted-model",
            "ostler-server",
            "ostler-store",
            "ostler-testkit",
        ],
    ),
];

/// Direct dependencies of each workspace crate, without those only its tests use.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let direct = dependencies.filter(|dependency| dependency["kind"].is_null());
            (name(package), direct.map(name).collect())
        })
        .collect()
}

#[test]
fn arrows_are_those_of_the_picture() {
    let allowed: BTreeMap<_, BTreeSet<_>> = ARROWS
        .iter()
        .map(|(room, knows)| ((*room).to_owned(), knows.iter().map(|n| (*n).to_owned()).collect()))
        .collect();
    let found = dependencies();
    let rooms: BTreeSet<_> = found.keys().cloned().collect();
    assert_eq!(rooms, allowed.keys().cloned().collect(), "rooms");
    for (room, direct) in &found {
        let arrows: BTreeSet<_> = direct.intersection(&rooms).cloned().collect();
        let wrong: Vec<_> = arrows.difference(&allowed[room]).collect();
        assert!(wrong.is_empty(), "{room} must not know {wrong:?}");
    }
}

#[test]
fn each_foreign_world_stops_at_its_room() {
    for (room, direct) in dependencies() {
        for (world, rooms) in WORLDS {
            let may = rooms.contains(&room.as_str());
            assert!(may || !direct.contains(world), "{room} must not know {world}");
        }
    }
}

/// `model` is pure: nothing that has a clock, randomness, I/O or async behind it.
#[test]
fn the_model_depends_on_nothing_with_effects() {
    // `sha2` is a function of its bytes: an ask's digest must be the same wherever it is taken.
    let allowed: BTreeSet<_> = ["serde", "sha2", "thiserror"].map(str::to_owned).into();
    let found = &dependencies()["ostler-model"];
    assert!(found.is_subset(&allowed), "{found:?}");
}
