//! A new daemon takes over in the middle of a turn.

use rstest::rstest;

use crate::world::World;
use crate::{LEAVES_A_LINE, command, text};

#[rstest]
fn a_restart_in_the_middle_of_a_turn_loses_neither_the_turn_nor_its_ask(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    let world = World::new(version, vec![command(LEAVES_A_LINE), text("Done.")]);
    let (task, ask) = world.start_asking();
    let turn = world.json(&["show", &task])["task"]["turn"].clone();
    assert!(turn.is_string(), "{turn}");
    let before = world.json(&["daemon", "status"])["pid"].clone();

    let restarted = world.run(&["daemon", "restart"]);
    assert_eq!(restarted.exit, 0, "{}", restarted.errors);
    assert_ne!(world.json(&["daemon", "status"])["pid"], before);
    assert_eq!(world.run(&["wait", &task, "--timeout", "60s"]).exit, 4, "it still asks");
    let asks = world.json(&["asks"]);
    let asks: Vec<_> =
        asks["asks"].as_array().unwrap().iter().map(|shown| &shown["ask"]["id"]).collect();
    assert_eq!(asks, [&ask], "it is the same ask");
    assert_eq!(world.json(&["show", &task])["task"]["turn"], turn, "and the same turn");
    assert_eq!(world.lines("ran.log"), 0);

    let answered = world.run(&["answer", &ask, "once"]);
    assert_eq!(answered.exit, 0, "{}", answered.errors);
    assert_eq!(world.run(&["wait", &task, "--timeout", "60s"]).exit, 0);
    let ended = world.json(&["show", &task]);
    assert_eq!(ended["task"]["last_result"]["final_answer"], "Done.", "{ended}");
    assert_eq!(ended["task"]["spent"]["turns"], 1, "{ended}");
    assert_eq!(world.lines("ran.log"), 1);
    assert_eq!(world.model.requests_seen(), 2);
}
