//! Turns on the host's own loop.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use ostler_scripted_model::{Answer, Cut, Fault, FirstFrame, Plays};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::world::{KEY, Plan, World};
use crate::{call, conversation, said, text, users};

#[test]
fn a_turn_with_a_tool_has_the_shape_that_both_runtimes_have() {
    let host = conversation(
        "feed the mare",
        vec![call("read_file", json!({ "path": "hay.txt" })), text("She had oats.")],
    );
    let world = World::new(Plan { host: vec![host], ..Plan::default() });
    std::fs::write(world.path("inn/hay.txt"), "oats\n").unwrap();

    let found = world.ask("feed the mare", &[]);

    let flags = ["completed", "partial", "failed", "interrupted", "persisted"];
    let flags = flags.map(|flag| found[flag].as_bool().unwrap());
    assert_eq!(flags, [true, false, false, false, true], "{found}");
    assert_eq!(found["final_response"], "She had oats.");
    assert_eq!((&found["api_calls"], &found["tool_iterations"]), (&json!(2), &json!(1)));
    assert_eq!(found["usage"]["turn"]["input"], 200, "the sum of both calls");
    assert_eq!(found["pending_steer"], json!([]));
    let roles: Vec<String> = said(&found).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert!(said(&found)[2].1.contains("oats"), "{found}");
    // What is on disk is what was told.
    let kept: Vec<String> = world.kept().into_iter().map(|message| message.role).collect();
    assert_eq!(kept, roles);
}

#[test]
fn codex_is_never_touched() {
    let host = conversation("feed the mare", vec![text("Fed.")]);
    let world = World::new(Plan { host: vec![host], ..Plan::default() });

    let found = world.ask("feed the mare", &[]);

    assert_eq!(found["completed"], true, "{found}");
    assert_eq!(world.codex.requests_seen(), 0);
    let keepers =
        std::fs::read_dir(world.path("o/run/keepers")).map(|all| all.count()).unwrap_or(0);
    assert_eq!(keepers, 0, "no app-server was ever started");
    let request = world.host.requests().remove(0);
    assert!(request.header("authorization").is_some());
    assert!(!String::from_utf8_lossy(&request.body).contains(KEY));
}

#[test]
fn a_conversation_goes_on_in_another_process() {
    let host = vec![
        conversation("and what did I say", vec![text("You said hello.")]),
        conversation("hello", vec![text("Hello.")]),
    ];
    let world = World::new(Plan { host, ..Plan::default() });

    world.ask("hello", &[]);
    let found = world.ask("and what did I say", &["--resume", "last"]);

    assert_eq!(found["final_response"], "You said hello.");
    assert_eq!(users(&found), 1, "an outcome has the messages of its own turn");
    let input = world.asked()[1]["input"].to_string();
    for part in ["hello", "Hello.", "and what did I say"] {
        assert_eq!(input.matches(part).count(), 1, "{part} in {input}");
    }
    assert_eq!(world.kept().len(), 4);
}

#[test]
fn an_interrupt_ends_the_turn_with_what_there_is() {
    let slow = Answer {
        fault: Some(Fault::Hang { after: 3, for_ms: None }),
        ..text("One two three four five six.")
    };
    let host = vec![conversation("again", vec![text("Done.")]), conversation("count", vec![slow])];
    let world = World::new(Plan { host, ..Plan::default() });
    let mut command = world.command(&["chat", "-q", "count", "--json", "--stream"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    // Some of the text has come.
    assert!(lines.any(|line| line["event"] == "text"));
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let found = lines.last().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!((&found["interrupted"], &found["partial"]), (&json!(true), &json!(true)), "{found}");
    assert_eq!(found["completed"], false);
    let next = world.ask("again", &["--resume", "last"]);
    assert_eq!(next["final_response"], "Done.");
}

#[test]
fn a_failure_says_what_to_do_and_the_next_turn_works() {
    let refused = Answer {
        fault: Some(Fault::Status {
            status: 401,
            code: None,
            message: Some("no such key".to_owned()),
            retry_after_s: None,
            body: None,
        }),
        plays: Plays::Forever,
        ..Answer::default()
    };
    let host =
        vec![conversation("feed her now", vec![text("Fed.")]), conversation("feed", vec![refused])];
    let world = World::new(Plan { host, ..Plan::default() });

    let found = world.ask("feed", &[]);
    let next = world.ask("feed her now", &["--resume", "last"]);

    assert_eq!((&found["failed"], &found["completed"]), (&json!(true), &json!(false)), "{found}");
    assert_eq!(found["failure"]["class"]["class"], "auth", "{found}");
    assert!(found["final_response"].as_str().unwrap().contains("What to do"), "{found}");
    assert_eq!(next["final_response"], "Fed.", "{next}");
}

/// A tool that leaves a mark each time it runs.
fn marks() -> Answer {
    call("terminal", json!({ "command": "echo ran >> marks" }))
}

#[test]
fn a_tool_of_an_attempt_that_failed_is_run_once_after_the_retry() {
    let faults = [
        Fault::Drop { after: 99, how: Cut::default() },
        Fault::Drop { after: 99, how: Cut::Reset },
        Fault::ErrorEvent { after: 99, code: "server_error".into(), message: "m".into() },
        Fault::Failed { after: 99, code: "server_is_overloaded".into(), message: "m".into() },
        // The call came whole and is good; only the end is missing.
        Fault::MissingTerminal,
    ];
    for fault in faults {
        let what = format!("{fault:?}");
        let is_asked_again = fault != Fault::MissingTerminal;
        // The whole call is on its way when the fault comes.
        let broken = Answer { fault: Some(fault), ..marks() };
        let again = is_asked_again.then(marks);
        let answers = [broken].into_iter().chain(again).chain([text("Done.")]).collect();
        let host = vec![conversation("leave a mark", answers)];
        let world = World::new(Plan { host, ..Plan::default() });

        let found = world.ask("leave a mark", &[]);

        assert_eq!(found["completed"], true, "{what}: {found}");
        assert_eq!(world.lines("marks"), 1, "{what}: {found}");
        assert_eq!(found["tool_iterations"], 1, "{what}");
    }
}

/// Each way in which an answer does not come whole, for good.
#[test]
fn nothing_that_did_not_come_whole_is_told_as_completed() {
    let status = |status: u16| Fault::Status {
        status,
        code: None,
        message: None,
        retry_after_s: Some(0),
        body: None,
    };
    let (code, message) = ("server_error".to_owned(), "m".to_owned());
    let faults = [
        status(400),
        status(401),
        status(429),
        status(500),
        status(503),
        Fault::UsageLimit { plan_type: None, resets_in_s: Some(60) },
        Fault::DropBeforeHeaders { how: Cut::default() },
        Fault::Drop { after: 2, how: Cut::default() },
        Fault::FirstFrame { frame: FirstFrame::Error },
        Fault::ErrorEvent { after: 2, code: code.clone(), message: message.clone() },
        Fault::Failed { after: 2, code, message },
        Fault::Incomplete { reason: "max_output_tokens".to_owned() },
        Fault::Incomplete { reason: "content_filter".to_owned() },
        Fault::MissingTerminal,
    ];
    let broken = |(number, fault): (usize, &Fault)| {
        let answer = Answer {
            text: Some("one two three".to_owned()),
            fault: Some(fault.clone()),
            plays: Plays::Forever,
            ..Answer::default()
        };
        conversation(&format!("case {number}."), vec![answer])
    };
    let host = faults.iter().enumerate().map(broken).collect();
    let world = World::new(Plan { host, ..Plan::default() });
    for (number, fault) in faults.iter().enumerate() {
        let found = world.ask(&format!("case {number}."), &[]);
        let flags = ["completed", "partial", "failed", "interrupted", "persisted"];
        let flags = flags.map(|flag| found[flag].as_bool().unwrap());
        assert_eq!(flags, [false, true, true, false, true], "{fault:?}: {found}");
        assert!(found["error"].is_string() && found["failure"].is_object(), "{fault:?}: {found}");
        assert!(found["final_response"].as_str().unwrap().contains("What to do"), "{fault:?}");
    }
}

/// The provider is asked with what `codex login` has left. Its refresh token is Codex's alone.
#[test]
fn codexs_own_login_is_used_and_left_as_it_is() {
    let host = vec![conversation("feed the mare", vec![text("Fed.")])];
    let world = World::new(Plan { host, agent: "provider = \"codex\"", ..Plan::default() });
    let base_url = format!("{}/v1", world.host.base_url().trim_end_matches("/v1"));
    world.set(&format!("[providers.codex]\nbase_url = {base_url:?}\ncodex_login = true"));

    let found = world.ask("feed the mare", &[]);
    assert_eq!(found["failure"]["class"]["class"], "auth", "nobody is logged in: {found}");

    let login = json!({
        "auth_mode": "chatgpt",
        "tokens": { "access_token": "of-the-login", "account_id": "stable", "refresh_token": "codexs-alone" },
    });
    let file = world.path("home/auth.json");
    std::fs::write(&file, login.to_string()).unwrap();
    let found = world.ask("feed the mare", &[]);

    assert_eq!(found["final_response"], "Fed.", "{found}");
    let request = world.host.requests().remove(0);
    // The scripted model keeps no key; whose it is, the account beside it says.
    assert_eq!(request.header("authorization"), Some("Bearer (present)"));
    assert_eq!(request.header("chatgpt-account-id"), Some("stable"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), login.to_string());
    assert_eq!(world.codex.requests_seen(), 0);
}
