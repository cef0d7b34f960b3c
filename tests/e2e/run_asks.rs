//! `ostler run` on a terminal: a person is asked, and what they say counts.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ostler_scripted_model::{Answer, Call, Plays};
use ostler_testkit::{Client, Terminal};
use rstest::rstest;
use serde_json::json;

use crate::run::Machine;
use crate::{LEAVES_A_LINE, PROMPT, command, patch, text};

/// At the end of each question.
const CURSOR: &str = "› ";

/// With the terminal as controlling terminal, as a shell has it.
pub(crate) fn on_terminal(machine: &Machine, arguments: &[&str]) -> Terminal {
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_ostler"), "run"]);
    machine.at_home(command.args(arguments));
    Terminal::run(command).unwrap()
}

/// What is on the screen, without colours.
pub(crate) fn plain(terminal: &Terminal) -> String {
    let shown = terminal.shown().replace('\r', "");
    let mut out = String::new();
    let mut characters = shown.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(character);
        }
    }
    out
}

#[rstest]
#[case::once(&["y", "y"], 0, 2)]
#[case::session(&["s"], 0, 2)]
#[case::no(&["n", "n"], 0, 0)]
#[case::cancel(&["c"], 7, 0)]
#[case::nonsense_first(&["sure", "", "y", "n"], 0, 1)]
fn a_person_decides_about_a_command(
    #[values("0.130.0", "0.166.0")] version: &str,
    #[case] lines: &[&str],
    #[case] exit: i32,
    #[case] ran: usize,
) {
    let answers = vec![command(LEAVES_A_LINE), command(LEAVES_A_LINE), text("Done.")];
    let machine = Machine::new(version, answers);
    let options = ["--approval", "untrusted", "--sandbox", "workspace-write", PROMPT];
    let mut terminal = on_terminal(&machine, &options);

    for (number, line) in lines.iter().enumerate() {
        terminal.wait_for(CURSOR, number + 1).unwrap();
        terminal.type_in(&format!("{line}\n")).unwrap();
    }

    assert_eq!(terminal.exit_code().unwrap(), exit, "{}", plain(&terminal));
    assert_eq!(machine.lines("ran.log"), ran, "{}", plain(&terminal));
    let shown = plain(&terminal);
    assert!(shown.contains("▌ Codex asks to run a command\n▌ run   /bin/bash -lc "), "{shown}");
    assert!(shown.contains(&format!("▌ in    {}\n", machine.workspace().display())), "{shown}");
    assert_eq!(machine.keeper_folders(), Vec::<PathBuf>::new());
    machine.assert_nothing_runs();
}

#[rstest]
fn a_refusal_tells_codex_why(#[values("0.130.0", "0.166.0")] version: &str) {
    // The reason comes into the turn before or after the next call of the model, and then makes one more.
    let last = Answer { plays: Plays::Forever, ..text("Understood.") };
    let machine = Machine::new(version, vec![command(LEAVES_A_LINE), last]);
    let mut terminal = on_terminal(&machine, &["--approval", "untrusted", PROMPT]);

    terminal.wait_for(CURSOR, 1).unwrap();
    terminal.type_in("n use the other stable\n").unwrap();

    assert_eq!(terminal.exit_code().unwrap(), 0, "{}", plain(&terminal));
    let requests = format!("{:?}", machine.model.requests());
    assert!(requests.contains("use the other stable"), "{requests}");
    assert_eq!(machine.lines("ran.log"), 0);
}

#[rstest]
fn a_diff_is_seen_before_it_is_allowed_and_whole_if_wanted(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    let lines: String = (0..40).map(|number| format!("+line {number}\n")).collect();
    let change = format!("*** Begin Patch\n*** Add File: list.txt\n{lines}*** End Patch\n");
    let machine = Machine::new(version, vec![patch(&change), text("Done.")]);
    let mut terminal = on_terminal(&machine, &["--approval", "untrusted", PROMPT]);

    terminal.wait_for(CURSOR, 1).unwrap();
    let cut = plain(&terminal);
    terminal.type_in("v\n").unwrap();
    terminal.wait_for(CURSOR, 2).unwrap();
    let whole = plain(&terminal);
    terminal.type_in("y\n").unwrap();

    assert_eq!(terminal.exit_code().unwrap(), 0, "{}", plain(&terminal));
    assert!(cut.contains("± list.txt (add)\n  +line 0\n"), "{cut}");
    assert!(cut.contains("  +line 29\n  … 10 more lines\n") && !cut.contains("line 39"), "{cut}");
    assert!(whole.contains("  +line 39\n"), "{whole}");
    assert_eq!(machine.lines("list.txt"), 40);
}

/// Another program answers the question while the person thinks.
#[rstest]
fn a_question_that_is_answered_elsewhere_is_taken_off(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    use ostler_codex::protocol::request::thread::ThreadResume;
    use ostler_model::{Decision, ThreadId};

    let machine = Machine::new(version, vec![command(LEAVES_A_LINE), text("Done.")]);
    let options = ["--approval", "untrusted", "--sandbox", "workspace-write", PROMPT];
    let mut terminal = on_terminal(&machine, &options);
    terminal.wait_for(CURSOR, 1).unwrap();
    let thread = machine.remembered_thread();
    let socket = machine.keeper_folders()[0].join("socket");

    machine.block_on(async {
        let mut other = Client::connect(&socket, machine.workspace()).await.unwrap();
        other.server.call(&ThreadResume::new(ThreadId::new(thread))).await.unwrap();
        let question = other.question().await.unwrap();
        other.answer(&question, &Decision::Once).await.unwrap();
        other.close().await;
    });

    assert_eq!(terminal.exit_code().unwrap(), 0, "{}", plain(&terminal));
    assert!(plain(&terminal).contains("▌ answered elsewhere"), "{}", plain(&terminal));
    assert_eq!(machine.lines("ran.log"), 1);
}

/// The model's own question, with a secret that the terminal must not show.
#[rstest]
fn the_model_asks_and_a_person_answers(#[values("0.130.0", "0.166.0")] version: &str) {
    let question = |id: &str, options: serde_json::Value| json!({ "id": id, "header": id, "question": format!("{id}?"), "options": options });
    let options = json!([
        { "label": "Bay", "description": "calm" }, { "label": "Grey", "description": "fast" }
    ]);
    let arguments = json!({ "questions": [question("which", options)] });
    let call = Call::function("request_user_input", arguments);
    let asks = Answer { calls: vec![call], ..Answer::default() };
    let machine = Machine::new(version, vec![asks, text("Good choice.")]);
    let setting = "features.default_mode_request_user_input=true";
    let mut terminal = on_terminal(&machine, &["-c", setting, PROMPT]);

    terminal.wait_for(CURSOR, 1).unwrap();
    terminal.type_in("2\n").unwrap();

    assert_eq!(terminal.exit_code().unwrap(), 0, "{}", plain(&terminal));
    let shown = plain(&terminal);
    assert!(shown.contains("▌   1  Bay  calm\n▌   2  Grey  fast\n"), "{shown}");
    let requests = format!("{:?}", machine.model.requests());
    assert!(requests.contains("Grey"), "{requests}");
}

/// An agent that has a terminal must not answer itself.
#[test]
fn whoever_runs_below_a_keeper_is_not_asked() {
    let machine = Machine::new("0.166.0", vec![text("Done.")]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
    machine.at_home(command.args(["run", PROMPT])).env("OSTLER_KEEPER", "0123abcd");
    let mut terminal = Terminal::run(command).unwrap();

    assert_eq!(terminal.exit_code().unwrap(), 2, "{}", plain(&terminal));
    let said = "error: this terminal belongs to an agent: it runs below keeper 0123abcd";
    assert!(plain(&terminal).contains(said), "{}", plain(&terminal));
    assert_eq!(fs::read_dir(machine.workspace()).unwrap().count(), 0);
    assert_eq!(machine.keeper_folders(), Vec::<PathBuf>::new());
}
