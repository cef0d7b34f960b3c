//! The login of the app-server's Codex home is in no file of ours and in nothing that we send, whatever prints it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use ostler_scripted_model::{Answer, Call, Pace};
use rstest::rstest;
use serde_json::{Value, json};

use crate::caller::{Caller, NEWEST, world};
use crate::streams::is_over;
use crate::{command, text};

/// It looks like nothing: only because it is in `auth.json` is it known.
const CANARY: &str = "zebra.canary.of.the.login";

const HIDDEN: &str = "‹redacted›";

/// Files below the folder that hold the canary.
fn leaks(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            leaks(&path, found);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            if bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
}

/// The text that grew, piece by piece.
fn grown(lines: &[Value]) -> String {
    let pieces = lines.iter().filter(|line| line["line"] == "grown");
    pieces.filter_map(|line| line["text"].as_str()).collect()
}

#[rstest]
fn a_login_that_a_command_prints_and_the_model_repeats_is_kept_nowhere(
    #[values("0.142.5", NEWEST)] version: &str,
) {
    let says = format!("The key is {CANARY}, and once more: ({CANARY}).");
    // Slowly, so that whoever looks sees it grow.
    let pace = Some(Pace { between_deltas_ms: 20, ..Pace::default() });
    let repeats = Answer { text: Some(says), delta_bytes: 3, pace, ..Answer::default() };
    let prints = format!("sh -c 'echo {CANARY} >> ran.log; cat ../home/auth.json'");
    let world = world(version, vec![command(&prints), repeats]);
    let login = json!({ "OPENAI_API_KEY": CANARY }).to_string();
    fs::write(world.path("home/auth.json"), login).unwrap();
    let (task, ask) = world.start_asking();
    let caller = Caller::of(&world);
    let follow = |path: String| {
        let caller = caller.clone();
        let mut stream = caller.listen(&path, &[]);
        thread::spawn(move || stream.until(is_over))
    };
    let plain = follow(format!("/v1/tasks/{task}/events"));
    let wire = follow(format!("/v1/tasks/{task}/events?wire=true"));
    let mut logs = world.command(&["logs", "-f", &task]);
    let logs = thread::spawn(move || logs.output().unwrap());

    // Whoever decides sees all of the command but the secret, and is not offered to keep it.
    let shown = caller.get("/v1/asks").to_string();
    assert!(shown.contains(&format!("echo {HIDDEN} >> ran.log; cat ../home/auth.json")), "{shown}");
    assert!(!shown.contains("Always"), "{shown}");
    caller.post(&format!("/v1/asks/{ask}/answer"), &json!({ "decision": "Once" }));
    let plain = plain.join().unwrap();
    let wire = wire.join().unwrap();
    let logs = logs.join().unwrap();

    // Codex was given the command as it is.
    assert_eq!(fs::read_to_string(world.path("inn/ran.log")).unwrap(), format!("{CANARY}\n"));
    let expected = format!("The key is {HIDDEN}, and once more: ({HIDDEN}).");
    assert!(grown(&plain).contains(&expected), "{}", grown(&plain));
    let messages = caller.get(&format!("/v1/tasks/{task}/messages")).to_string();
    assert!(messages.contains(&expected), "{messages}");
    let page = caller.get(&format!("/v1/tasks/{task}")).to_string();
    let told = [
        ("messages", messages),
        ("task", page),
        ("asks", shown),
        ("events", json!(plain).to_string()),
        ("pieces", grown(&plain)),
        ("wire", json!(wire).to_string()),
        ("logs -f", format!("{logs:?}")),
        ("logs --json", format!("{:?}", world.log(&task))),
    ];
    for (name, text) in &told {
        assert!(!text.contains(CANARY), "{name}: {text}");
    }
    let mut found = Vec::new();
    leaks(&world.path("o"), &mut found);
    assert_eq!(found, Vec::<String>::new());
}

/// All that the states of a task's folder have: git packs it, so that it cannot be looked for as it is.
fn objects(changes: &Path) -> String {
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(changes).args(["cat-file", "--batch-all-objects", "--batch"]);
    let out = git.output().unwrap();
    assert!(out.status.success(), "{out:?}");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Whoever sees diffs need not be one who may see the files.
#[rstest]
fn a_login_in_files_and_in_their_names_is_told_and_kept_nowhere(
    #[values("0.142.5", NEWEST)] version: &str,
) {
    let writes = format!(
        "sh -c 'cp ../home/auth.json copied.txt; echo hay > {CANARY}.hay; echo {CANARY} >> before.txt; echo oats > plain.txt'"
    );
    let patch = format!("*** Begin Patch\n*** Add File: {CANARY}.txt\n+hello\n*** End Patch\n");
    let patch = Answer { calls: vec![Call::apply_patch(patch)], ..Answer::default() };
    let world = world(version, vec![command(&writes), patch, text("Done.")]);
    let login = json!({ "OPENAI_API_KEY": CANARY }).to_string();
    fs::write(world.path("home/auth.json"), &login).unwrap();
    fs::write(world.path("inn/before.txt"), "straw\n").unwrap();
    let (task, ask) = world.start_asking();
    let caller = Caller::of(&world);
    let answer = |ask: &str| {
        caller.post(&format!("/v1/asks/{ask}/answer"), &json!({ "decision": "Once" }));
        world.run(&["wait", &task]).exit
    };
    assert_eq!(answer(&ask), 4);
    let shown = caller.get("/v1/asks");
    assert_eq!(answer(shown["asks"][0]["ask"]["id"].as_str().unwrap()), 0, "{shown}");
    let inn = |name: &str| fs::read_to_string(world.path("inn").join(name)).unwrap();
    assert_eq!((inn("copied.txt"), inn(&format!("{CANARY}.txt"))), (login, "hello\n".to_owned()));

    let diff = caller.get(&format!("/v1/tasks/{task}/diff?turns=all"));
    assert!(diff["diff"].as_str().unwrap().contains("+oats"), "{diff}");
    let notes = diff["from"]["notes"].to_string();
    for left_out in ["copied.txt", &format!("{HIDDEN}.hay"), &format!("{HIDDEN}.txt"), "before.txt"]
    {
        assert!(notes.contains(left_out), "{left_out}: {diff}");
    }
    let page = |of: &str| caller.get(&format!("/v1/tasks/{task}{of}")).to_string();
    let told = [
        ("asks", shown.to_string()),
        ("diff", diff.to_string()),
        ("last diff", page("/diff")),
        ("ostler diff", world.run(&["diff", &task]).out),
        ("items", page("/items")),
        ("messages", page("/messages")),
        ("task", page("")),
        ("logs", world.run(&["logs", &task]).out),
        ("logs --json", format!("{:?}", world.log(&task))),
        ("objects", objects(&world.path("o/state/changes").join(&task))),
    ];
    for (name, text) in &told {
        assert!(!text.contains(CANARY), "{name}: {text}");
    }
    let mut found = Vec::new();
    leaks(&world.path("o"), &mut found);
    assert_eq!(found, Vec::<String>::new());
}
