//! The chat as a person has it: on a terminal of its own, with real Codex behind it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ostler_testkit::Terminal;
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::world::{Plan, World};
use crate::{conversation, exec, text};

const PATIENCE: Duration = Duration::from_secs(90);
const CTRL_D: &str = "\u{4}";
const ON_CODEX: [&str; 3] = ["chat", "--runtime", "codex_app_server"];

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A chat that waits for its person.
fn chat(world: &World, arguments: &[&str]) -> Terminal {
    let mut terminal = world.terminal(arguments);
    terminal.wait_for("Ctrl-D leaves", 1).unwrap();
    terminal
}

/// Until no turn runs: the last frame has no spinner.
fn rest(terminal: &Terminal) {
    wait_until("the end of the turn", || {
        let shown = terminal.shown();
        let frame = shown.rsplit("\u{1b}[?2026h").next().unwrap_or_default();
        let spins = frame.chars().any(|it| ('\u{2800}'..='\u{28ff}').contains(&it));
        frame.ends_with("\u{1b}[?2026l") && !spins
    });
}

fn leave(mut terminal: Terminal) {
    rest(&terminal);
    terminal.type_in(CTRL_D).unwrap();
    assert_eq!(terminal.exit_code().unwrap(), 0, "{}", terminal.shown());
}

fn json(world: &World, arguments: &[&str]) -> Value {
    serde_json::from_slice(&world.run(arguments).stdout).unwrap()
}

/// What the only task was given: of each the wish, how far it came, and which turn took it.
fn receipts(world: &World) -> Vec<(String, String, Value)> {
    let tasks = json(world, &["ls", "--all", "--json"]);
    let task = tasks["tasks"][0]["id"].as_str().unwrap().to_owned();
    let found = json(world, &["receipts", &task, "--json"]);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let wish = |it: &Value| match it["wish"]["if_busy"].as_str() {
        Some("steer") => "steer".to_owned(),
        _ => word(&it["wish"]["wish"]),
    };
    let intents = found["intents"].as_array().unwrap().iter();
    let row = |it: &Value| {
        (wish(it), word(&it["state"]["state"]), it["state"]["receipt"]["turn"].clone())
    };
    intents.map(row).collect()
}

fn kept(world: &World) -> Vec<(String, String)> {
    let kept = world.kept().into_iter();
    let pair = |it: ostler_store::conversations::StoredMessage| {
        let body: Value = serde_json::from_str(&it.body).unwrap();
        let content = body["message"]["content"].as_str().unwrap_or_default().to_owned();
        (it.role, content)
    };
    kept.map(pair).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

#[rstest]
fn what_is_typed_into_a_turn_is_a_steer(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let codex = vec![conversation("harness the mare", vec![exec("echo harnessed"), text("Done.")])];
    let world = World::new(Plan { version, codex, ..Plan::default() });
    world.codex.hold_answers();
    let mut terminal = chat(&world, &ON_CODEX);
    terminal.type_in("harness the mare\r").unwrap();
    world.wait_for_codex(1);

    terminal.type_in("and put blinkers on\r").unwrap();
    wait_until("the steer", || {
        receipts(&world).iter().any(|(wish, state, _)| wish == "steer" && state != "pending")
    });
    world.codex.release_answers();
    terminal.wait_for("Done.", 1).unwrap();
    leave(terminal);

    let given = receipts(&world);
    let [(_, first, turn), (steer, second, same)] = given.as_slice() else { panic!("{given:?}") };
    assert_eq!((first.as_str(), steer.as_str(), second.as_str()), ("done", "steer", "done"));
    assert_eq!(turn, same, "one turn took both");
    let requests: Vec<String> =
        world.codex.requests().iter().map(|it| it.json()["input"].to_string()).collect();
    let told: Vec<usize> =
        requests.iter().map(|it| it.matches("and put blinkers on").count()).collect();
    assert_eq!(told, [0, 1]);
    let said = kept(&world);
    let steers = said.iter().filter(|(role, text)| role == "user" && text == "and put blinkers on");
    assert_eq!(steers.count(), 1, "{said:?}");
    assert_eq!(world.state()["said"], serde_json::json!([]));
}

/// The daemon hears of it when Codex is done: it begins a turn of its own, which the chat has to its end.
#[rstest]
fn what_is_typed_too_late_for_a_turn_is_answered(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let codex = vec![
        conversation("and the foal", vec![text("So is the foal.")]),
        conversation("feed the mare", vec![text("The mare is fed.")]),
    ];
    let world = World::new(Plan { version, codex, ..Plan::default() });
    world.codex.hold_answers();
    let mut terminal = chat(&world, &ON_CODEX);
    terminal.type_in("feed the mare\r").unwrap();
    world.wait_for_codex(1);
    let daemon = json(&world, &["daemon", "status", "--json"])["pid"].as_i64().unwrap();
    let daemon = Pid::from_raw(i32::try_from(daemon).unwrap()).unwrap();
    kill_process(daemon, Signal::STOP).unwrap();

    terminal.type_in("and the foal\r").unwrap();
    terminal.wait_for("↪ and the foal", 1).unwrap();
    world.codex.release_answers();
    wait_until("Codex's answer", || is_written(&world.path("home/sessions"), "The mare is fed."));
    kill_process(daemon, Signal::CONT).unwrap();
    terminal.wait_for("So is the foal.", 1).unwrap();
    leave(terminal);

    let expected = [
        ("user", "feed the mare"),
        ("assistant", "The mare is fed."),
        ("user", "and the foal"),
        ("assistant", "So is the foal."),
    ];
    assert_eq!(kept(&world), pairs(&expected));
    let state = world.state();
    assert_eq!((&state["usage"]["turns"], &state["usage"]["api_calls"]), (&1.into(), &2.into()));
}

/// Whether a file below the folder has the text.
fn is_written(folder: &Path, text: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => is_written(&path, text),
        false => fs::read_to_string(&path).unwrap_or_default().contains(text),
    })
}

#[rstest]
fn what_codex_asks_is_put_to_the_person_at_the_chat(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let codex =
        vec![conversation("open the gate", vec![exec("touch gate-is-open"), text("It is open.")])];
    let agent = "approval = \"untrusted\"";
    let world = World::new(Plan { version, codex, agent, ..Plan::default() });
    let mut terminal = chat(&world, &ON_CODEX);
    terminal.type_in("open the gate\r").unwrap();
    terminal.wait_for("[y]", 1).unwrap();
    assert!(terminal.shown().contains("touch gate-is-open"), "{}", terminal.shown());
    assert!(!world.path("inn/gate-is-open").exists());

    terminal.type_in("y\r").unwrap();
    // The end of the command may be told in the middle of the answer, which stays whole.
    terminal.wait_for("It is open.", 1).unwrap();
    leave(terminal);

    assert!(world.path("inn/gate-is-open").exists());
}

/// With times that would keep everything open for long: the switch itself closes what Codex has.
#[rstest]
fn a_live_switch_loses_nothing_and_leaves_nothing_behind(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let host = vec![
        conversation("third word", vec![text("Third answer.")]),
        conversation("first word", vec![text("First answer.")]),
    ];
    let codex = vec![
        conversation("fourth word", vec![text("Fourth answer.")]),
        conversation("second word", vec![text("Second answer.")]),
    ];
    let limits = "idle_app_server = \"2h\"\nidle_thread = \"2h\"";
    let agent = "review = false";
    let world = World::new(Plan { version, host, codex, limits, agent, ..Plan::default() });
    let mut terminal = chat(&world, &["chat"]);
    let mut say = |text: &str, answer: &str, times: usize| {
        terminal.type_in(&format!("{text}\r")).unwrap();
        terminal.wait_for(answer, times).unwrap();
        rest(&terminal);
    };

    say("first word", "First answer.", 1);
    say("/codex-runtime on", "this conversation goes on with it", 1);
    say("second word", "Second answer.", 1);
    say("/codex-runtime auto", "this conversation goes on with it", 2);
    world.wait_until_no_codex_runs();
    say("third word", "Third answer.", 1);
    say("/codex-runtime on", "this conversation goes on with it", 3);
    say("fourth word", "Fourth answer.", 1);
    say("/codex-runtime auto", "this conversation goes on with it", 4);
    leave(terminal);

    world.wait_until_no_codex_runs();
    let expected = [
        ("user", "first word"),
        ("assistant", "First answer."),
        ("user", "second word"),
        ("assistant", "Second answer."),
        ("user", "third word"),
        ("assistant", "Third answer."),
        ("user", "fourth word"),
        ("assistant", "Fourth answer."),
    ];
    assert_eq!(kept(&world), pairs(&expected));
    let told = world.asked().last().unwrap()["input"].to_string();
    let codex = world.codex.requests().last().unwrap().json()["input"].to_string();
    for (_, said) in &expected[..5] {
        assert_eq!(told.matches(said).count(), 1, "{said} in {told}");
    }
    for (_, said) in &expected[..7] {
        assert_eq!(codex.matches(said).count(), 1, "{said} in {codex}");
    }
}
