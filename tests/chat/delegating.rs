//! The agent's own loop gives work to Codex.

use serde_json::json;

use crate::world::{Plan, World};
use crate::{call, conversation, said, text};

fn world(cwd: &str) -> World {
    let arguments = json!({ "prompt": "count the horses", "cwd": cwd, "wait": true });
    let host = vec![conversation(
        "delegate it",
        vec![call("delegate_task", arguments), text("So it is.")],
    )];
    let codex = vec![conversation("count the horses", vec![text("Seven.")])];
    World::new(Plan { host, codex, ..Plan::default() })
}

#[test]
fn a_task_does_it_and_its_answer_comes_back() {
    let world = world(".");
    let found = world.ask("delegate it", &[]);
    assert_eq!(found["completed"], true, "{found}");
    assert!(said(&found)[2].1.ends_with("has ended:\nSeven."), "{found}");
    world.wait_until_no_codex_runs();
}

/// The folder above has the settings of Ostler and of Codex in it, and nobody is there to be asked.
#[test]
fn outside_of_the_workspace_somebody_must_say_yes() {
    let world = world("..");
    let output = world.run(&["chat", "-q", "delegate it", "--json"]);
    let found = crate::world::outcome(&output);
    assert!(said(&found)[2].1.starts_with("declined by"), "{found}");
    assert_eq!(output.status.code(), Some(4), "{found}");
    assert_eq!(world.codex.requests_seen(), 0);
}
