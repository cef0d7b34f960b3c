//! The examples of docs/server.md, run as they stand there: the real shell, the real curl, the real daemon.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use ostler_scripted_model::Conversation;
use serde_json::{Value, json};

use crate::caller::NEWEST;
use crate::world::World;
use crate::{LEAVES_A_LINE, command, text};

/// What stands in the page for what differs from machine to machine.
const PORT: &str = "127.0.0.1:8137";
const FOLDER: &str = "/work/project";

/// The blocks of shell in the section on the API, in their order.
fn examples(page: &str) -> Vec<String> {
    let section = page.split("\n## The API\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap().to_owned()).collect()
}

/// One answer per line of output, as curl prints them: JSON has no line breaks of its own, and no line feed at its end.
fn answers(output: &str) -> Vec<Value> {
    let stream = serde_json::Deserializer::from_str(output).into_iter::<Value>();
    stream.map(|value| value.unwrap_or_else(|error| panic!("{error}: {output}"))).collect()
}

#[test]
fn the_examples_of_the_page_do_what_it_says() {
    let conversation = Conversation {
        prompt: "Fix the tests".to_owned(),
        answers: vec![command(LEAVES_A_LINE), text("The tests are fixed.")],
    };
    let world = World::with(NEWEST, vec![conversation], "[server]\nlisten = \"127.0.0.1:0\"\n");
    world.json(&["daemon", "start"]);
    let listens = world.json(&["daemon", "status"])["listens"]["address"].clone();
    let inn = world.path("inn").display().to_string();
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_ostler"), bin.join("ostler")).unwrap();

    let page = fs::read_to_string("../../docs/server.md").unwrap();
    let blocks = examples(&page);
    assert_eq!(blocks.len(), 7, "{blocks:#?}");
    let curls = blocks.iter().map(|block| block.matches("curl ").count()).sum::<usize>();
    assert_eq!(curls, page.matches("curl ").count(), "an example that nobody runs");
    // One shell for all of them, because they use what was set before; a mark tells what each has said.
    let mut script = format!("set -eu\nPATH={}:$PATH\n", bin.display());
    for (at, block) in blocks.iter().enumerate() {
        let block = block.replace(PORT, listens.as_str().unwrap()).replace(FOLDER, &inn);
        script.push_str(&format!("printf '\\nBLOCK {at}\\n'\n{block}\n"));
        // People read before they go on.
        let until = match at {
            1 => {
                "for _ in $(seq 1200); do ostler asks --json | grep -q '\"id\"' && break; sleep 0.1; done\n"
            }
            4 => "ostler wait $TASK >/dev/null 2>&1\n",
            _ => "",
        };
        script.push_str(until);
    }
    let mut shell = Command::new("bash");
    let output = world.at_home(shell.args(["-c", &script])).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let said: BTreeMap<usize, &str> = (said.split("\nBLOCK ").skip(1))
        .map(|part| part.split_once('\n').unwrap())
        .map(|(at, said)| (at.parse().unwrap(), said))
        .collect();

    let health = &answers(said[&0])[0];
    assert_eq!(health["caller"]["key"], "token me");
    let started = &answers(said[&1])[0];
    assert_eq!(
        (&started["known"], &started["task"]["title"]),
        (&json!(false), &json!("Fix the tests"))
    );
    let task = started["task"]["id"].clone();
    let looked = answers(said[&2]);
    assert_eq!(looked[0]["tasks"][0]["id"], task);
    assert_eq!((&looked[1]["task"]["id"], looked[1]["asks"].as_array().unwrap().len()), (&task, 1));
    let tags: Vec<&str> =
        said[&3].lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(tags[..3], ["now", "viewers", "event"], "{}", said[&3]);
    let answered = &answers(said[&4])[0];
    assert_eq!((&answered["task"], &answered["decision"]["decision"]), (&task, &json!("Once")));
    assert_eq!(world.lines("ran.log"), 1);
    let more = answers(said[&5]);
    assert_eq!((&more[0]["name"], &more[0]["bytes"]), (&json!("notes.txt"), &json!(24)));
    // The turn may be over before it is ended, which is said.
    let is_ended = more[2]["intent"].is_string() || more[2]["status"] == 409;
    assert!(more[1]["intent"].is_string() && is_ended, "{more:?}");
    let known = answers(said[&6]);
    assert_eq!(known.len(), 4);
    for answer in &known {
        assert!(answer["task"] == task || answer["task"]["id"] == task, "{answer}");
    }
    assert!(known[0].to_string().contains("The tests are fixed."), "{}", known[0]);
}
