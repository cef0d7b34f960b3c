//! The chat is killed at any moment, again and again. Nothing that was said is lost, nothing is said twice, no call runs twice.

use std::process::Stdio;
use std::time::Duration;

use ostler_scripted_model::{Answer, Conversation, Pace, Plays};
use ostler_testkit::Terminal;
use rstest::rstest;
use serde_json::json;

use crate::world::{Plan, World};
use crate::{call, conversation, exec, text};

/// On each of the two runtimes.
const KILLS: usize = 25;
const STEERED_KILLS: usize = 12;

/// A step has one command that leaves a line, and then an answer. The model looks what was done before it asks.
fn step(number: usize, command: impl Fn(&str) -> Answer) -> Conversation {
    let run = format!("echo ran >> step-{number}.log; echo did-{number}-it");
    let works = Answer { plays: Plays::Until(format!("did-{number}-it")), ..command(&run) };
    conversation(&format!("step {number} please"), vec![works, text(&format!("Answer {number}."))])
}

#[rstest]
#[case::own("auto")]
#[case::codex("codex_app_server")]
fn nothing_is_lost_or_doubled(#[case] runtime: &'static str) {
    let pace = Some(Pace { before_headers_ms: 20, between_deltas_ms: 5, ..Pace::default() });
    let slowly = |answer: Answer| Answer { pace, ..answer };
    let host =
        (0..=KILLS).map(|it| step(it, |run| slowly(call("terminal", json!({ "command": run })))));
    let codex = (0..=KILLS).map(|it| step(it, |run| slowly(exec(run))));
    let agent = "memory_nudge_interval = 0\nskill_nudge_interval = 0";
    let world =
        World::new(Plan { host: host.collect(), codex: codex.collect(), agent, ..Plan::default() });
    // Something to resume, and a daemon that runs.
    world.ask("step 0 please", &["--runtime", runtime]);

    let mut random = Random(0x05_713a);
    let mut number = 1;
    let mut kills = 0;
    // Grows on a machine that is too busy to write anything down within it.
    let mut window_ms = 700;
    while number <= KILLS {
        let question = format!("step {number} please");
        let arguments = ["chat", "-q", &question, "--json", "--resume", "last"];
        let mut child =
            world.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(random.below(window_ms)));
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        // What is not on disk was never said.
        let is_kept =
            world.kept().iter().any(|it| it.role == "user" && it.body.contains(&question));
        number += usize::from(is_kept);
        window_ms += if is_kept { 0 } else { 100 };
        assert!(kills < 10 * KILLS, "the chat never gets as far as to write its question down");
    }
    let last = world.ask("step 0 please", &["--resume", "last"]);

    assert_eq!(last["completed"], true, "{last}");
    let kept = world.kept();
    for number in 1..=KILLS {
        let count = |role: &str, part: &str| {
            kept.iter().filter(|it| it.role == role && it.body.contains(part)).count()
        };
        let asked = count("user", &format!("step {number} please"));
        let answered = count("assistant", &format!("\"Answer {number}.\""));
        assert_eq!((asked, answered), (1, 1), "step {number} after {kills} kills: {kept:#?}");
        let calls = count("assistant", &format!("did-{number}-it"));
        let results = count("tool", &format!("did-{number}-it\\n"));
        let ran = world.lines(&format!("step-{number}.log"));
        assert!(ran <= calls, "step {number}: {calls} calls ran {ran} times");
        assert!(results <= ran, "step {number}: {results} results of {ran} runs");
    }
}

/// The chat shows what was said into a turn and is killed, at once or a while later. Whoever has seen it may count on it: the
/// model hears it, once. What was never shown may be gone, but is not there twice.
#[rstest]
#[case::own("auto")]
#[case::codex("codex_app_server")]
fn what_was_said_into_a_turn_outlives_the_chat(#[case] runtime: &'static str) {
    let slow = Some(Pace { before_headers_ms: 150, between_deltas_ms: 10, ..Pace::default() });
    let slowly = |answer: Answer| Answer { pace: slow, ..answer };
    let host = (0..=STEERED_KILLS)
        .map(|it| step(it, |run| slowly(call("terminal", json!({ "command": run })))));
    let codex = (0..=STEERED_KILLS).map(|it| step(it, |run| slowly(exec(run))));
    let agent = "memory_nudge_interval = 0\nskill_nudge_interval = 0";
    let world =
        World::new(Plan { host: host.collect(), codex: codex.collect(), agent, ..Plan::default() });
    world.ask("step 0 please", &["--runtime", runtime]);

    let mut random = Random(0x57_ee12);
    let mut shown = Vec::new();
    for number in 1..=STEERED_KILLS {
        let question = format!("step {number} please");
        let mut command = world.command(&["chat", "-q", &question, "--resume", "last"]);
        command.env("NO_COLOR", "1");
        let mut terminal = Terminal::run(command).unwrap();
        terminal.wait_for(&question, 1).unwrap();
        std::thread::sleep(Duration::from_millis(random.below(200)));
        let steer = format!("mind the foal {number}");
        terminal.type_in(&format!("{steer}\r")).unwrap();
        let row = format!("↪ {steer}");
        // A chat that has answered is gone before it can show more.
        let is_shown = random.below(3) > 0 && terminal.wait_for(&row, 1).is_ok();
        std::thread::sleep(Duration::from_millis(random.below(50)));
        shown.push(is_shown || terminal.shown().contains(&row));
        // That is a kill.
        drop(terminal);
    }
    let last = world.ask("step 0 please", &["--resume", "last"]);

    assert_eq!(last["completed"], true, "{last}");
    let kept = world.kept();
    for (number, is_shown) in (1..).zip(&shown) {
        // Codex has what it was told in its thread, and we have what it was told late.
        let said = format!("\"mind the foal {number}\"");
        let count = kept.iter().filter(|it| it.role == "user" && it.body.contains(&said)).count();
        let expected = if *is_shown { 1..=1 } else { 0..=1 };
        assert!(expected.contains(&count), "steer {number} is there {count} times: {kept:#?}");
    }
    let seen = shown.iter().filter(|it| **it).count();
    assert!(seen >= STEERED_KILLS / 2, "only {seen} were ever shown");
    assert_eq!(world.state()["said"], json!([]));
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}
