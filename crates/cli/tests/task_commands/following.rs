//! Logs and attach: all that happened, in order, and what comes.

use serde_json::Value;

use crate::world::{World, plain};
use crate::{LEAVES_A_LINE, PROMPT, command, text};

#[test]
fn a_log_has_no_gap_and_can_be_followed_from_any_point() {
    let world = World::new("0.166.0", vec![command("true"), text("Done.")]);
    let ran = world.run(&["start", PROMPT, "--wait", "--json"]);
    let waited: Value = serde_json::from_str(&ran.out).unwrap();
    let task = waited["tasks"][0]["id"].as_str().unwrap();

    let log = world.log(task);
    assert_eq!(log[0]["line"], "now");
    let seqs: Vec<u64> = log[1..].iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    let expected: Vec<u64> = (1..=waited["tasks"][0]["last_seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, expected);
    let followed = world.run(&["logs", "-f", task, "--after", "3", "--json"]);
    assert_eq!(followed.exit, 0, "{}", followed.errors);
    assert_eq!(followed.out.lines().count(), log.len() - 3);

    let shown = world.run(&["logs", task]);
    let prompt = format!("\nyou    {PROMPT}\n");
    for part in [prompt.as_str(), "$ /bin/bash -lc true\n", "codex  Done.\n"] {
        assert!(shown.out.contains(part), "{part:?} is not in {}", shown.out);
    }
}

/// The daemon is killed under somebody who follows: the task goes on, and so do they.
#[test]
fn whoever_follows_stays_when_the_daemon_is_killed() {
    let world =
        World::new("0.166.0", vec![command(LEAVES_A_LINE), text("The horse is harnessed.")]);
    let (task, _) = world.start_asking();
    let mut terminal = world.on_terminal(&["attach", &task]);
    terminal.wait_for("› ", 1).unwrap();
    let status = world.json(&["daemon", "status"]);
    let pid = status["pid"].as_i64().unwrap_or_else(|| panic!("{status}"));
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();

    terminal.wait_for("the daemon has gone; looking for it", 1).unwrap();
    // The question is put again by the new daemon's log, under the same id.
    terminal.wait_for("› ", 2).unwrap();
    terminal.type_in("y\n").unwrap();

    assert_eq!(terminal.exit_code().unwrap(), 0, "{}", plain(&terminal));
    assert!(plain(&terminal).contains("codex  The horse is harnessed.\n"), "{}", plain(&terminal));
    assert_eq!(world.lines("ran.log"), 1);
}

#[test]
fn leaving_leaves_the_task_at_work() {
    let world = World::new("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let (task, _) = world.start_asking();
    let mut terminal = world.on_terminal(&["attach", &task]);
    terminal.wait_for("› ", 1).unwrap();
    terminal.type_in("\u{3}").unwrap();

    assert_eq!(terminal.exit_code().unwrap(), 130, "{}", plain(&terminal));
    let shown = plain(&terminal);
    assert!(shown.contains("left; the task goes on without you"), "{shown}");
    assert!(shown.contains(&format!("come back: ostler attach {task}")), "{shown}");
    assert_eq!(world.json(&["asks"])["asks"].as_array().unwrap().len(), 1);
}

/// Versions whose interface cannot be opened on a socket say so.
#[test]
fn codex_s_own_interface_is_refused_where_it_cannot_be() {
    let world = World::new("0.130.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let (task, _) = world.start_asking();
    let refused = world.run(&["attach", "--tui", &task]);
    assert_eq!(refused.exit, 2, "{}", refused.errors);
    assert!(
        refused.errors.starts_with("error: Codex 0.130.0 cannot open its interface on a socket\n"),
        "{}",
        refused.errors
    );
}

/// The interface of Codex shows the thread that the task runs on, in the very app-server.
#[test]
fn codex_s_own_interface_opens_on_the_same_thread() {
    let world = World::new("0.166.0", vec![text("The horse is harnessed.")]);
    let ran = world.run(&["start", PROMPT, "--wait", "--json"]);
    let waited: Value = serde_json::from_str(&ran.out).unwrap();
    let task = waited["tasks"][0]["id"].as_str().unwrap();
    let mut terminal = world.on_terminal(&["attach", "--tui", task]);
    terminal.wait_for("The horse is harnessed.", 1).unwrap();
    terminal.type_in("\u{3}\u{3}").unwrap();
    drop(terminal.exit_code());
}

#[test]
fn a_list_is_watched() {
    let world = World::new("0.166.0", vec![text("Done.")]);
    world.run(&["daemon", "start"]);
    let mut terminal = world.on_terminal(&["ls", "--watch"]);
    terminal.wait_for("no tasks yet", 1).unwrap();
    world.run(&["start", PROMPT]);
    terminal.wait_for("completed", 1).unwrap();
    terminal.type_in("\u{3}").unwrap();
    assert_eq!(terminal.exit_code().unwrap(), 130);
}

#[test]
fn manual_pages_and_completions_know_the_commands() {
    let world = World::new("0.166.0", vec![]);
    let pages = world.json(&["man", "--out", "man"]);
    let names: Vec<String> = pages["pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|page| page.as_str().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    for name in ["ostler.1", "ostler-start.1", "ostler-codex-install.1", "ostler-answer.1"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    let page = std::fs::read_to_string(world.path("inn/man/ostler-answer.1")).unwrap();
    assert!(page.contains("\\-\\-everywhere") && page.contains("ostler\\-answer"), "{page}");
    let completions = world.run(&["completions", "bash"]);
    assert!(
        completions.out.contains("ostler__answer") || completions.out.contains("ostler,answer")
    );
}
