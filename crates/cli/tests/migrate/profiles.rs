//! Permission profiles by the names that each Codex has.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, ask, refusal, report};

#[rstest]
fn a_name_that_this_codex_does_not_know_is_refused_before_it_is_written(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let world = World::new(version);
    let host = world.path("host.yaml");
    let write = |profile: &str| {
        world.migrate(&[
            "--write",
            "--json",
            "--permissions",
            profile,
            "--from",
            host.to_str().unwrap(),
        ])
    };
    let (known, unknown) = match version {
        "0.130.0" => (":danger-no-sandbox", ":danger-full-access"),
        _ => (":danger-full-access", ":danger-no-sandbox"),
    };
    for name in [unknown, ":workspace-write", ":nope"] {
        let expected = format!(
            "Codex {version} has no permission profile {name}; it has :read-only, :workspace, {known}"
        );
        assert_eq!(refusal(&write(name)), expected);
    }
    assert_eq!(
        refusal(&write("mine")),
        "there is no [permissions.mine] in the file; write one, or take one of Codex's own, such as :workspace"
    );
    assert!(!world.config().exists());
    for name in [":read-only", ":workspace", known] {
        assert_eq!(report(&write(name))["permissions"], name);
        let text = fs::read_to_string(world.config()).unwrap();
        assert!(text.contains(&format!("default_permissions = {name:?}\n")), "{text}");
    }
    assert_eq!(report(&write("none"))["permissions"], serde_json::Value::Null);
    assert!(!fs::read_to_string(world.config()).unwrap().contains("default_permissions"));

    world.undo();
    fs::write(world.config(), "[permissions.mine.filesystem]\n\":minimal\" = \"read\"\n").unwrap();
    assert_eq!(report(&write("mine"))["permissions"], "mine");
    world.undo();
    fs::write(world.config(), "default_permissions = \":read-only\"\n").unwrap();
    let theirs = report(&write(":workspace"));
    assert_eq!(theirs["permissions"], serde_json::Value::Null);
    assert_eq!(theirs["notes"][0], "default_permissions is yours, and stays as it is");
}

/// A permission profile wins over the sandbox that the user has set: nobody gets one unasked.
#[rstest]
#[case("0.130.0", "sandbox_mode = \"read-only\"\n")]
#[case("0.142.5", "sandbox_mode = \"read-only\"\n")]
#[case("0.166.0", "sandbox_mode = \"read-only\"\n")]
// Later versions load no file with `profile` in it.
#[case("0.130.0", "profile = \"p\"\n[profiles.p]\nsandbox_mode = \"read-only\"\n")]
fn the_users_own_sandbox_is_as_wide_as_before(#[case] version: &str, #[case] own: &str) {
    let world = World::new(version);
    let sandbox = || {
        let start = ("thread/start", json!({ "cwd": world.path("") }));
        ask(&world, version, &world.path("codex"), &[start])[0]["sandbox"]["type"].clone()
    };
    fs::write(world.config(), own).unwrap();
    assert_eq!(sandbox(), "readOnly");
    let told = report(&world.write());
    assert_eq!((&told["written"], &told["permissions"]), (&json!(true), &Value::Null), "{told}");
    let note = told["notes"][0].as_str().unwrap();
    assert!(note.contains("sandbox_mode is yours, so no default_permissions is written"), "{note}");
    assert_eq!(sandbox(), "readOnly");
    assert_eq!(report(&world.write())["written"], false);

    // Who asks for one gets it, and is told what that means.
    let told = report(&world.migrate(&["--write", "--json", "--permissions", ":workspace"]));
    assert_eq!(told["permissions"], ":workspace", "{told}");
    assert!(told["notes"][0].as_str().unwrap().starts_with("default_permissions wins over your "));
}

#[test]
fn what_an_earlier_run_was_asked_for_is_kept() {
    let world = World::new("0.166.0");
    let folder = world.path("trusted");
    fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let write = |more: &[&str]| report(&world.migrate(&[&["--write", "--json"], more].concat()));
    let text = || fs::read_to_string(world.config()).unwrap();

    write(&["--permissions", ":read-only", "--trust", folder]);
    let before = text();
    let told = write(&[]);
    assert_eq!((&told["written"], &told["permissions"]), (&json!(false), &json!(":read-only")));
    assert_eq!(text(), before);
    let read: toml::Table = toml::from_str(&before).unwrap();
    assert_eq!(read["projects"][folder]["trust_level"].as_str(), Some("trusted"));

    // Another folder comes to those that are there, and a file with more servers changes nothing of it.
    let other = world.path("other");
    fs::create_dir(&other).unwrap();
    write(&["--trust", other.to_str().unwrap()]);
    assert_eq!(report(&world.write())["permissions"], ":read-only");
    let read: toml::Table = toml::from_str(&text()).unwrap();
    assert_eq!(read["projects"].as_table().unwrap().len(), 2, "{read}");

    write(&["--permissions", "none"]);
    let told = write(&[]);
    assert_eq!((&told["written"], &told["permissions"]), (&json!(false), &Value::Null));
    assert!(!text().contains("default_permissions"));
}

#[test]
fn nobody_gets_a_profile_unasked() {
    let world = World::new("0.166.0");
    let told = report(&world.write());
    assert_eq!((&told["written"], &told["permissions"]), (&json!(true), &Value::Null), "{told}");
    assert!(!fs::read_to_string(world.config()).unwrap().contains("default_permissions"));
}

#[test]
fn the_servers_of_an_earlier_file_stay_until_somebody_says_otherwise() {
    let world = World::new("0.166.0");
    let file = |name: &str| {
        let path = world.path(&format!("{name}.json"));
        let servers = json!({ "mcpServers": { name: { "command": "/usr/bin/true" } } });
        fs::write(&path, servers.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (hay, oats) = (file("hay"), file("oats"));
    let names = |more: &[&str]| {
        let told = report(&world.migrate(&[&["--json"], more].concat()));
        let servers = told["servers"].as_array().unwrap().iter();
        let names = servers.map(|server| server["name"].as_str().unwrap().to_owned());
        (names.filter(|name| name != "ostler-tools").collect::<Vec<_>>(), told["notes"].to_string())
    };
    assert_eq!(names(&["--from", &hay]).0, ["hay"]);
    assert_eq!(names(&["--from", &oats]).0, ["hay", "oats"]);
    let (left, notes) = names(&["--from", &oats, "--only"]);
    assert_eq!(left, ["oats"]);
    assert!(notes.contains(&format!("the servers of {hay} are not taken any more")), "{notes}");
    assert_eq!(names(&[]).0, ["oats"]);
}
