//! Who is told what became of a task: receivers that fail, hang, come late or point elsewhere, and a daemon that is killed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ostler_scripted_model::Conversation;
use ostler_testkit::{Does, Receiver, write_script};
use serde_json::Value;
use tempfile::TempDir;

use crate::self_approval::read_until_there;
use crate::world::{World, word};
use crate::{ASKS, LEAVES_A_LINE, PROMPT, command, text};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn world(answers: Vec<ostler_scripted_model::Answer>, notify: &str) -> World {
    let conversation = Conversation { prompt: PROMPT.to_owned(), answers };
    World::with("0.166.0", vec![conversation], notify)
}

/// `[notify.ops]` at this receiver, signed with a secret in a file.
fn ops(receiver: &Receiver, folder: &TempDir) -> String {
    let file = folder.path().join("ops");
    fs::write(&file, format!("{SECRET}\n")).unwrap();
    format!(
        "[notify.ops]\nvia = \"webhook\"\nurl = {:?}\nsecret_file = {file:?}\nretry = \"1s\"\ntimeout = \"2s\"\nattempts = 50\n",
        receiver.url("/hook")
    )
}

/// The one notification of a task, as soon as it stands so.
fn until(world: &World, task: &str, state: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let list = world.json(&["notify", task]);
        let rows = list["notifications"].as_array().unwrap();
        if rows.len() == 1 && rows[0]["state"] == state {
            return rows[0].clone();
        }
        assert!(Instant::now() < deadline, "{list}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn done(world: &World, arguments: &[&str]) -> String {
    let ran = world.run(&[&["start", PROMPT, "--wait", "--json"], arguments].concat());
    assert_eq!(ran.exit, 0, "{} {}", ran.out, ran.errors);
    let waited: Value = serde_json::from_str(&ran.out).unwrap();
    word(&waited["tasks"][0]["id"])
}

/// Kills the daemon, and starts another one.
fn kill_daemon(world: &World) {
    let killed = world.json(&["daemon", "status"])["pid"].clone();
    let pid = killed.as_u64().unwrap().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    let started = world.json(&["daemon", "start"]);
    assert!(started["did"] == "started" && started["pid"] != killed, "{killed}: {started}");
}

/// Every file below a folder that has this text in it.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let found = Command::new("grep").args(["-rlaF", text]).arg(folder).output().unwrap();
    String::from_utf8(found.stdout).unwrap().lines().map(ToOwned::to_owned).collect()
}

#[test]
fn nothing_is_lost_and_nothing_is_doubled_whoever_fails_and_whoever_is_killed() {
    let script = vec![
        Does::Says("503 Busy"),
        Does::Hangs,
        Does::ComesLate(Duration::from_secs(4)),
        Does::Says("500 Sorry"),
        Does::Says("200 OK"),
    ];
    let receiver = Receiver::that_does(script).unwrap();
    let secrets = tempfile::tempdir().unwrap();
    let world = world(vec![text("The horse is harnessed.")], &ops(&receiver, &secrets));
    let task = done(&world, &["--notify", "ops"]);
    // The second attempt hangs, and in the middle of it the daemon is killed; then in the third.
    receiver.until(2).unwrap();
    kill_daemon(&world);
    receiver.until(3).unwrap();
    kill_daemon(&world);
    let row = until(&world, &task, "sent");

    let got = receiver.until(5).unwrap();
    assert!(got.iter().all(|got| got.id() == row["id"]), "{got:?}");
    assert!(got.iter().all(|got| got.body == receiver.got()[0].body));
    assert!(got.iter().all(|got| got.head["webhook-signature"].starts_with("v1,")));
    assert_eq!(got[0].body["data"]["answer"], "The horse is harnessed.");
    // Whoever goes by the name has done it once, and nothing comes after the receipt.
    assert_eq!(row["receipt"]["answer"], "HTTP 200");
    kill_daemon(&world);
    let receipts = world.json(&["receipts", &task]);
    assert_eq!(receipts["notifications"][0], row);
    assert_eq!(receiver.got().len(), 5);
    let shown = world.run(&["receipts", &task]);
    assert!(shown.out.contains("sent: HTTP 200"), "{}", shown.out);
    // The secret is where it was, and nowhere else.
    assert_eq!(holding(&world.path("o"), SECRET.trim_start_matches("whsec_")), [] as [String; 0]);
}

#[test]
fn what_is_given_up_is_a_dead_letter_until_somebody_sends_it_again() {
    let inner = Receiver::that_does(vec![Does::Says("200 OK")]).unwrap();
    let receiver = Receiver::that_does(vec![Does::PointsTo(inner.url("/inner"))]).unwrap();
    let secrets = tempfile::tempdir().unwrap();
    let world = world(vec![text("Done.")], &ops(&receiver, &secrets));
    let task = done(&world, &["--notify", "ops"]);
    let dead = until(&world, &task, "failed");
    let id = word(&dead["id"]);
    assert!(dead["tries"][0]["why"].as_str().unwrap().contains("not public"), "{dead}");
    let listed = world.run(&["notify", "--dead"]);
    assert!(listed.out.contains("given up: ") && listed.out.contains("--replay"), "{}", listed.out);

    receiver.now_does(Does::Says("200 OK"));
    let sent = world.json(&["notify", "--replay", &id[..6]]);
    assert_eq!(sent["id"], *id);
    let row = until(&world, &task, "sent");
    assert_eq!((&row["id"], &row["attempts"]), (&dead["id"], &1.into()));
    let ids: Vec<String> = receiver.got().iter().map(|got| got.id().to_owned()).collect();
    assert_eq!((ids, inner.got().len()), (vec![id.clone(), id], 0));
    assert_eq!(world.run(&["notify", "--dead"]).out, "nothing was given up\n");
    assert_eq!(world.run(&["notify", "--replay", "ffffffffffff"]).exit, 3);
}

#[test]
fn programs_and_whoever_looks_are_told_and_a_dry_run_tells_nobody() {
    let bin = tempfile::Builder::new().prefix("bin").tempdir_in("/var/tmp").unwrap();
    let program = bin.path().join("tell");
    let told = bin.path().join("told.jsonl");
    let script =
        format!("#!/bin/sh\ncat >> {0}; echo >> {0}; env > {0}.env; echo thanks\n", told.display());
    write_script(&program, &script, 0o755).unwrap();
    let notify = format!(
        "[notify.prog]\nvia = \"command\"\ncommand = [{program:?}]\n[notify.home]\nvia = \"local\"\ndefault = true\n\
         kinds = [\"finished\"]\n"
    );
    let world = world(vec![command(LEAVES_A_LINE), text("The horse is harnessed.")], &notify);
    // What the service manager says to the daemon is for nobody else; all the rest is passed on.
    let mut start = world.command(&["daemon", "start"]);
    start.env("LISTEN_FDNAMES", "stable").env("STABLE", "full");
    assert!(start.output().unwrap().status.success());
    let asking = world.run(&[&["start", PROMPT, "--wait", "--notify", "prog"], &ASKS[..]].concat());
    assert_eq!(asking.exit, 4, "{} {}", asking.out, asking.errors);
    let task = asking.out.lines().next().unwrap().to_owned();
    let row = until(&world, &task, "sent");
    assert_eq!(
        (&row["kind"], &row["receipt"]["answer"]),
        (&"needs_approval".into(), &"exit 0: thanks".into())
    );
    let line: Value = serde_json::from_str(fs::read_to_string(&told).unwrap().trim()).unwrap();
    assert_eq!(line["type"], "task.needs_approval");
    let environment = fs::read_to_string(format!("{}.env", told.display())).unwrap();
    assert!(
        environment.contains("STABLE=full") && !environment.contains("LISTEN_FDNAMES"),
        "{environment}"
    );

    let dry = world.json(&["notify", &task, "--dry-run"]);
    assert_eq!(
        dry["previews"][0]["sending"]["body"]["data"]["asked"], line["data"]["asked"],
        "{dry}"
    );
    let shown = world.run(&["notify", &task, "--dry-run"]);
    assert!(shown.out.starts_with("prog would be told needs_approval\n"), "{}", shown.out);
    assert_eq!(fs::read_to_string(&told).unwrap().lines().count(), 1);

    // A task that names nobody tells whom the configuration says, and `none` is nobody.
    let usual = world.run(&["start", "something else", "--wait"]);
    assert_eq!(usual.exit, 0, "{} {}", usual.out, usual.errors);
    let usual = usual.out.lines().next().unwrap().to_owned();
    assert_eq!(until(&world, &usual, "sent")["target"], "home");
    let list = world.run(&["ls"]);
    assert!(list.out.ends_with("1 notification is new: ostler notify\n"), "{}", list.out);
    assert!(world.run(&["notify"]).out.contains("shown here, new"));
    assert!(!world.run(&["ls"]).out.contains("ostler notify"));
    let none = world.run(&["start", "something else", "--wait", "--notify", "none"]);
    let none = none.out.lines().next().unwrap().to_owned();
    assert_eq!(until(&world, &none, "no_target")["target"], "");

    for (target, said) in [
        ("pigeon", "the configuration has no target \"pigeon\"; there are local, home, prog"),
        ("http://hooks.example.org/", "is not https"),
        ("https://127.0.0.1/hook", "is not public"),
        ("https://hooks.example.org/?key=1", "may have a secret in it"),
    ] {
        let refused = world.run(&["start", PROMPT, "--notify", target]);
        assert_eq!(refused.exit, 2, "{target}: {} {}", refused.out, refused.errors);
        assert!(refused.errors.contains(said), "{target}: {}", refused.errors);
    }
}

/// What an agent is told to keep to itself it could have sent anywhere, if it might name addresses.
#[test]
fn an_agent_names_targets_of_the_configuration_and_no_address() {
    let ostler = env!("CARGO_BIN_EXE_ostler");
    let line = format!(
        "export OSTLER_HOME=\"$(cat ostler-home)\"; {ostler} start x --notify https://hooks.example.org/a > said 2>&1; \
         echo $? > code; {ostler} notify --replay 00 >> said 2>&1; echo $? >> code"
    );
    let conversation =
        Conversation { prompt: PROMPT.to_owned(), answers: vec![command(&line), text("I tried.")] };
    let allowed = "allow_danger_full_access = true\nallow_approval_never = true";
    let world = World::with("0.166.0", vec![conversation], allowed);
    fs::write(world.path("inn/ostler-home"), world.path("o").display().to_string()).unwrap();
    let task = done(&world, &["--sandbox", "danger-full-access", "--approval", "never"]);
    let code = read_until_there(&world, "code", 2);
    let said = fs::read_to_string(world.path("inn/said")).unwrap();
    assert!(said.contains("an agent may not have what a task says sent to"), "{said}");
    assert!(said.contains("an agent may not do this"), "{said}");
    assert!(code.lines().all(|code| code != "0"), "{code}");
    let list = world.json(&["ls", "--all"]);
    assert_eq!(list["tasks"].as_array().unwrap().len(), 1, "only {task}: {list}");
}
