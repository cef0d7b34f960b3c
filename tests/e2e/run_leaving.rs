//! `ostler run` and a person who stops it, or goes and comes back.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ostler_scripted_model::{Answer, Plays};
use ostler_testkit::Terminal;
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::run::Machine;
use crate::run_asks::{on_terminal, plain};
use crate::{LEAVES_A_LINE, PROMPT, command, text};

const CTRL_C: &str = "\u{3}";
const CTRL_BACKSLASH: &str = "\u{1c}";

/// A command that says when it runs, and goes on when it is told to. The model waits for its end, also if Codex does not.
fn waits() -> Answer {
    let line = "sh -c 'echo began > began.log; while ! test -e go; do sleep 0.05; done; echo ended > ended.log; echo it went on'";
    Answer { plays: Plays::Until("it went on".to_owned()), ..command(line) }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A turn in the middle of a command.
fn at_work(machine: &Machine) -> Terminal {
    let terminal = on_terminal(machine, &["--sandbox", "danger-full-access", PROMPT]);
    wait_until("the command", || machine.lines("began.log") == 1);
    terminal
}

fn codex_of(machine: &Machine) -> Pid {
    let listed = machine.ostler(&["keeper", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let pid = listed.pointer("/keepers/0/record/codex/pid").unwrap().as_i64().unwrap();
    Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

#[rstest]
fn ctrl_c_interrupts_the_turn(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let machine = Machine::new(version, vec![waits(), text("Never said.")]);
    let mut terminal = at_work(&machine);

    terminal.type_in(CTRL_C).unwrap();

    assert_eq!(terminal.exit_code().unwrap(), 130, "{}", plain(&terminal));
    let shown = plain(&terminal);
    assert!(shown.contains("· interrupting the turn; "), "{shown}");
    assert!(shown.contains("\n■ interrupted by you (Ctrl-C)\n"), "{shown}");
    assert_eq!(machine.keeper_folders(), Vec::<PathBuf>::new());
    machine.assert_nothing_runs();
}

#[rstest]
fn a_polite_kill_interrupts_the_turn(#[values("0.130.0", "0.166.0")] version: &str) {
    let machine = Machine::new(version, vec![waits(), text("Never said.")]);
    let mut started = machine.ostler(&["run", "--sandbox", "danger-full-access", PROMPT]);
    let mut run = started.stdout(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the command", || machine.lines("began.log") == 1);

    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();

    assert_eq!(run.wait().unwrap().code(), Some(7));
    machine.assert_nothing_runs();
}

/// A Codex that does not obey the first.
#[rstest]
fn a_second_ctrl_c_leaves(#[values("0.130.0", "0.166.0")] version: &str) {
    let machine = Machine::new(version, vec![waits(), text("Never said.")]);
    let mut terminal = at_work(&machine);
    let codex = codex_of(&machine);
    kill_process(codex, Signal::STOP).unwrap();

    terminal.type_in(CTRL_C).unwrap();
    terminal.wait_for("interrupting the turn", 1).unwrap();
    terminal.type_in(CTRL_C).unwrap();

    assert_eq!(terminal.exit_code().unwrap(), 130, "{}", plain(&terminal));
    kill_process(codex, Signal::CONT).unwrap();
    let shown = plain(&terminal);
    assert!(shown.contains("⇢ left; the turn goes on without you"), "{shown}");
    let thread = machine.remembered_thread();
    assert!(shown.contains(&format!("come back: ostler run --resume {thread}\n")), "{shown}");
    assert_eq!(machine.keeper_folders().len(), 1);
}

#[rstest]
fn a_turn_that_was_left_goes_on_and_is_joined(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let machine = Machine::new(version, vec![waits(), text("All done.")]);
    let mut terminal = at_work(&machine);

    terminal.type_in(CTRL_BACKSLASH).unwrap();
    assert_eq!(terminal.exit_code().unwrap(), 130, "{}", plain(&terminal));
    let thread = machine.remembered_thread();
    let mut back = on_terminal(&machine, &["--resume", &thread]);
    back.wait_for("a turn runs", 1).unwrap();
    fs::write(machine.workspace().join("go"), "").unwrap();

    assert_eq!(back.exit_code().unwrap(), 0, "{}", plain(&back));
    assert!(plain(&back).contains("codex  All done.\n"), "{}", plain(&back));
    assert_eq!(machine.lines("ended.log"), 1);
    assert_eq!(machine.keeper_folders(), Vec::<PathBuf>::new());
    machine.assert_nothing_runs();
}

#[rstest]
fn a_question_can_wait_for_its_person(#[values("0.130.0", "0.166.0")] version: &str) {
    let machine = Machine::new(version, vec![command(LEAVES_A_LINE), text("All done.")]);
    let options = ["--approval", "untrusted", "--sandbox", "workspace-write", PROMPT];
    let mut terminal = on_terminal(&machine, &options);
    terminal.wait_for("› ", 1).unwrap();
    terminal.type_in("d\n").unwrap();
    assert_eq!(terminal.exit_code().unwrap(), 4, "{}", plain(&terminal));

    let mut back = on_terminal(&machine, &["--resume", &machine.remembered_thread()]);
    back.wait_for("› ", 1).unwrap();
    assert_eq!(machine.lines("ran.log"), 0);
    back.type_in("y\n").unwrap();

    assert_eq!(back.exit_code().unwrap(), 0, "{}", plain(&back));
    assert_eq!(machine.lines("ran.log"), 1);
    machine.assert_nothing_runs();
}
