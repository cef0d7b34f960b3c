//! What Codex asks, answered from a script, from terminals, and by a rule.

use ostler_scripted_model::{Answer, Call, Conversation, Fault};
use serde_json::{Value, json};

use crate::world::{World, plain, word};
use crate::{ASKS, LEAVES_A_LINE, PROMPT, command, text};

/// What the system calls the user of this test.
fn whoami() -> String {
    let output = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// At the end of each question.
const CURSOR: &str = "› ";

#[test]
fn an_ask_is_answered_once_and_whoever_comes_second_is_told_who_was_first() {
    let world = World::new("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let (task, ask) = world.start_asking();
    let mut first = world.on_terminal(&["attach", &task]);
    let mut second = world.on_terminal(&["answer", &ask]);
    first.wait_for(CURSOR, 1).unwrap();
    second.wait_for(CURSOR, 1).unwrap();

    first.type_in("y\n").unwrap();
    assert_eq!(first.exit_code().unwrap(), 0, "{}", plain(&first));
    second.type_in("n\n").unwrap();

    assert_eq!(second.exit_code().unwrap(), 1, "{}", plain(&second));
    let told = plain(&second);
    assert!(told.contains(&format!("error: {} (terminal) decided it before", whoami())), "{told}");
    let third = world.run(&["answer", &ask, "deny"]);
    assert_eq!(third.exit, 1);
    assert!(third.errors.contains("(terminal) decided it before"), "{}", third.errors);
    assert_eq!(world.lines("ran.log"), 1);
    let shown = plain(&first);
    for part in [
        "▌ Codex asks to run a command\n",
        &format!("▌ allowed once ({} (terminal))", whoami()),
        "│ did it\n",
        "✓ done\n",
    ] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
}

/// The question is taken off the terminal of whoever only watched.
#[test]
fn a_question_that_somebody_else_answers_is_taken_off() {
    let world = World::new("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let (task, ask) = world.start_asking();
    let mut watching = world.on_terminal(&["attach", &task]);
    watching.wait_for(CURSOR, 1).unwrap();
    let denied = world.run(&["answer", &ask, "deny", "--reason", "use the other stable"]);
    assert_eq!((denied.exit, denied.out), (0, format!("{ask}: denied\n")), "{}", denied.errors);

    assert_eq!(watching.exit_code().unwrap(), 0, "{}", plain(&watching));
    let shown = plain(&watching);
    assert!(shown.contains(&format!("▌ denied ({} (ostler answer))", whoami())), "{shown}");
    assert_eq!(world.lines("ran.log"), 0);
    assert!(format!("{:?}", world.model.requests()).contains("use the other stable"));
}

#[test]
fn leaving_a_question_open_leaves_the_task_waiting() {
    let world = World::new("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let (task, ask) = world.start_asking();
    for arguments in [["attach", &task], ["answer", &ask]] {
        let mut terminal = world.on_terminal(&arguments);
        terminal.wait_for(CURSOR, 1).unwrap();
        terminal.type_in("d\n").unwrap();
        assert_eq!(terminal.exit_code().unwrap(), 4, "{}", plain(&terminal));
    }
    let asks = world.json(&["asks"]);
    assert_eq!(asks["asks"][0]["ask"]["id"], *ask);
    let list = world.run(&["ls"]);
    assert!(list.out.ends_with("1 task needs you: ostler asks\n"), "{}", list.out);
}

#[test]
fn always_makes_a_rule_that_decides_the_next_time_and_can_be_removed() {
    let touch = "touch ran.log";
    let world = World::new("0.166.0", vec![command(touch), text("Done.")]);
    let (task, ask) = world.start_asking();
    let wrong = world.run(&["answer", &ask, "once", "--for", "2h"]);
    assert_eq!(wrong.exit, 2, "{}", wrong.errors);
    let answered = world.run(&["answer", &ask, "always", "--for", "2h", "--here"]);
    assert_eq!(
        (answered.exit, answered.out),
        (0, format!("{ask}: allowed once; a rule was made of it\n")),
        "{}",
        answered.errors
    );
    assert_eq!(world.run(&["wait", &task]).exit, 0);

    let rules = world.json(&["policy", "ls"]);
    let rule = &rules["rules"][0];
    assert_eq!(rule["matcher"], json!({ "command": ["touch", "ran.log"] }), "{rules}");
    let length = rule["expires_at"].as_i64().unwrap() - rule["made_at"].as_i64().unwrap();
    assert!((7_190_000..=7_200_000).contains(&length), "{length}");

    // The same again asks nobody.
    let again = world.run(&[&["start", PROMPT, "--wait"], &ASKS[..]].concat());
    assert_eq!(again.exit, 0, "{} {}", again.out, again.errors);
    let id = word(&rule["id"]);
    // Nobody wished for the answer, and it has its proof all the same.
    let by_rule = word(&world.json(&["ls"])["tasks"][0]["id"]);
    let decided = &world.json(&["receipts", &by_rule])["decided"];
    assert_eq!(decided[0]["decision"]["by"], json!({ "who": "rule", "rule": id }), "{decided}");
    assert_eq!(decided[0]["closed"], json!({ "how": "answered" }), "{decided}");
    assert_eq!(world.json(&["receipts", &task])["decided"], json!([]), "a person decided it");
    let shown = world.run(&["receipts", &by_rule]).out;
    assert!(shown.contains("Codex has the answer") && shown.contains(&id), "{shown}");
    assert_eq!(world.run(&["policy", "rm", &id]).exit, 0);
    let empty = world.run(&["policy", "ls"]);
    assert!(empty.out.starts_with("no rules; "), "{}", empty.out);
    let asked = world.run(&[&["start", PROMPT, "--wait"], &ASKS[..]].concat());
    assert_eq!(asked.exit, 4, "{} {}", asked.out, asked.errors);
}

/// What waits in a script is a code and an object.
#[test]
fn a_script_sees_what_is_asked_and_what_may_be_answered() {
    let world = World::new("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let (_, ask) = world.start_asking();
    let refused = world.run(&["answer", &ask, "--json"]);
    assert_eq!(refused.exit, 2);
    let refused: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!(refused["error"]["message"], "there is no terminal to ask on");
    let hint = format!("ostler answer {ask} once|session|always|deny|cancel");
    assert_eq!(refused["error"]["hint"], hint);
    let cancelled = world.json(&["answer", &ask, "cancel"]);
    assert_eq!(cancelled["decision"]["decision"], "Cancel", "{cancelled}");
    assert_eq!(world.run(&["wait", &word(&cancelled["task"])]).exit, 7);
}

/// Of several sub-agents, the person must know which one asks.
#[test]
fn an_ask_of_a_sub_agent_names_it() {
    let spawn = Call::function("spawn_agent", json!({ "message": "muck out" }));
    let spawn = Answer { calls: vec![spawn], ..Answer::default() };
    let of = |prompt: &str, answers| Conversation { prompt: prompt.to_owned(), answers };
    let child = of("muck out", vec![command(LEAVES_A_LINE), text("Clean.")]);
    // Its turn goes on as long as somebody may ask.
    let hangs =
        Answer { fault: Some(Fault::HangBeforeHeaders { for_ms: None }), ..Answer::default() };
    let parent = of(PROMPT, vec![spawn, hangs]);
    let world = World::with("0.130.0", vec![child, parent], "");
    let (_, ask) = world.start_asking();

    let asks = world.json(&["asks"]);
    let agent = &asks["asks"][0]["ask"]["agent"];
    let (name, thread) = (word(&agent["name"]), word(&agent["thread"]));
    let named = format!("{name} (thread …{}): run ", &thread[thread.len() - 6..]);
    let listed = world.run(&["asks"]);
    assert!(listed.out.contains(&named), "{named:?} is not in {}", listed.out);
    let mut terminal = world.on_terminal(&["answer", &ask]);
    terminal.wait_for(CURSOR, 1).unwrap();
    terminal.type_in("y\n").unwrap();
    assert_eq!(terminal.exit_code().unwrap(), 0, "{}", plain(&terminal));
    assert!(plain(&terminal).contains(&format!("the sub-agent {name} (")), "{}", plain(&terminal));
}
