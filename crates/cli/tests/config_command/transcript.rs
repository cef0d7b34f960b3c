//! What is printed, word for word.

use std::fs;

use insta::assert_snapshot;

use super::world::World;

const BROKEN: &str = "\
[codex]
verison = \"0.130.0\"
[tasks]
sandbox = \"write\"
\tescalate_after = 30
[limits
running = 0
";

#[test]
fn without_a_file_the_defaults_hold() {
    let world = World::empty();
    assert_snapshot!(world.run(&["config", "path"]), @"");
    assert_snapshot!(world.run(&["config", "path", "--json"]), @"");
    assert_snapshot!(world.run(&["config", "check"]), @"");
    assert_snapshot!(world.run(&["config", "show"]), @"");
}

#[test]
fn each_value_is_shown_with_its_origin() {
    let world = World::with_config(
        "[daemon]\nlog = 'info'\n[retention]\nage = '10d'\n[[policy]]\ndecision = 'allow'\n\
         command = ['cargo', 'test']\nexpires = 2030-01-31T18:00:00Z\n[[policy]]\ndecision = 'deny'\ntool = 'a/b'\n",
    );
    let around = [("CODEX_HOME", "/codex"), ("OSTLER_LOG", "off")];
    assert_snapshot!(world.run_with(&["config", "show", "codex"], &around), @"");
    assert_snapshot!(world.run_with(&["config", "show", "daemon.log"], &around), @"");
    assert_snapshot!(world.run_with(&["config", "show", "daemon.log", "--json"], &around), @"");
    assert_snapshot!(world.run(&["config", "show", "retention", "--json"]), @"");
    assert_snapshot!(world.run(&["config", "show", "policy"]), @"");
    assert_snapshot!(world.run(&["config", "show", "policy[1]", "--json"]), @"");
    assert_snapshot!(world.run(&["config", "show", "codex.path"]), @"");
    assert_snapshot!(world.run(&["config", "show", "approver.kinds"]), @"");
}

#[test]
fn what_is_shown_can_be_used_as_a_file() {
    let text = "[tasks]\nmodel = 'a \"b\" c'\n[store]\npath = '~/db'\n[[policy]]\ndecision = 'allow'\n\
                host = 'x'\nscope = '~/src'\n";
    let world = World::with_config(text);
    let shown = |world: &World| {
        let text = world.run(&["config", "show"]);
        text.split_once("--- stderr").unwrap().0.replace("[HOME]", "~")
    };
    let first = shown(&world);
    fs::write(world.path("config/config.toml"), &first).unwrap();
    let second = shown(&world);
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplit_once('#').unwrap_or((line, "")).0.to_owned()).collect()
    };
    assert_eq!(values(&first), values(&second));
    assert!(first.contains("model = 'a \"b\" c'"), "{first}");
}

#[test]
fn a_setting_that_is_not_there_is_answered_by_the_one_that_was_meant() {
    let world = World::empty();
    assert_snapshot!(world.run(&["config", "show", "tasks.sandbx"]), @"");
    assert_snapshot!(world.run(&["config", "show", "sandbox"]), @"");
    assert_snapshot!(world.run(&["config", "show", "nonsense", "--json"]), @"");
    assert_snapshot!(world.run(&["config", "show", "policy"]), @"");
}

#[test]
fn a_check_shows_every_problem_in_its_place() {
    let world = World::with_config(BROKEN);
    assert_snapshot!(world.run(&["config", "check"]), @"");
    assert_snapshot!(world.run(&["config", "check", "--json"]), @"");
}

#[test]
fn another_file_can_be_checked_before_it_is_used() {
    let world = World::with_config(BROKEN);
    fs::write(world.path("new.toml"), "[tasks]\nnetwork = true\n").unwrap();
    assert_snapshot!(world.run(&["config", "check", "new.toml"]), @"");
    assert_snapshot!(world.run(&["config", "check", "missing.toml"]), @"");
    fs::write(world.path("new.toml"), b"\xff\xfe").unwrap();
    assert_snapshot!(world.run(&["config", "check", "new.toml"]), @"");
}

#[test]
fn every_command_that_needs_a_broken_file_fails_with_all_of_it() {
    let world = World::with_config(BROKEN);
    let told = world.run(&["codex", "list"]);
    assert_snapshot!(told, @"");
    for arguments in [&["run", "hello"][..], &["codex", "path"], &["config", "show"], &["demo"]] {
        assert_eq!(world.run(arguments), told, "{arguments:?}");
    }
    assert_snapshot!(world.run(&["codex", "list", "--json"]), @"");
    assert_eq!(fs::read_to_string(world.path("config/config.toml")).unwrap(), BROKEN);
}
