//! Reviews, forms, worktrees and old tasks, by hand and from scripts.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use ostler_scripted_model::{Answer, Call, Conversation};
use ostler_testkit::tiny_mcp_server;
use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, word};
use crate::{PROMPT, command, text};

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Test", "-c", "user.email=test@example.org"]);
    let done = git.args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
}

fn repository(world: &World) {
    let inn = world.path("inn");
    git(&inn, &["init", "--quiet", "-b", "main"]);
    fs::write(inn.join("stable.txt"), "horses\n").unwrap();
    git(&inn, &["add", "--all"]);
    git(&inn, &["commit", "--quiet", "-m", "first"]);
}

/// Starts a task and waits for its end.
fn done(world: &World, arguments: &[&str]) -> String {
    let ran = world.run(&[&["start", PROMPT, "--wait", "--json"], arguments].concat());
    assert_eq!(ran.exit, 0, "{} {}", ran.out, ran.errors);
    let waited: Value = serde_json::from_str(&ran.out).unwrap();
    word(&waited["tasks"][0]["id"])
}

#[rstest]
fn a_review_is_a_turn_of_the_task(#[values("0.130.0", "0.166.0")] version: &str) {
    // What a review asks of the model is Codex's own prompt, so the fallback answers it.
    let world = World::new(version, vec![text("Harnessed.")]);
    repository(&world);
    fs::write(world.path("inn/stable.txt"), "no horses\n").unwrap();
    let task = done(&world, &[]);
    let reviewed = world.run(&["review", &task, "--wait"]);
    assert_eq!(reviewed.exit, 0, "{} {}", reviewed.out, reviewed.errors);

    let shown = world.json(&["show", &task]);
    assert_eq!(shown["task"]["spent"]["turns"], 2, "{shown}");
    let answer = word(&shown["task"]["last_result"]["final_answer"]);
    assert!(answer.contains("All right."), "{answer}");
    let receipts = world.json(&["receipts", &task]);
    let wishes = receipts["intents"].as_array().unwrap();
    let content = &wishes[1]["wish"]["input"]["content"];
    assert!(content.to_string().to_lowercase().contains("uncommitted"), "{content}");
    let two = world.run(&["review", &task, "--base", "main", "--commit", "HEAD"]);
    assert_eq!(two.exit, 2, "{}", two.errors);
}

#[rstest]
fn a_form_is_filled_in_from_a_script(#[values("0.130.0", "0.166.0")] version: &str) {
    // Up to 0.130.0 the namespace ends with the separator.
    let namespace = if version == "0.130.0" { "mcp__tiny__" } else { "mcp__tiny" };
    let call = Call { namespace: Some(namespace.to_owned()), ..Call::function("form", json!({})) };
    let world = World::new(
        version,
        vec![Answer { calls: vec![call], ..Answer::default() }, text("Saddled.")],
    );
    let server = tiny_mcp_server(&world.path("home")).unwrap();
    let place = world.path("home/config.toml");
    let config = fs::read_to_string(&place).unwrap();
    let (program, arguments) = (server.command.unwrap(), server.args);
    let tiny = format!("\n[mcp_servers.tiny]\ncommand = {program:?}\nargs = {arguments:?}\n");
    fs::write(&place, format!("{config}{tiny}")).unwrap();

    let asking = world.run(&["start", PROMPT, "--wait", "--sandbox", "workspace-write"]);
    assert_eq!(asking.exit, 4, "{} {}", asking.out, asking.errors);
    let asks = world.json(&["asks"]);
    let ask = word(&asks["asks"][0]["ask"]["id"]);
    let task = word(&asks["asks"][0]["ask"]["task"]);
    // What cannot be is said before anything is sent, and the ask stays open.
    for (wrong, said) in [
        ("pace=gallop", "name: "),
        ("size=16", "nothing is asked by the name \"size\""),
        ("name", "\"name\" has no `=`; write NAME=VALUE"),
    ] {
        let refused = world.run(&["answer", &ask, "--set", wrong]);
        assert_eq!(refused.exit, 2, "{wrong}: {} {}", refused.out, refused.errors);
        assert!(refused.errors.contains(said), "{wrong}: {}", refused.errors);
    }
    let hint = world.run(&["answer", &ask, "--json"]);
    assert!(hint.out.contains(&format!("ostler answer {ask} --set name=… --set pace=…")));
    let twice = world.run(&["answer", &ask, "--set", "pace=-", "--set", "name=-"]);
    assert_eq!(twice.exit, 2, "{} {}", twice.out, twice.errors);
    // What is secret comes by stdin.
    let mut set = world.command(&["answer", &ask, "--set", "pace=trot", "--set", "name=-"]);
    let mut set = set.stdin(Stdio::piped()).spawn().unwrap();
    set.stdin.take().unwrap().write_all(b"Ada\n").unwrap();
    assert_eq!(set.wait().unwrap().code(), Some(0));
    assert_eq!(world.run(&["wait", &task]).exit, 0);

    let sent = format!("{:?}", world.model.requests());
    assert!(sent.contains("Ada") && sent.contains("trot"), "{sent}");
}

#[test]
fn a_worktree_is_listed_merged_and_removed() {
    let conversation = |prompt: &str, file: &str| Conversation {
        prompt: prompt.to_owned(),
        answers: vec![command(&format!("echo hay > {file}")), text("Fed.")],
    };
    let conversations =
        vec![conversation(PROMPT, "fodder.txt"), conversation("again", "water.txt")];
    let world = World::with("0.166.0", conversations, "sandbox = \"workspace-write\"");
    let none = world.run(&["worktree", "ls"]);
    assert_eq!(none.out, "there are none; `ostler start --worktree` makes one\n");
    repository(&world);
    let task = done(&world, &["--worktree"]);
    let inn = world.path("inn");
    assert!(!inn.join("fodder.txt").exists());

    let all = world.json(&["worktree", "ls"]);
    let worktree = &all["worktrees"][0];
    assert_eq!(worktree["task"], *task, "{all}");
    let folder = word(&worktree["worktree"]["path"]);
    assert!(Path::new(&folder).join("fodder.txt").exists());
    let shown = world.run(&["diff", &task]);
    assert!(shown.out.contains("+hay"), "{} {}", shown.out, shown.errors);
    // Its work is nowhere else, so it is not removed by the way.
    let kept = world.run(&["worktree", "rm", &task]);
    assert_eq!(kept.exit, 1, "{} {}", kept.out, kept.errors);

    let merged = world.run(&["worktree", "merge", &task[..8]]);
    assert_eq!(merged.exit, 0, "{} {}", merged.out, merged.errors);
    assert!(merged.out.starts_with("main is at "), "{}", merged.out);
    assert_eq!(fs::read_to_string(inn.join("fodder.txt")).unwrap(), "hay\n");
    let removed = world.run(&["worktree", "rm", &task]);
    assert_eq!(removed.out, format!("the worktree of {task} is removed\n"), "{}", removed.errors);
    assert!(!Path::new(&folder).exists());

    // With force the work goes to a ref, which keeps it.
    let ran = world.run(&["start", "again", "--wait", "--json", "--worktree"]);
    let waited: Value = serde_json::from_str(&ran.out).unwrap();
    let second = word(&waited["tasks"][0]["id"]);
    let forced = world.run(&["worktree", "rm", "--force", &second]);
    let expected = format!(
        "the worktree of {second} is removed; its work is kept: `git show refs/ostler/{second}`\n"
    );
    assert_eq!(forced.out, expected, "{}", forced.errors);
    assert_eq!(git(&inn, &["show", &format!("refs/ostler/{second}:water.txt")]), "hay");
}

#[test]
fn old_tasks_are_removed_on_request_and_that_is_reported() {
    let world = World::new("0.166.0", vec![text("Done.")]);
    let place = world.path("o/config/config.toml");
    let config = fs::read_to_string(&place).unwrap();
    let first = done(&world, &[]);
    let nothing = world.run(&["gc"]);
    let said = "nothing to remove; [retention] in the configuration says what is kept\n";
    assert_eq!((nothing.exit, nothing.out.as_str()), (0, said), "{}", nothing.errors);

    fs::write(&place, format!("{config}[retention]\ncompleted = 1\n")).unwrap();
    world.json(&["daemon", "restart"]);
    let second = done(&world, &[]);
    let report = world.json(&["gc"]);
    assert_eq!((&report["too_many"], &report["too_old"]), (&json!([first]), &json!([])));
    assert_eq!(world.run(&["show", &first]).exit, 3);
    assert_eq!(world.json(&["show", &second])["task"]["state"], "completed");
}
