//! MCP servers, plugins, names that are there twice, and databases, with real Codex.

use std::fs;

use serde_json::json;

use super::world::{VERSIONS, World};

/// A server with three tools.
const TINY: &str = include_str!("../../../../testkit/src/mcp/tiny.mjs");

#[test]
fn mcp_servers_list_their_tools_or_are_named_with_their_fault() {
    for version in VERSIONS {
        let world = World::with(version);
        world.write("tiny.mjs", TINY);
        let config = format!(
            "[mcp_servers.tiny]\ncommand = \"node\"\nargs = [{:?}]\n\
             [mcp_servers.missing]\ncommand = \"/nowhere/server\"\n\
             [mcp_servers.slow]\ncommand = \"sleep\"\nargs = [\"1000\"]\nstartup_timeout_sec = 1\n\
             [mcp_servers.off]\ncommand = \"false\"\nenabled = false\n",
            world.path("tiny.mjs")
        );
        world.write("codex-home/config.toml", &config);
        let before = world.files();

        let diagnosis = world.doctor();

        let [state, found, advice] = diagnosis.check("mcp-servers");
        let expected = "1 of 3 started and listed tools; 1 switched off";
        assert_eq!((state, found), ("warning", expected), "{version}: {}", diagnosis.text);
        assert!(advice.starts_with("correct what failed in ~/codex-home/config.toml"), "{advice}");
        let details = diagnosis.details("mcp-servers");
        let [missing, off, slow, tiny] = details.as_slice() else { panic!("{details:?}") };
        assert_eq!(
            *missing, "missing: failed: No such file or directory (os error 2)",
            "{version}"
        );
        assert_eq!((*off, *tiny), ("off: switched off", "tiny: 3 tools"), "{version}");
        assert!(
            slow.starts_with("slow: failed: ") && slow.contains("timed out"),
            "{version}: {slow}"
        );
        assert_eq!(diagnosis.exit, 0, "a server that fails is no problem of the machine");
        assert_eq!(world.files(), before, "{version}: the doctor left something behind");
    }
}

/// They stand in no file of Codex's, and threads have them all the same.
#[test]
fn migrated_mcp_servers_are_started_and_listed_too() {
    for version in VERSIONS {
        let world = World::with(version);
        world.write("tiny.mjs", TINY);
        let servers = json!({ "mcpServers": {
            "hay": { "command": "node", "args": [world.path("tiny.mjs")], "env": { "LOG": "a \"b\"" } },
            "gone": { "command": "/nowhere/server" },
        } });
        world.write("other.json", &servers.to_string());
        let other = world.path("other.json").display().to_string();
        let migrated = world.ostler(&["migrate", "--from", &other, "--json"]);
        assert!(migrated.status.success(), "{version}: {migrated:?}");

        let diagnosis = world.doctor();

        let details = diagnosis.details("mcp-servers");
        let is_told = |wanted: &str| details.iter().any(|line| line.starts_with(wanted));
        assert!(is_told("hay (migrated): 3 tools"), "{version}: {details:?}");
        assert!(is_told("gone (migrated): failed: "), "{version}: {details:?}");
        assert!(is_told("ostler-tools (migrated): "), "{version}: {details:?}");
        let [state, _, advice] = diagnosis.check("mcp-servers");
        assert_eq!(state, "warning", "{version}");
        assert!(advice.contains("run `ostler migrate` again"), "{version}: {advice}");
        let config = fs::read_to_string(world.path("codex-home/config.toml")).unwrap_or_default();
        assert!(!config.contains("hay"), "{version}: {config}");
    }
}

#[test]
fn plugins_are_told_as_codex_has_them() {
    for version in VERSIONS {
        let world = World::with(version);
        let market = world.path("market");
        let manifest = json!({ "name": "demo", "version": "1.0.0", "description": "A demo." });
        let plugin = |name: &str| json!({ "name": name, "source": { "source": "local", "path": format!("./plugins/{name}") } });
        let list = json!({ "name": "inn", "plugins": [plugin("demo"), plugin("other")] });
        for folder in [
            "market/.agents/plugins",
            "market/plugins/demo/.codex-plugin",
            "market/plugins/other/.codex-plugin",
            "codex-home/plugins/cache/inn/demo/1.0.0/.codex-plugin",
        ] {
            fs::create_dir_all(world.path(folder)).unwrap();
        }
        world.write("market/.agents/plugins/marketplace.json", &list.to_string());
        for folder in ["market/plugins/demo", "codex-home/plugins/cache/inn/demo/1.0.0"] {
            let file = format!("{folder}/.codex-plugin/plugin.json");
            world.write(&file, &manifest.to_string());
        }
        let other = json!({ "name": "other", "version": "1.0.0", "description": "Another." });
        world.write("market/plugins/other/.codex-plugin/plugin.json", &other.to_string());
        let config = |plugins: &str| {
            format!("[marketplaces.inn]\nsource_type = \"local\"\nsource = {market:?}\n{plugins}")
        };
        let demo = "[plugins.\"demo@inn\"]\nenabled = true\n";
        world.write("codex-home/config.toml", &config(demo));
        let before = world.files();

        let diagnosis = world.doctor();
        let expected = ["ok", "1 in use: demo@inn", ""];
        assert_eq!(diagnosis.check("plugins"), expected, "{version}: {}", diagnosis.text);
        assert_eq!(world.files(), before, "{version}: the doctor left something behind");

        let lost = format!("{demo}[plugins.\"other@inn\"]\nenabled = true\n");
        world.write("codex-home/config.toml", &config(&lost));
        let diagnosis = world.doctor();
        let [state, found, _] = diagnosis.check("plugins");
        assert_eq!((state, found), ("warning", "1 in use: demo@inn"), "{version}");
        let details = ["other@inn: switched on, but not installed"];
        assert_eq!(diagnosis.details("plugins"), details, "{version}");
    }
}

#[test]
fn what_is_there_twice_is_named_with_both_lines() {
    for version in VERSIONS {
        let world = World::with(version);
        let twice = "model = \"x\"\n\n[mcp_servers.a]\ncommand = \"a\"\n\n[mcp_servers.a]\ncommand = \"b\"\n";
        world.write("codex-home/config.toml", twice);

        let diagnosis = world.doctor();

        let [state, found, _] = diagnosis.check("codex-config");
        let expected = ("problem", "~/codex-home/config.toml:6:14: duplicate key");
        assert_eq!((state, found), expected, "{version}");
        let details = [
            "line 6: the table `a` is there twice; the first is in line 3; keep one of them",
            "line 7: the key `command` is there twice; the first is in line 4; keep one of them",
        ];
        assert_eq!(diagnosis.details("codex-config"), details, "{version}");
        assert_eq!(diagnosis.exit, 1);
    }
}

/// Without any Codex the file is still read.
#[test]
fn a_file_that_is_no_toml_is_named_also_without_codex() {
    let world = World::empty();
    fs::write(world.path("codex-home/config.toml"), b"model = \"x\"\nname = \"\xff\"\n").unwrap();
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    command.args(["doctor", "--json"]).env("PATH", world.path("bin"));
    let diagnosis =
        super::world::Diagnosis::read(&command.output().unwrap(), &world.path("").join("."));

    assert_eq!(diagnosis.check("codex-config")[0], "problem", "{}", diagnosis.text);
    let details = ["line 2: not UTF-8; save the file as UTF-8"];
    assert_eq!(diagnosis.details("codex-config"), details);
}

#[test]
fn a_database_that_is_damaged_is_a_problem() {
    let world = World::with(VERSIONS[2]);
    fs::create_dir(world.path("state")).unwrap();
    world.write("state/ostler.db", "this is not a database, and longer than a hundred bytes, which is what SQLite reads of it first to see");
    let before = world.files();

    let diagnosis = world.doctor();

    let [state, found, advice] = diagnosis.check("databases");
    assert_eq!((state, found), ("problem", "cannot be used: tasks"), "{}", diagnosis.text);
    assert!(advice.contains("copy ~/state/ostler.db away"), "{advice}");
    assert!(diagnosis.details("databases").concat().contains("is not a database"));
    assert_eq!((diagnosis.exit, world.files()), (1, before));
}
