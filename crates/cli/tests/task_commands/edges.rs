//! The oldest Codex that we support, and the newest that we know.

use ostler_testkit::{NEWEST, OLDEST};
use rstest::rstest;

use crate::world::World;
use crate::{LEAVES_A_LINE, command, text};

#[rstest]
fn a_turn_with_an_approval_runs_on_the_first_and_the_last_version(
    #[values(OLDEST, NEWEST)] version: &str,
) {
    let world = World::new(version, vec![command(LEAVES_A_LINE), text("Harnessed.")]);
    let (task, ask) = world.start_asking();
    assert_eq!(world.lines("ran.log"), 0);

    world.json(&["answer", &ask, "once"]);
    let waited = world.run(&["wait", &task, "--timeout", "90s"]);

    assert_eq!(waited.exit, 0, "{} {}", waited.out, waited.errors);
    assert_eq!(world.lines("ran.log"), 1);
    let shown = world.json(&["show", &task]);
    assert_eq!(shown["task"]["last_result"]["final_answer"], "Harnessed.", "{shown}");
    assert_eq!(shown["task"]["codex_version"], version);
}
