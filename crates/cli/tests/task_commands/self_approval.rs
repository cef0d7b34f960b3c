//! Whoever asked cannot answer: a command of Codex that runs `ostler answer` decides nothing, inside its sandbox or without.

use std::fs;
use std::time::{Duration, Instant};

use ostler_scripted_model::{Answer, Conversation};
use rstest::rstest;
use serde_json::Value;

use crate::world::{World, word};
use crate::{PROMPT, command, text};

/// The command waits for an ask of the other task and tries to answer it.
fn tries_to_answer() -> Answer {
    let ostler = env!("CARGO_BIN_EXE_ostler");
    let line = format!(
        "while ! [ -e ask ]; do sleep 0.05; done; \
         export OSTLER_HOME=\"$(cat ostler-home)\"; {ostler} answer \"$(cat ask)\" once > said 2>&1; code=$?; \
         {ostler} audit > said-of-audit 2>&1; echo $? > code-of-audit; echo $code > code; cat said code"
    );
    command(&line)
}

/// The events of a log that tell of an agent that tried to decide.
fn attempts(world: &World, task: &str) -> Vec<Value> {
    let log = world.log(task);
    log.into_iter().filter(|line| line["event"]["event"] == "self_approval_refused").collect()
}

/// What a command leaves in this file, as soon as it has this many lines: the turn may be over before the command is.
pub(crate) fn read_until_there(world: &World, name: &str, lines: usize) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let text = fs::read_to_string(world.path("inn").join(name)).unwrap_or_default();
        if text.ends_with('\n') && text.lines().count() >= lines {
            return text;
        }
        assert!(Instant::now() < deadline, "the command does not come to its end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One task asks, the command of another one tries to answer.
fn attempt(version: &str, sandbox: &[&str]) -> (World, String, String) {
    let allowed = "allow_danger_full_access = true\nallow_approval_never = true";
    let asks = command("sh -c 'echo ran >> ran.log'");
    let talk = |prompt: &str, answers| Conversation { prompt: prompt.to_owned(), answers };
    let conversations = vec![
        talk(PROMPT, vec![asks, text("Done.")]),
        talk("answer it yourself", vec![tries_to_answer(), text("I tried.")]),
    ];
    let world = World::with(version, conversations, allowed);
    let (task, ask) = world.start_asking();
    fs::write(world.path("inn/ostler-home"), world.path("o").display().to_string()).unwrap();
    fs::write(world.path("inn/ask"), &ask).unwrap();

    let agent = world.run(&[&["start", "answer it yourself", "--wait"], sandbox].concat());
    assert_eq!(agent.exit, 0, "{} {}", agent.out, agent.errors);
    let code = read_until_there(&world, "code", 1);
    assert_ne!(code.trim(), "0");
    // Nor does it read what others were refused for.
    assert_ne!(read_until_there(&world, "code-of-audit", 1).trim(), "0");
    let asks = world.json(&["asks"]);
    assert_eq!(asks["asks"][0]["ask"]["id"], *ask, "nobody has decided");
    assert_eq!(world.lines("ran.log"), 0);
    assert_eq!(word(&asks["asks"][0]["ask"]["task"]), task);
    (world, task, ask)
}

#[rstest]
fn a_command_without_a_sandbox_is_refused_and_the_log_says_so(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    let wide = ["--sandbox", "danger-full-access", "--approval", "never"];
    let (world, task, ask) = attempt(version, &wide);
    let attempts = attempts(&world, &task);
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    assert_eq!(attempts[0]["event"]["ask"], *ask);
    let why = attempts[0]["event"]["why"].as_str().unwrap();
    assert!(why.starts_with("runs below "), "{why}");
    let said = fs::read_to_string(world.path("inn/said")).unwrap();
    assert!(said.contains("an agent may not answer"), "{said}");
    let audit = fs::read_to_string(world.path("inn/said-of-audit")).unwrap();
    assert!(audit.contains("an agent may not do this"), "{audit}");
    let audit = world.json(&["audit", "--refusals"]);
    let kinds: Vec<&Value> =
        audit["entries"].as_array().unwrap().iter().map(|entry| &entry["kind"]).collect();
    assert_eq!(kinds, ["agent_refused", "self_approval"]);
    let entry = &audit["entries"][1];
    assert_eq!((&entry["task"], &entry["ask"]), (&task.clone().into(), &ask.clone().into()));
    assert!(entry["who"].as_str().unwrap().starts_with("an agent of "), "{entry}");
    assert!(entry["why"].as_str().unwrap().starts_with("runs below "), "{entry}");
    let shown = world.run(&["logs", &task]);
    assert!(shown.out.contains("an agent tried to answer for a person and was refused"));
}

/// The socket may be out of its reach; if it is not, it is refused like the other.
#[rstest]
fn a_command_in_its_sandbox_decides_nothing_either(#[values("0.130.0", "0.166.0")] version: &str) {
    let narrow = ["--sandbox", "workspace-write", "--approval", "never"];
    let (world, task, _) = attempt(version, &narrow);
    let said = fs::read_to_string(world.path("inn/said")).unwrap();
    let is_refused = said.contains("an agent may not answer");
    let is_cut_off = said.contains("cannot be reached");
    assert!(is_refused || is_cut_off, "{said}");
    assert_eq!(attempts(&world, &task).len(), usize::from(is_refused));
}
