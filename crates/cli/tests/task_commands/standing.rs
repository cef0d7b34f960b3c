//! How a task stands is told as it is: at rest, in its first turn, and while its model is not reached.

use std::thread::sleep;
use std::time::Duration;

use ostler_scripted_model::{Answer, Fault};
use rstest::rstest;

use crate::world::{World, word};
use crate::{LEAVES_A_LINE, PROMPT, command, text};

/// What `ostler` prints, as soon as it has these words in it.
fn until_said(world: &World, arguments: &[&str], words: &str) -> String {
    let mut said = String::new();
    for _ in 0..600 {
        said = world.run(arguments).out;
        if said.contains(words) {
            return said;
        }
        sleep(Duration::from_millis(100));
    }
    panic!("{arguments:?} never said {words:?}: {said}");
}

#[test]
fn steer_and_interrupt_say_that_nothing_runs() {
    let world = World::new("0.166.0", vec![text("Harnessed.")]);
    let started = world.json(&["start", PROMPT, "--wait"]);
    let task = word(&started["tasks"][0]["id"]);

    let steered = world.run(&["steer", &task, "gently"]);
    assert_eq!(steered.exit, 1, "{}", steered.errors);
    let nothing = format!("nothing runs that could be steered: task {task} is completed");
    assert!(steered.errors.contains(&nothing), "{}", steered.errors);
    assert!(steered.errors.contains(&format!("ostler send {task}")), "{}", steered.errors);

    let stopped = world.run(&["interrupt", &task]);
    assert_eq!(stopped.exit, 1, "{}", stopped.out);
    let nothing = format!("nothing runs that could be ended: task {task} is completed");
    assert!(stopped.errors.contains(&nothing), "{}", stopped.errors);
    assert!(!stopped.out.contains("is being ended"), "{}", stopped.out);
    assert_eq!(world.json(&["show", &task])["task"]["spent"]["turns"], 1);
}

#[rstest]
fn a_first_turn_shows_its_time_and_its_tokens(#[values("0.142.5", "0.166.0")] version: &str) {
    // Codex tells what a call of the model used when its tools are done.
    let world = World::new(version, vec![command(LEAVES_A_LINE), command("rm ran.log")]);
    let (task, ask) = world.start_asking();
    assert_eq!(world.run(&["answer", &ask, "once"]).exit, 0);
    assert_eq!(world.run(&["wait", &task]).exit, 4, "it asks again");
    let shown = world.json(&["show", &task]);
    let running = &shown["task"]["tally"]["running"];
    assert!(running["tokens"].as_u64().unwrap() > 0, "{running}");
    let text = world.run(&["show", &task]).out;
    let line = text.lines().find(|line| line.trim_start().starts_with("this turn")).unwrap();
    assert!(line.contains(&format!("so far, {} tokens", running["tokens"])), "{text}");
}

/// Codex tries again and again by itself; the task does not work meanwhile.
#[rstest]
fn a_task_whose_model_is_not_reached_is_retrying(#[values("0.142.5", "0.166.0")] version: &str) {
    let cut = Fault::Drop { after: 1, how: ostler_scripted_model::Cut::Reset };
    let cut = Answer { fault: Some(cut), ..text("Never whole.") };
    let hangs = Fault::HangBeforeHeaders { for_ms: None };
    let hangs = Answer { fault: Some(hangs), ..Answer::default() };
    let world = World::new(version, vec![cut, hangs]);
    let started = world.json(&["start", PROMPT]);
    let task = word(&started["task"]["id"]);

    until_said(&world, &["ls"], "retrying model");
    let text = world.run(&["show", &task]).out;
    assert!(text.contains("retrying model"), "{text}");
    assert!(text.contains("the model since 20"), "{text}");
    assert!(text.contains("1 attempt failed"), "{text}");
    assert_eq!(world.run(&["interrupt", &task]).exit, 0);
    let over = until_said(&world, &["show", &task], "cancelled");
    assert!(!over.contains("retrying"), "{over}");
}

/// What an input asks for is shown before and while it holds.
#[test]
fn a_model_for_one_turn_is_shown_as_wanted_and_as_applied() {
    let world = World::new("0.166.0", vec![command(LEAVES_A_LINE), text("Harnessed.")]);
    let (task, ask) = world.start_asking();
    let words = ["--model", "gpt-5.4", "--effort", "high"];
    let sent = world.run(&[&["send", &task, "and now rest"][..], &words].concat());
    assert_eq!(sent.exit, 0, "{}", sent.errors);
    // The scripted provider is not OpenAI's, whose models Codex lists.
    assert!(sent.errors.contains("note: the model and the effort were taken"), "{}", sent.errors);
    let shown = world.run(&["show", &task]).out;
    assert!(shown.contains("and now rest [gpt-5.4, effort high] (waits"), "{shown}");

    assert_eq!(world.run(&["answer", &ask, "once"]).exit, 0);
    assert_eq!(world.run(&["wait", &task]).exit, 0);
    let task = &world.json(&["show", &task])["task"];
    assert_eq!(task["tally"]["chosen"]["model"], "gpt-5.4", "{task}");
    assert_eq!(world.run(&["send", &word(&task["id"]), "x", "--stay"]).exit, 2);
}
