//! Codex's own lines beside our events: as Codex wrote them, while somebody looks.

use ostler_codex::protocol::request::thread::ThreadResume;
use ostler_model::ThreadId;
use ostler_scripted_model::{Answer, Pace};
use ostler_testkit::Client;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::caller::{Caller, Events, NEWEST, world};
use crate::streams::saw_the_text_grow_whole;
use crate::world::World;
use crate::{PROMPT, text};

/// Known as a secret by its shape.
const KEY: &str = "sk-proj-canary2canary2canary2";

/// A task that has done its first turn.
fn started(world: &World) -> String {
    let task = world.json(&["start", PROMPT])["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.run(&["wait", &task]).exit, 0);
    task
}

/// Somebody else at the same app-server, who hears of the thread what the daemon hears, and at first nothing of it.
fn second_client(world: &World, runtime: &Runtime, thread: &ThreadId) -> Client {
    let keepers = std::fs::read_dir(world.path("o/run/keepers")).unwrap();
    let sockets: Vec<_> = keepers.map(|keeper| keeper.unwrap().path().join("socket")).collect();
    runtime.block_on(async {
        let client = Client::connect(&sockets[0], world.path("inn")).await.unwrap();
        client.server.call(&ThreadResume::new(thread.clone())).await.unwrap();
        client
    })
}

/// The lines of a stream up to the end of the turn, byte for byte, and the events between them as values.
fn until_turn_end(stream: &mut Events) -> (Vec<String>, Vec<Value>) {
    let (mut lines, mut others) = (Vec::new(), Vec::new());
    loop {
        let (_, data) = stream.next_text();
        let value: Value = serde_json::from_str(&data).unwrap();
        if value["line"] == "wire" {
            let (head, json) = data.split_once(r#","json":"#).unwrap();
            assert!(head.starts_with(r#"{"line":"wire","seq":"#), "{head}");
            lines.push(json.strip_suffix('}').unwrap().to_owned());
        } else {
            others.push(value);
        }
        // The line comes before what it causes.
        if others.last().is_some_and(|it| it["event"]["update"]["update"] == "turn_ended") {
            return (lines, others);
        }
    }
}

fn methods(lines: &[String]) -> Vec<String> {
    let method = |line: &String| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["method"].as_str().unwrap().to_owned()
    };
    lines.iter().map(method).collect()
}

#[rstest]
fn lines_are_byte_for_byte_what_another_client_hears(
    #[values("0.130.0", "0.142.5", NEWEST)] version: &str,
) {
    let flood = Answer { deltas: 400, ..Answer::default() };
    let key = format!("Use {KEY} for it.");
    let world = world(version, vec![text("Harnessed."), flood, text(&key)]);
    let task = started(&world);
    let caller = Caller::of(&world);
    let path = format!("/v1/tasks/{task}/events?wire=true");
    let mut stream = caller.listen(&path, &[]);
    let (_, now) = stream.next();
    let thread = ThreadId::new(now["task"]["thread"].as_str().unwrap());
    let last = now["task"]["last_seq"].as_u64().unwrap();
    let past = stream.until(|line| line["seq"] == json!(last));
    assert!(past.iter().all(|line| line["line"] != "wire"), "lines of the past are not kept");
    let runtime = Runtime::new().unwrap();
    let mut other = second_client(&world, &runtime, &thread);

    world.run(&["send", &task, "again"]);
    runtime.block_on(other.turn_end(&thread)).unwrap();
    let (lines, others) = until_turn_end(&mut stream);
    // Its own resume makes Codex say things to it alone, so both are compared from the beginning of the turn on.
    let heard: Vec<String> = other.seen.drain(..).map(|call| text_of(&call.line)).collect();
    let heard = from_turn_start(about(&heard, &thread));
    assert_eq!(from_turn_start(lines.clone()), heard);
    let methods = methods(&heard);
    let deltas = methods.iter().filter(|method| *method == "item/agentMessage/delta").count();
    assert_eq!(deltas, 400);
    assert_eq!(methods.last().unwrap(), "turn/completed");
    // Beside them all is as it is without them.
    assert!(saw_the_text_grow_whole(&others));

    // A secret is in what Codex says, and not in what is shown of it.
    world.run(&["send", &task, "and the key?"]);
    runtime.block_on(other.turn_end(&thread)).unwrap();
    let (lines, _) = until_turn_end(&mut stream);
    let heard: Vec<String> = other.seen.drain(..).map(|call| text_of(&call.line)).collect();
    assert!(heard.iter().any(|line| line.contains(KEY)));
    assert!(lines.iter().any(|line| line.contains("‹redacted›")));
    assert_eq!(lines.iter().find(|line| line.contains("canary2canary2")), None);
    runtime.block_on(other.close());
}

fn text_of(line: &[u8]) -> String {
    String::from_utf8(line.to_vec()).unwrap()
}

fn about(lines: &[String], thread: &ThreadId) -> Vec<String> {
    let is_about = |line: &&String| {
        let value: Value = serde_json::from_str(line).unwrap();
        let params = &value["params"];
        [&params["threadId"], &params["thread"]["id"]].contains(&&json!(thread))
    };
    lines.iter().filter(is_about).cloned().collect()
}

fn from_turn_start(lines: Vec<String>) -> Vec<String> {
    let start = methods(&lines).iter().position(|method| method == "turn/started").unwrap();
    lines.into_iter().skip(start).collect()
}

/// More comes than fits between the two ends of a connection, and nobody reads.
#[test]
fn whoever_does_not_read_loses_lines_and_is_told_how_many() {
    let pace = Some(Pace { between_deltas_ms: 1, ..Pace::default() });
    let answer = Answer { deltas: 4000, delta_bytes: 3000, pace, ..Answer::default() };
    let world = world(NEWEST, vec![text("Harnessed."), answer]);
    let task = started(&world);
    let caller = Caller::of(&world);
    let mut asleep = caller.listen_narrowly(&format!("/v1/tasks/{task}/events?wire=true"));
    asleep.next();
    world.run(&["send", &task, "again", "--wait"]);
    let (mut shown, mut lost, mut seqs) = (0, 0, Vec::new());
    loop {
        let (_, line) = asleep.next();
        match line["line"].as_str().unwrap() {
            "wire" => shown += u64::from(line["json"]["method"] == "item/agentMessage/delta"),
            "wire_lost" => lost += line["lines"].as_u64().unwrap(),
            "event" => seqs.push(line["seq"].as_u64().unwrap()),
            _ => {}
        }
        if line["json"]["method"] == "turn/completed" {
            break;
        }
    }
    assert!(lost > 0 && shown > 0, "{shown} shown, {lost} lost");
    // All lines but those of the pieces are some dozens.
    assert!((4000..4100).contains(&(shown + lost)), "{shown} shown, {lost} lost");
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
}
