//! Who decided what, and who was refused, is in the audit log: for people, in a table and as JSON, as it stands and as it grows.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::slice;

use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, word};
use crate::{LEAVES_A_LINE, command, text};

fn entries(world: &World, arguments: &[&str]) -> Vec<Value> {
    world.json(&[&["audit"], arguments].concat())["entries"].as_array().unwrap().clone()
}

#[rstest]
fn decisions_and_keys_are_in_it(#[values("0.142.5", "0.166.0")] version: &str) {
    let world = World::new(version, vec![command(LEAVES_A_LINE), text("Then not.")]);
    let (task, ask) = world.start_asking();
    world.json(&["token", "new", "ci", "--scope", "operate"]);
    // One that watches sees what comes.
    let mut watching = world.command(&["audit", "-f", "--json"]);
    let mut watching = watching.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["kind"], "token_made");
    world.json(&["answer", &ask, "deny", "--reason", "not \u{202e}now\u{61c}"]);
    let decided = next();
    watching.kill().unwrap();
    watching.wait().unwrap();

    assert_eq!(
        (&decided["kind"], &decided["place"]),
        (&json!("decision"), &json!("ostler answer"))
    );
    assert_eq!((&decided["task"], &decided["ask"]), (&json!(task), &json!(ask)));
    let what = word(&decided["what"]);
    assert!(what.starts_with("deny: run ") && what.contains("ran.log"), "{what}");
    assert_eq!(decided["why"], "not \u{202e}now\u{61c}");

    let only = slice::from_ref(&decided);
    assert_eq!(entries(&world, &["--task", &task[..6]]), only);
    assert_eq!(entries(&world, &["--kind", "decision", "--since", "1h"]), only);
    assert_eq!(entries(&world, &["--refusals"]), [] as [Value; 0]);
    assert_eq!(entries(&world, &["--who", "nobody at all"]), [] as [Value; 0]);
    assert_eq!(entries(&world, &["-n", "1"]), only);
    assert_eq!(world.run(&["audit", "--kind", "horse"]).exit, 2);
    let shown = world.run(&["audit"]).out;
    assert!(shown.contains("token ci (") && shown.contains("not \\u{202e}now\\u{61c}"), "{shown}");
    assert!(!shown.contains('\u{202e}'), "{shown}");
    assert_eq!(world.run(&["audit", "--refusals"]).out, "nothing in the audit log fits\n");
}
