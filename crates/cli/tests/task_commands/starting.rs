//! From `start` to the end of a task, as a script sees it.

use std::io::{Read, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use ostler_model::task::{Intent, IntentState};
use ostler_model::{Task, TaskState};
use ostler_scripted_model::Conversation;
use ostler_store::{Batch, Store, StoreSettings, Write};
use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, word};
use crate::{LEAVES_A_LINE, PROMPT, command, text};

#[rstest]
fn a_task_is_started_listed_shown_and_waited_for(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let world = World::new(version, vec![text("The horse is harnessed.")]);
    let empty = world.run(&["ls"]);
    assert_eq!(empty.out, "no tasks yet; start one with `ostler start \"…\"`\n");

    let started = world.run(&["start", PROMPT]);
    let id = started.out.trim();
    assert_eq!(started.exit, 0, "{}", started.errors);
    assert_eq!(
        started.errors,
        format!("started; follow it with `ostler attach {id}`\n"),
        "only the id is on stdout: {}",
        started.out
    );

    let waited = world.run(&["wait", &id[..5], "--timeout", "60s"]);
    assert_eq!(
        (waited.exit, waited.out),
        (0, format!("{id} completed: the turn is complete\n")),
        "{}",
        waited.errors
    );
    let list = world.run(&["ls"]);
    let row = list.out.lines().nth(1).unwrap();
    assert!(row.starts_with(&id[..8]) && row.ends_with(PROMPT), "{}", list.out);
    assert!(row.contains("  completed  "), "{}", list.out);
    let shown = world.run(&["show", id]);
    assert!(shown.out.starts_with(&format!("{PROMPT}\ncompleted ")), "{}", shown.out);
    assert!(shown.out.ends_with("\nThe horse is harnessed.\n"), "{}", shown.out);

    let why = world.json(&["why", id]);
    let states: Vec<String> =
        why["steps"].as_array().unwrap().iter().map(|step| word(&step["to"])).collect();
    assert_eq!(states, ["starting", "working", "completed"]);
    let receipts = world.json(&["receipts", id]);
    assert_eq!(receipts["intents"][0]["state"]["receipt"]["proof"], "taken", "{receipts}");
    assert_eq!(world.json(&["ls", "--state", "failed"])["tasks"], json!([]));
}

#[test]
fn the_prompt_comes_from_stdin_or_a_file_and_a_key_starts_once() {
    let world = World::new("0.166.0", vec![text("Done.")]);
    let mut piped = world.command(&["start", "-", "--wait", "--json"]);
    let piped = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(PROMPT.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let waited: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(waited["tasks"][0]["last_result"]["final_answer"], "Done.", "{waited}");

    std::fs::write(world.path("inn/prompt.txt"), PROMPT).unwrap();
    let start = ["start", "--file", "prompt.txt", "--key", "k1"];
    let (first, second) = (world.json(&start), world.json(&start));
    assert_eq!(first["known"], false);
    assert_eq!((&second["known"], &second["task"]["id"]), (&json!(true), &first["task"]["id"]));
    let other = world.run(&["start", "something else", "--key", "k1"]);
    assert_eq!(other.exit, 1, "{}", other.errors);
    assert!(other.errors.contains("was used before"), "{}", other.errors);
}

/// Everything that is wrong is said at once, and nothing is started.
#[test]
fn what_is_not_allowed_is_refused_by_name() {
    let world = World::new("0.166.0", vec![text("Done.")]);
    for prompt in ["", "  "] {
        let empty = world.run(&["start", prompt]);
        assert_eq!((empty.exit, empty.out.as_str()), (2, ""));
        assert!(empty.errors.starts_with("error: there is no prompt\n"), "{}", empty.errors);
    }
    let wide = ["start", PROMPT, "--sandbox", "danger-full-access", "--approval", "never"];
    let refused = world.run(&wide);
    assert_eq!(refused.exit, 2, "{}", refused.errors);
    for word in ["allow_danger_full_access = true", "allow_approval_never = true"] {
        assert!(refused.errors.contains(word), "{}", refused.errors);
    }
    assert_eq!(world.run(&["start", PROMPT, "--cd", "nowhere"]).exit, 3);
    assert_eq!(world.json(&["ls", "--all"])["tasks"], json!([]));
}

#[test]
fn what_is_not_there_is_not_found() {
    let world = World::with("0.166.0", vec![], "");
    let nothing = world.run(&["show", "abc", "--no-start"]);
    assert_eq!(nothing.exit, 6, "no daemon runs: {}", nothing.errors);
    for arguments in
        [["show", "abc"], ["wait", "abc"], ["answer", "abc"], ["logs", "abc"], ["rm", "abc"]]
    {
        let ran = world.run(&arguments);
        assert_eq!(ran.exit, 3, "{arguments:?}: {}", ran.errors);
    }
    assert_eq!(world.run(&["show", "../asks"]).exit, 2);
}

#[test]
fn a_task_goes_on_is_interrupted_forked_and_removed() {
    let talk = |prompt: &str, answers| Conversation { prompt: prompt.to_owned(), answers };
    let conversations = vec![
        talk("and now rest", vec![text("I rest.")]),
        talk("another way", vec![text("Done.")]),
        talk("gently", vec![text("Gently done.")]),
        talk(PROMPT, vec![command(LEAVES_A_LINE)]),
    ];
    let world = World::with("0.166.0", conversations, "");
    let (task, _) = world.start_asking();
    let timed_out = world.run(&["wait", &task, "--through-asks", "--timeout", "1"]);
    assert_eq!(timed_out.exit, 124, "{}", timed_out.errors);
    assert_eq!(world.run(&["rm", &task]).exit, 2, "it is not over");

    assert_eq!(world.run(&["interrupt", &task]).exit, 0);
    assert_eq!(world.run(&["wait", &task]).exit, 7);
    let sent = world.run(&["send", &task, "and now rest", "--wait"]);
    assert_eq!(sent.exit, 0, "{}", sent.errors);
    let forked = world.run(&["fork", &task, "another way", "--wait", "--json"]);
    assert_eq!(forked.exit, 0, "{}", forked.errors);
    let forked: Value = serde_json::from_str(&forked.out).unwrap();
    assert_eq!(forked["tasks"][0]["forked_from"]["task"], *task);

    assert_eq!(world.run(&["rm", &task]).exit, 0);
    assert_eq!(world.run(&["show", &task]).exit, 3);
    assert_eq!(world.lines("ran.log"), 0);
    let swept = world.run(&["gc"]);
    assert!(swept.out.starts_with("nothing to remove"), "{}", swept.out);
    let forked = word(&forked["tasks"][0]["id"]);
    let sent = world.run(&["send", &forked, "--if-busy", "steer", "--wait", "gently"]);
    assert_eq!(sent.exit, 0, "{}", sent.errors);
}

/// Whoever asked for it to fail is told by the exit code, and the next script can try again later.
#[test]
fn what_is_sent_only_if_nothing_runs_fails_while_something_runs() {
    let world = World::new("0.166.0", vec![command(LEAVES_A_LINE)]);
    let (task, _) = world.start_asking();
    for more in [&[][..], &["--wait"], &["--key", "k"], &["--key", "k"]] {
        let sent = [&["send", &task, "and now rest", "--if-busy", "fail"][..], more].concat();
        let sent = world.run(&sent);
        assert_eq!(sent.exit, 75, "{more:?}: {} {}", sent.out, sent.errors);
        assert!(sent.errors.contains(&format!("task {task} is at work")), "{}", sent.errors);
    }
    assert_eq!(world.run(&["interrupt", &task]).exit, 0);
    assert_eq!(world.run(&["wait", &task]).exit, 7);
    let sent = world.run(&["send", &task, "and now rest", "--if-busy", "fail", "--wait"]);
    assert_eq!(sent.exit, 0, "{}", sent.errors);
}

/// The connection ends after the daemon has done what was asked and before it has said so.
#[test]
fn a_start_whose_answer_is_lost_is_asked_for_again_and_started_once() {
    let world = World::new("0.166.0", vec![text("Done.")]);
    world.json(&["daemon", "start"]);
    let (socket, real) = (world.path("o/run/daemon.sock"), world.path("o/run/real.sock"));
    let cut = |arguments: &[&str]| {
        std::fs::rename(&socket, &real).unwrap();
        let door = UnixListener::bind(&socket).unwrap();
        let (socket, real) = (socket.clone(), real.clone());
        let between = std::thread::spawn(move || {
            let (client, _) = door.accept().unwrap();
            let mut daemon = UnixStream::connect(&real).unwrap();
            let (mut asked, mut to_daemon) =
                (client.try_clone().unwrap(), daemon.try_clone().unwrap());
            let asking = std::thread::spawn(move || std::io::copy(&mut asked, &mut to_daemon));
            // Its answer has begun, so all that was asked is done.
            daemon.read_exact(&mut [0]).unwrap();
            std::fs::rename(&real, &socket).unwrap();
            client.shutdown(Shutdown::Both).unwrap();
            drop(asking.join().unwrap());
        });
        let done = world.json(arguments);
        between.join().unwrap();
        done
    };

    let started = cut(&["start", PROMPT]);
    let task = word(&started["task"]["id"]);
    assert_eq!(started["known"], false, "to whoever typed it, it is the first time");
    assert_eq!(world.run(&["wait", &task]).exit, 0);
    cut(&["send", &task, "and now rest"]);
    assert_eq!(world.run(&["wait", &task]).exit, 0);
    cut(&["fork", &task, "another way"]);

    assert_eq!(world.json(&["receipts", &task])["intents"].as_array().unwrap().len(), 2);
    assert_eq!(world.json(&["ls", "--all"])["tasks"].as_array().unwrap().len(), 2);
}

/// Many that wait for their time do not push off the list what needs a person.
#[test]
fn what_needs_a_person_is_on_the_list_however_many_wait() {
    let world = World::new("0.166.0", vec![command(LEAVES_A_LINE)]);
    let (task, _) = world.start_asking();
    world.model.hold_answers();
    world.json(&["daemon", "stop"]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = Store::open(StoreSettings::at(world.path("o/state/ostler.db"))).unwrap();
        let asking = store.task(&task.as_str().into()).await.unwrap().unwrap();
        let intent = store.intents(&asking.id).await.unwrap().remove(0);
        let mut batch = Batch::new();
        for number in 0..501 {
            let queued = Task {
                id: format!("{number:012}").as_str().into(),
                state: TaskState::Queued,
                thread: None,
                keeper: None,
                turn: None,
                // Newer than anything that the other one will do.
                updated_at: asking.updated_at + 3_600_000,
                ..asking.clone()
            };
            let first = Intent {
                id: format!("first-{number}").as_str().into(),
                task: queued.id.clone(),
                state: IntentState::Pending,
                ..intent.clone()
            };
            batch.push(Write::NewTask { task: Box::new(queued), key: None });
            batch.push(Write::Intent(Box::new(first)));
        }
        store.commit(batch).await.unwrap();
        store.close().await;
    });

    let begun = Instant::now();
    loop {
        let list = world.run(&["ls"]);
        assert!(list.out.contains(&task[..8]), "it is on the list in any case: {}", list.out);
        // Until then the new daemon is looking for it.
        if list.out.ends_with("1 task needs you: ostler asks\n") {
            let first = list.out.lines().nth(1).unwrap();
            break assert!(first.starts_with(&task[..8]), "{first}");
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{}", list.out);
    }
}
