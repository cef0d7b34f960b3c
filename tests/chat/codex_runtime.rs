//! Turns on Codex.

use std::process::Stdio;

use ostler_codex::keeper;
use ostler_scripted_model::{Answer, Fault, Plays};
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::world::{Plan, World, outcome};
use crate::{conversation, exec, said, text, users};

const ON_CODEX: [&str; 2] = ["--runtime", "codex_app_server"];

/// One grey pixel.
const DOT: &[u8] =
    b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\
    \x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\x9cch\x00\x00\x00\x82\x00\x81w\xcdr\xb6\x00\x00\x00\
    \x00IEND\xaeB`\x82";

fn hangs() -> Answer {
    Answer { fault: Some(Fault::HangBeforeHeaders { for_ms: None }), ..text("Never said.") }
}

#[rstest]
fn a_turn_has_the_same_shape_and_the_model_api_is_never_called(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let answers = vec![exec("echo oats"), text("She had oats.")];
    let codex = vec![conversation("feed the mare", answers)];
    let tasks = "approval = \"on-request\"";
    let world = World::new(Plan { version, codex, tasks, ..Plan::default() });

    let found = world.ask("feed the mare", &ON_CODEX);

    let flags = ["completed", "partial", "failed", "interrupted", "persisted"];
    let flags = flags.map(|flag| found[flag].as_bool().unwrap());
    assert_eq!(flags, [true, false, false, false, true], "{found}");
    assert_eq!(found["final_response"], "She had oats.");
    assert_eq!((&found["api_calls"], &found["tool_iterations"]), (&json!(2), &json!(1)));
    assert!(found["thread"].is_string() && found["turn"].is_string(), "{found}");
    let roles: Vec<String> = said(&found).into_iter().map(|(role, _)| role).collect();
    // Up to 0.142.5 a quick command may be told as ended after the message that speaks of it; then both are one message.
    let shapes =
        [vec!["user", "assistant", "tool", "assistant"], vec!["user", "assistant", "tool"]];
    let allowed = if version == "0.166.0" { &shapes[..1] } else { &shapes[..] };
    assert!(allowed.iter().any(|shape| *shape == roles), "{found}");
    assert!(said(&found).contains(&("assistant".to_owned(), "She had oats.".to_owned())));
    assert_eq!(users(&found), 1, "the user's message is there once");
    let kept: Vec<String> = world.kept().into_iter().map(|message| message.role).collect();
    assert_eq!(kept, roles);
    assert_eq!(world.host.requests_seen(), 0, "the host's provider was not asked");
}

#[rstest]
fn the_thread_goes_on_after_a_restart_and_knows_persona_memory_and_model(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let codex = vec![
        conversation("and now", vec![text("Now again.")]),
        conversation("hello", vec![text("Hello.")]),
    ];
    let world = World::new(Plan { version, codex, ..Plan::default() });
    let memory = world.path("o/state/agent/memories/MEMORY.md");
    std::fs::create_dir_all(memory.parent().unwrap()).unwrap();
    std::fs::write(&memory, "The grey mare is called Luna.\n").unwrap();

    let first = world.ask("hello", &ON_CODEX);
    world.wait_until_no_codex_runs();
    std::fs::write(&memory, "The grey mare is called Stella.\n").unwrap();
    let second =
        world.ask("and now", &["--resume", "last", "--model", "gpt-5.4", "--effort", "high"]);

    assert_eq!(second["final_response"], "Now again.", "{second}");
    assert_eq!(first["thread"], second["thread"]);
    let requests: Vec<Value> = world.codex.requests().iter().map(|it| it.json()).collect();
    let (before, after) = (requests[0].to_string(), requests.last().unwrap().to_string());
    assert!(before.contains("called Luna") && !before.contains("Stella"), "{before}");
    assert_eq!(after.matches("called Stella").count(), 1, "{after}");
    assert_eq!(after.matches("\"hello\"").count(), 1, "{after}");
    let last = requests.last().unwrap();
    assert_eq!((&last["model"], &last["reasoning"]["effort"]), (&json!("gpt-5.4"), &json!("high")));
}

/// A conversation has the rights that `[agent]` gives it, whichever runtime answers; `[tasks]` is about tasks.
#[test]
fn a_conversation_has_the_same_rights_on_codex_as_on_its_own_loop() {
    for (tasks, agent, sandbox, approval) in [
        ("", "sandbox = \"read-only\"\napproval = \"untrusted\"", "read-only", "untrusted"),
        ("approval = \"untrusted\"", "", "workspace-write", "on-request"),
    ] {
        let codex = vec![conversation("hello", vec![text("Hello.")])];
        let world = World::new(Plan { version: "0.166.0", codex, tasks, agent, ..Plan::default() });
        world.ask("hello", &ON_CODEX);
        let tasks = world.run(&["ls", "--all", "--json"]).stdout;
        let tasks: Value = serde_json::from_slice(&tasks).unwrap();
        let settings = &tasks["tasks"][0]["settings"];
        let has = (&settings["sandbox"]["mode"], &settings["approval"]);
        assert_eq!(has, (&json!(sandbox), &json!(approval)), "{settings}");
    }
}

/// The log of a task is read from its start; what it was given before is not told again.
#[test]
fn a_resumed_chat_tells_of_its_own_turn_alone() {
    let codex = ["hello", "and now", "again"];
    let codex = codex.map(|prompt| conversation(prompt, vec![text("Yes.")])).into();
    let world = World::new(Plan { version: "0.166.0", codex, ..Plan::default() });
    world.ask("hello", &ON_CODEX);
    world.ask("and now", &["--resume", "last"]);
    let third = world.run(&["chat", "-q", "again", "--resume", "last"]);
    let told = [third.stdout, third.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert!(third.status.success() && told.contains("Yes."), "{told}");
    assert!(told.matches("queued").count() <= 1, "{told}");
}

#[rstest]
fn an_interrupt_is_partial_and_the_next_turn_works(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let codex =
        vec![conversation("again", vec![text("Done.")]), conversation("count", vec![hangs()])];
    let world = World::new(Plan { version, codex, ..Plan::default() });
    let arguments = [&["chat", "-q", "count", "--json"][..], &ON_CODEX].concat();
    let mut command = world.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    world.wait_for_codex(1);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();

    let found = outcome(&output);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!((&found["interrupted"], &found["partial"]), (&json!(true), &json!(true)), "{found}");
    let next = world.ask("again", &["--resume", "last"]);
    assert_eq!(next["final_response"], "Done.", "{next}");
}

/// The task is still in line: nothing of it has reached Codex.
#[rstest]
fn a_stop_before_codex_has_begun_is_an_interruption(
    #[values("0.130.0", "0.166.0")] version: &'static str,
) {
    let codex =
        vec![conversation("again", vec![text("Done.")]), conversation("count", vec![hangs()])];
    let limits = "running = 1\nidle_app_server = \"2s\"\nidle_thread = \"1s\"";
    let world = World::new(Plan { version, codex, limits, ..Plan::default() });
    let other = world.run(&["start", "count", "--json"]);
    let other: Value = serde_json::from_slice(&other.stdout).unwrap();
    let other = other["task"]["id"].as_str().unwrap();
    world.wait_for_codex(1);
    let arguments = [&["chat", "-q", "wait in line", "--json"][..], &ON_CODEX].concat();
    let mut command = world.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    world.wait_for_tasks(2);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();

    let found = outcome(&output);
    let flags = ["interrupted", "partial", "failed"].map(|flag| found[flag].as_bool().unwrap());
    assert_eq!((output.status.code(), flags), (Some(7), [true, true, false]), "{found}");
    assert!(world.run(&["interrupt", other]).status.success());
    let next = world.ask("again", &["--resume", "last"]);
    assert_eq!(next["final_response"], "Done.", "{next}");
}

#[rstest]
fn an_image_goes_through_to_the_model(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let codex = vec![conversation("what is this", vec![text("A grey dot.")])];
    let world = World::new(Plan { version, codex, ..Plan::default() });
    let image = world.path("inn/dot.png");
    std::fs::write(&image, DOT).unwrap();

    let more = [&ON_CODEX[..], &["--image", image.to_str().unwrap()]].concat();
    let found = world.ask("what is this", &more);

    assert_eq!(found["final_response"], "A grey dot.", "{found}");
    let input = world.codex.requests()[0].json()["input"].clone();
    let parts = input.as_array().unwrap().iter().filter_map(|item| item["content"].as_array());
    let images: Vec<&Value> =
        parts.flatten().filter(|part| part["type"] == "input_image").collect();
    let urls: Vec<&str> = images.iter().filter_map(|part| part["image_url"].as_str()).collect();
    assert!(matches!(urls.as_slice(), [url] if url.starts_with("data:image/")), "{urls:?}");
}

#[rstest]
fn a_dead_codex_is_a_partial_result_with_advice_and_the_next_turn_works(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let codex =
        vec![conversation("again", vec![text("Done.")]), conversation("count", vec![hangs()])];
    let world =
        World::new(Plan { version, codex, tasks: "on_crash = \"fail\"", ..Plan::default() });
    let arguments = [&["chat", "-q", "count", "--json"][..], &ON_CODEX].concat();
    let mut command = world.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    world.wait_for_codex(1);
    let found = keeper::list(&world.path("o/run/keepers")).unwrap();
    let codex = found[0].record.as_ref().unwrap().codex.as_ref().unwrap().pid;
    kill_process(Pid::from_raw(codex).unwrap(), Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();

    let found = outcome(&output);
    assert_eq!((&found["failed"], &found["partial"]), (&json!(true), &json!(true)), "{found}");
    let told = found["final_response"].as_str().unwrap();
    assert!(told.contains("/codex-runtime auto"), "{told}");
    let next = world.ask("again", &["--resume", "last"]);
    assert_eq!(next["final_response"], "Done.", "{next}");
    assert_eq!(world.host.requests_seen(), 0);
}

/// The chat is killed, Codex goes on, and the next chat has what it did.
#[rstest]
fn what_codex_did_meanwhile_is_spliced_once(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let waits = "sh -c 'until test -e go; do sleep 0.05; done; echo ran >> ran.log; echo did-it'";
    let works = Answer { plays: Plays::Until("did-it".to_owned()), ..exec(waits) };
    let codex = vec![
        conversation("and then", vec![text("Then this.")]),
        conversation("work", vec![works, text("Worked.")]),
    ];
    let world = World::new(Plan { version, codex, ..Plan::default() });
    let arguments = [&["chat", "-q", "work", "--json"][..], &ON_CODEX].concat();
    let mut child = world.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
    world.wait_for_codex(1);
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(world.path("inn/go"), "").unwrap();
    world.wait_for_codex(2);

    let next = world.ask("and then", &["--resume", "last"]);

    assert_eq!(next["final_response"], "Then this.", "{next}");
    assert_eq!(world.lines("ran.log"), 1);
    let kept = world.kept();
    let bodies: Vec<String> = kept.iter().map(|it| format!("{} {}", it.role, it.body)).collect();
    let count = |role: &str, part: &str| {
        bodies.iter().filter(|it| it.starts_with(role) && it.contains(part)).count()
    };
    let counts = [
        count("user", "\"work\""),
        count("assistant", "Worked."),
        count("user", "and then"),
        count("assistant", "Then this."),
    ];
    assert_eq!(counts, [1; 4], "{bodies:#?}");
}
