//! What a person is told, word for word.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::world::{World, names};

fn said(world: &World, arguments: &[&str]) -> String {
    let output = world.migrate(arguments);
    let text = format!(
        "{}--- stderr\n{}--- exit {}",
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
        output.status.code().unwrap()
    );
    text.replace(world.path("").to_str().unwrap(), "[HOME]/")
}

#[test]
fn the_file_stays_and_every_key_is_told() {
    let world = World::new("0.166.0");
    fs::write(world.config(), "[mcp_servers.oats]\ncommand = \"mine\"\n").unwrap();
    let file = world.path("mcp.json");
    let text = r#"{"mcpServers": {
        "hay": {"command": "cut", "env": {"HAY_TOKEN": "not-to-be-copied", "LOG": "debug"}, "timeout": 5000, "trust": true},
        "oats": {"url": "https://oats.example/mcp"},
        "my bale": {"url": "https://bale.example/mcp", "headers": {"Authorization": "Bearer ${BALE}"}},
        "lost": {"args": []}
    }}"#;
    fs::write(&file, text).unwrap();
    let from = ["--from", file.to_str().unwrap()];
    assert_snapshot!(said(&world, &[&from[..], &["--dry-run"]].concat()), @r#"
    ~/mcp.json: 4 servers
    server ostler-tools
    server hay
      env.HAY_TOKEN → env_vars (stored as HAY_TOKEN)
      env.LOG → env
      timeout → tool_timeout_sec (5000 is taken for milliseconds)
      trust is left out (what runs without asking is for rules to say: see `ostler policy`)
    server my-bale (there called my bale)
      headers.Authorization → bearer_token_env_var
    server oats: your config.toml has one of this name, which stays
    left out: [HOME]/mcp.json: lost has neither a command nor a url; give it one
    to do for my-bale: set BALE
    secrets in ~/state/migrate/secrets.json, which only you can read: HAY_TOKEN
    nothing was done: this was a dry run
    --- stderr
    --- exit 1
    "#);
    assert!(!world.path("state/migrate").exists());
    assert_snapshot!(said(&world, &from), @r#"
    ~/mcp.json: 4 servers
    server ostler-tools
    server hay
      env.HAY_TOKEN → env_vars (stored as HAY_TOKEN)
      env.LOG → env
      timeout → tool_timeout_sec (5000 is taken for milliseconds)
      trust is left out (what runs without asking is for rules to say: see `ostler policy`)
    server my-bale (there called my bale)
      headers.Authorization → bearer_token_env_var
    server oats: your config.toml has one of this name, which stays
    left out: [HOME]/mcp.json: lost has neither a command nor a url; give it one
    to do for my-bale: set BALE
    secrets in ~/state/migrate/secrets.json, which only you can read: HAY_TOKEN
    Codex gets them with each thread; ~/codex/config.toml stays as it is
    --- stderr
    --- exit 1
    "#);
    assert_snapshot!(said(&world, &[]), @r#"
    ~/mcp.json: 4 servers
    server ostler-tools
    server hay
      env.HAY_TOKEN → env_vars (stored as HAY_TOKEN)
      env.LOG → env
      timeout → tool_timeout_sec (5000 is taken for milliseconds)
      trust is left out (what runs without asking is for rules to say: see `ostler policy`)
    server my-bale (there called my bale)
      headers.Authorization → bearer_token_env_var
    server oats: your config.toml has one of this name, which stays
    left out: [HOME]/mcp.json: lost has neither a command nor a url; give it one
    to do for my-bale: set BALE
    secrets in ~/state/migrate/secrets.json, which only you can read: HAY_TOKEN
    that is as it was
    --- stderr
    --- exit 1
    "#);
    let kept = fs::read_to_string(world.path("state/migrate/overlay.json")).unwrap();
    assert!(!kept.contains("not-to-be-copied"), "{kept}");
    assert_eq!(
        fs::read_to_string(world.config()).unwrap(),
        "[mcp_servers.oats]\ncommand = \"mine\"\n"
    );
    assert_snapshot!(said(&world, &["--undo"]), @r#"
    the secrets that were stored are removed
    Codex gets no MCP servers with its threads any more
    taken back; ~/codex/config.toml is as it was before
    --- stderr
    --- exit 0
    "#);
    assert_snapshot!(said(&world, &["--undo"]), @r#"
    there is nothing to take back
    --- stderr
    --- exit 0
    "#);
    assert_eq!(world.home(), ["config.toml"]);
    assert_eq!(names(&world.path("state/migrate")), Vec::<String>::new());
}

/// The value of the host's file, by whoever has it now.
fn holds_secret(world: &World) -> bool {
    let stored = fs::read_to_string(world.path("state/migrate/secrets.json"));
    stored.is_ok_and(|stored| stored.contains("not-to-be-copied"))
}

/// Nobody is asked where the runtime is switched, so there it stays as the person has wanted it before.
#[test]
fn secrets_are_stored_unless_the_person_says_otherwise() {
    let world = World::new("0.166.0");
    let file = world.path("host.yaml");
    let from = ["--from", file.to_str().unwrap()];
    let switch = || {
        let mut switch = world.command(env!("CARGO_BIN_EXE_ostler"));
        assert!(switch.args(["runtime", "codex"]).output().unwrap().status.success());
    };
    let by_hand = "to do for hay: set HAY_TOKEN to what stands in env.HAY_TOKEN, and name it in pass of [environment]";
    let told = said(&world, &[&from[..], &["--no-secrets"]].concat());
    assert!(told.contains(by_hand), "{told}");
    switch();
    assert!(!holds_secret(&world));
    let told = said(&world, &[]);
    assert!(!told.contains(by_hand), "{told}");
    assert!(holds_secret(&world));
    switch();
    assert!(holds_secret(&world));
    // Written into the file, they belong to that file.
    let told = said(&world, &["--write"]);
    assert!(told.contains("which only you can read: HAY_TOKEN"), "{told}");
    assert!(!fs::read_to_string(world.config()).unwrap().contains("not-to-be-copied"));
    let told = said(&world, &["--write", "--no-secrets"]);
    assert!(told.contains(by_hand), "{told}");
    assert!(!world.path("state/migrate/secrets.json").exists());
}

#[test]
fn nothing_is_stored_where_it_could_be_published() {
    let world = World::new("0.166.0");
    let file = world.path("host.yaml");
    let from = ["--from", file.to_str().unwrap()];
    fs::create_dir(world.path(".git")).unwrap();
    let told = said(&world, &from);
    assert!(
        told.contains("secrets are not stored: [HOME]/state/migrate is inside of the repository"),
        "{told}"
    );
    assert!(told.contains("to do for hay: set HAY_TOKEN"), "{told}");
    assert!(!holds_secret(&world));
    fs::write(world.path(".gitignore"), "/state\n").unwrap();
    assert!(!said(&world, &from).contains("not stored"));
    assert!(holds_secret(&world));

    let home = world.path("");
    let told = said(&world, &[&from[..], &["--to", home.to_str().unwrap()]].concat());
    assert!(told.contains("is inside of the Codex home"), "{told}");
}

/// What others can read may have been read; it is neither used nor hidden by a new one.
#[test]
fn a_file_that_others_can_read_is_refused() {
    let world = World::new("0.166.0");
    let file = world.path("host.yaml");
    let from = ["--from", file.to_str().unwrap()];
    assert!(said(&world, &from).contains("which only you can read"));
    let stored = world.path("state/migrate/secrets.json");
    fs::set_permissions(&stored, fs::Permissions::from_mode(0o640)).unwrap();
    for arguments in [&from[..], &["--undo"]] {
        let told = said(&world, arguments);
        assert!(
            told.contains("can be read by other users (mode 0640), so it is not used"),
            "{told}"
        );
        assert!(told.contains("run `chmod 600 "), "{told}");
    }
    assert!(holds_secret(&world));
}

#[test]
fn a_folder_is_trusted_where_the_user_has_not_said_otherwise() {
    let world = World::new("0.166.0");
    let odd = world.path("a \"b\" [c]");
    fs::create_dir(&odd).unwrap();
    let folder = odd.to_str().unwrap();
    assert!(world.migrate(&["--write", "--trust", folder]).status.success());
    let text = fs::read_to_string(world.config()).unwrap();
    let read: toml::Table = toml::from_str(&text).unwrap();
    assert_eq!(read["projects"][folder]["trust_level"].as_str(), Some("trusted"));
    assert!(world.migrate(&["--undo"]).status.success());
    let own = format!("[projects.{folder:?}]\ntrust_level = \"untrusted\"\n");
    fs::write(world.config(), &own).unwrap();
    let told = said(&world, &["--write", "--trust", folder]);
    assert!(told.contains("is yours, and stays as it is"), "{told}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let world = World::new("0.166.0");
    let file = world.path("bad.json");
    fs::write(&file, "{\"model\": 1}").unwrap();
    assert_snapshot!(said(&world, &["--from", file.to_str().unwrap()]), @r#"
    --- stderr
    error: [HOME]/bad.json holds no MCP servers; they are looked for below mcp_servers, mcpServers, servers, context_servers, mcp and extensions
      nothing was changed
    --- exit 1
    "#);
    assert_snapshot!(said(&world, &["--from", "/nowhere/mcp.json"]), @r#"
    --- stderr
    error: /nowhere/mcp.json cannot be read: No such file or directory (os error 2)
      nothing was changed
    --- exit 1
    "#);
    fs::write(world.config(), "mcp_servers = { mine = { command = 'x' } }\n").unwrap();
    assert_snapshot!(said(&world, &["--write"]), @r#"
    --- stderr
    error: [HOME]/codex/config.toml: mcp_servers is written there as one value, to which no table can be added; write it as [mcp_servers.NAME]
      nothing was changed; without --write, Codex gets the servers with each thread and the file may stay as it is
    --- exit 1
    "#);
}

/// Whoever wrote once need not name the file again, and what stands in Codex's file is not given with threads as well.
#[test]
fn what_was_written_is_known_the_next_time() {
    let world = World::new("0.166.0");
    assert!(world.write().status.success());
    let text = fs::read_to_string(world.config()).unwrap();
    let again = said(&world, &["--write"]);
    assert!(again.contains("config.toml is as it was"), "{again}");
    assert_eq!(fs::read_to_string(world.config()).unwrap(), text);
    let overlay = said(&world, &[]);
    assert!(overlay.contains("server hay: is written into config.toml\n"), "{overlay}");
    let kept = fs::read_to_string(world.path("state/migrate/overlay.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["servers"], serde_json::json!({}));
}
