//! Plugins of a local marketplace, installed by real Codex.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, ask, report};

/// A marketplace with two plugins, both installed in the home.
fn install(world: &World, version: &str) {
    let market = world.path("market");
    let index = market.join(".agents/plugins/marketplace.json");
    fs::create_dir_all(index.parent().unwrap()).unwrap();
    let entry = |name: &str| {
        json!({"name": name, "source": {"source": "local", "path": format!("./plugins/{name}")},
            "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}, "category": "x"})
    };
    let listed = json!({"name": "stable", "plugins": [entry("horse"), entry("mule")]});
    fs::write(&index, listed.to_string()).unwrap();
    for name in ["horse", "mule"] {
        let folder = market.join(format!("plugins/{name}/.codex-plugin"));
        fs::create_dir_all(&folder).unwrap();
        let about = json!({"name": name, "version": "1.0.0", "description": "x"});
        fs::write(folder.join("plugin.json"), about.to_string()).unwrap();
    }
    let install = |name| ("plugin/install", json!({"marketplacePath": index, "pluginName": name}));
    let add = ("marketplace/add", json!({"source": market}));
    ask(world, version, &world.path("codex"), &[add, install("horse"), install("mule")]);
}

#[rstest]
fn what_is_installed_is_carried_over_with_its_settings(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let world = World::new(version);
    install(&world, version);
    let own = fs::read_to_string(world.config()).unwrap();
    let home = world.home();
    let ids = |report: &Value| -> Vec<(String, bool)> {
        let plugins = report["plugins"].as_array().unwrap().iter();
        plugins.map(|it| (it["id"].as_str().unwrap().to_owned(), it["carried"] == true)).collect()
    };

    // The user's own tables stay theirs, with whatever is in them.
    let own = own.replace(
        "[plugins.\"mule@stable\"]\nenabled = true",
        "[plugins.\"mule@stable\"]\nenabled = true # mine\nextra = 1",
    );
    assert!(own.contains("extra"), "{own}");
    fs::write(world.config(), &own).unwrap();
    let both =
        |carried| vec![("horse@stable".to_owned(), carried), ("mule@stable".to_owned(), carried)];
    let written = report(&world.write());
    assert_eq!(ids(&written), both(false), "{written}");
    let text = fs::read_to_string(world.config()).unwrap();
    assert_eq!(text.matches("[plugins.").count(), 2, "{text}");
    assert_eq!(world.home(), home, "nothing else was written into the home");
    world.undo();
    assert_eq!(fs::read_to_string(world.config()).unwrap(), own);

    // A block of the format before ours had taken them in.
    let at = own.find("[plugins.").unwrap();
    let old = format!(
        "# managed by hermes-agent\n{}# end hermes-agent managed section\n{}",
        &own[at..],
        &own[..at]
    );
    fs::write(world.config(), &old).unwrap();
    let written = report(&world.write());
    assert_eq!(ids(&written), both(true), "{written}");
    let text = fs::read_to_string(world.config()).unwrap();
    assert!(text.contains("[plugins.\"mule@stable\"]\nenabled = true\nextra = 1\n"), "{text}");
    let listed = &ask(&world, version, &world.path("codex"), &[("plugin/list", json!({}))])[0];
    let on = listed["marketplaces"][0]["plugins"].as_array().unwrap().iter();
    assert!(on.clone().all(|it| it["installed"] == true && it["enabled"] == true), "{listed}");
    assert_eq!(on.count(), 2);

    // What Codex or the user has put below a plugin that is ours now stays there, and is written once.
    let below = "[plugins.\"mule@stable\".mcp_servers.cart]\nenabled = false\n";
    fs::write(world.config(), format!("{text}\n{below}")).unwrap();
    let first = report(&world.write());
    assert_eq!(ids(&first), both(true), "{first}");
    assert_eq!(report(&world.write())["written"], false);
    let text = fs::read_to_string(world.config()).unwrap();
    assert!(text.contains(below) && text.matches("cart").count() == 1, "{text}");

    // Another home gets them with the marketplace they come from.
    let other = world.path("other");
    let host = world.path("host.yaml");
    let to =
        ["--write", "--json", "--to", other.to_str().unwrap(), "--from", host.to_str().unwrap()];
    let written = report(&world.migrate(&to));
    assert_eq!(ids(&written), both(true), "{written}");
    let text = fs::read_to_string(other.join("config.toml")).unwrap();
    assert!(text.contains("[marketplaces.stable]\n") && text.contains("extra = 1\n"), "{text}");
    let listed = &ask(&world, version, &other, &[("plugin/list", json!({}))])[0];
    assert_eq!(listed["marketplaces"][0]["plugins"][0]["enabled"], true, "{listed}");
}

#[test]
fn a_codex_that_cannot_be_asked_is_a_note() {
    let world = World::new("0.166.0");
    fs::write(world.path("config/config.toml"), "[codex]\npath = \"/nowhere/codex\"\n").unwrap();
    let host = world.path("host.yaml");
    let told = report(&world.migrate(&["--json", "--from", host.to_str().unwrap()]));
    assert_eq!(told["written"], true, "{told}");
    assert!(told["plugin_note"].as_str().unwrap().contains("/nowhere/codex"), "{told}");
}
