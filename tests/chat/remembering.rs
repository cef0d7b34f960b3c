//! What is remembered where a person wants to be asked first.

use rstest::rstest;
use serde_json::json;

use crate::migrated::tool_with;
use crate::world::{Plan, World};
use crate::{call, conversation, text};

const CTRL_D: &str = "\u{4}";

/// With `memory_approval` a person decides what is remembered, on the own loop and on Codex's own connection.
#[rstest]
#[case::own("auto", "y", true)]
#[case::own_denied("auto", "n", false)]
#[case::codex("codex_app_server", "y", true)]
#[case::codex_denied("codex_app_server", "n", false)]
fn nothing_is_remembered_without_a_yes(
    #[case] runtime: &'static str,
    #[case] key: &str,
    #[case] is_kept: bool,
) {
    let mare = json!({ "action": "add", "target": "user", "content": "Ada rides a bay mare." });
    let talk =
        || vec![conversation("who rides", vec![call("memory", mare.clone()), text("Ada does.")])];
    let agent = "memory_approval = true\ncodex_tools = \"dynamic\"\nreview = false";
    let world = World::new(Plan { host: talk(), codex: talk(), agent, ..Plan::default() });
    let mut terminal = world.terminal(&["chat", "--runtime", runtime]);
    terminal.wait_for("Ctrl-D leaves", 1).unwrap();

    terminal.type_in("who rides\r").unwrap();
    terminal.wait_for("[y]", 1).unwrap();
    assert!(terminal.shown().contains("Ada rides a bay mare."), "{}", terminal.shown());
    terminal.type_in(&format!("{key}\r")).unwrap();
    terminal.wait_for("Ada does.", 1).unwrap();
    terminal.type_in(CTRL_D).unwrap();
    terminal.exit_code().unwrap();

    let kept = std::fs::read_to_string(world.path("o/state/agent/memories/USER.md"));
    assert_eq!(kept.unwrap_or_default().contains("Ada rides a bay mare."), is_kept);
}

/// By the MCP server nobody can be asked: it fails closed, and the model is told.
#[test]
fn nothing_is_remembered_where_nobody_can_be_asked() {
    let mare = json!({ "action": "add", "target": "user", "content": "Ada rides a bay mare." });
    let remembers = tool_with("0.166.0", "ostler_tools", "memory", mare);
    let codex = vec![conversation("who rides", vec![remembers, text("Ada does.")])];
    let agent = "memory_approval = true\nreview = false";
    let world = World::new(Plan { codex, agent, ..Plan::default() });
    assert!(world.run(&["migrate"]).status.success());

    let found = world.ask("who rides", &["--runtime", "codex_app_server"]);

    assert_eq!(found["final_response"], "Ada does.", "{found}");
    assert!(!world.path("o/state/agent/memories/USER.md").exists());
    let told = world.codex.requests().last().unwrap().json()["input"].to_string();
    assert!(told.contains("nothing was remembered"), "{told}");
}
