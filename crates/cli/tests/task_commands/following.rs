//! Logs and attach: all that happened, in order, and what comes.

use ostler_scripted_model::{Answer, Fault};
use serde_json::Value;

use crate::world::{World, plain, word};
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
    for part in [prompt.as_str(), "$ /bin/bash -lc true  ok, ", "codex  Done.\n"] {
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
    // Codex praises a newer model once.
    let config = world.path("home/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let seen = "[notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n";
    std::fs::write(&config, format!("{text}\n{seen}")).unwrap();
    let ran = world.run(&["start", PROMPT, "--wait", "--json"]);
    let waited: Value = serde_json::from_str(&ran.out).unwrap();
    let task = waited["tasks"][0]["id"].as_str().unwrap();
    let mut terminal = world.on_terminal(&["attach", "--tui", task]);
    // It jumps over spaces; this word stands in the answer only.
    terminal.wait_for("harnessed.", 1).unwrap();
    terminal.type_in("\u{3}").unwrap();
    assert_eq!(terminal.exit_code().unwrap(), 0, "{}", plain(&terminal));
    assert_eq!(world.json(&["show", task])["task"]["state"], "completed");
}

/// What is typed there is no input of the task, and stands in its log all the same.
#[test]
fn a_prompt_typed_in_codex_s_own_interface_is_in_the_log() {
    let world = World::new("0.166.0", vec![text("The horse is harnessed.")]);
    let config = world.path("home/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let seen = "[notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n";
    std::fs::write(&config, format!("{text}\n{seen}")).unwrap();
    let waited = world.json(&["start", PROMPT, "--wait"]);
    let task = waited["tasks"][0]["id"].as_str().unwrap();
    assert!(!world.run(&["logs", task]).out.contains("another client"));

    let mut terminal = world.on_terminal(&["attach", "--tui", task]);
    terminal.wait_for("harnessed.", 1).unwrap();
    terminal.type_in("brush the mare").unwrap();
    terminal.wait_for("mare", 1).unwrap();
    terminal.type_in("\r").unwrap();
    let mut log = String::new();
    for _ in 0..600 {
        log = world.run(&["logs", task]).out;
        if log.contains("All right.") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let typed = "\nyou    (from another client of the thread)\n       brush the mare\n";
    assert!(log.contains(typed), "{log}");
    assert!(log.contains(&format!("\nyou    {PROMPT}\n")), "{log}");
    assert!(log.find("brush the mare") < log.find("All right."), "{log}");
    drop(terminal);
}

/// A steer ends the answer that is being written (0.166.0); what there was of it stays, before the new one.
#[test]
fn an_answer_that_a_steer_broke_off_stays_in_its_place() {
    let hang = Fault::Hang { after: 6, for_ms: None };
    let half = Answer { fault: Some(hang), delta_bytes: 4, ..text("Half of an old answer.") };
    let world = World::new("0.166.0", vec![half, text("The new answer.")]);
    let task = word(&world.json(&["start", PROMPT])["task"]["id"]);
    let followed = world.path("followed");
    let file = std::fs::File::create(&followed).unwrap();
    let mut follow = world.command(&["logs", "-f", &task]).stdout(file).spawn().unwrap();
    let shown = || std::fs::read_to_string(&followed).unwrap();
    for _ in 0..600 {
        if shown().contains("Half") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(world.run(&["steer", &task, "another one"]).exit, 0, "{}", shown());
    assert_eq!(world.run(&["wait", &task]).exit, 0, "{}", shown());
    assert!(follow.wait().unwrap().success());

    for log in [shown(), world.run(&["logs", &task]).out] {
        let places = ["Half", "(broke off", "The new answer."].map(|part| log.find(part));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {log}");
    }
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
    let world = World::with("0.166.0", vec![], "");
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
