//! What viewers cost when events are large, and what they see of tasks that are many, old or gone.

use std::process::Command;

use ostler_scripted_model::Conversation;
use serde_json::{Value, json};

use crate::caller::{Caller, NEWEST, world};
use crate::streams::{is_over, memory, seqs};
use crate::world::World;
use crate::{LEAVES_A_LINE, PROMPT, command, text};

/// The log of an ended task on disk, changed by somebody with a tool for databases while no daemon runs.
fn with_the_database(world: &World, python: &str) {
    world.json(&["daemon", "stop"]);
    let path = world.path("o/state/ostler.db");
    let code = format!("import sqlite3\nwith sqlite3.connect({path:?}) as db:\n  {python}\n");
    let ran = Command::new("python3").args(["-c", &code]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    world.json(&["daemon", "start"]);
}

/// A megabyte in each of its events, and nobody reads: what is held for them has a bound in bytes.
#[test]
fn viewers_who_do_not_read_hold_little_of_large_events() {
    let world = world(NEWEST, vec![text("The horse is harnessed.")]);
    let task = world.json(&["start", PROMPT])["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.run(&["wait", &task]).exit, 0);
    let large = "row = db.execute('SELECT task, max(seq) FROM events').fetchone()\n  \
         body = '{\"event\":\"notice\",\"name\":\"large\",\"json\":\"' + 'x' * 1000000 + '\",\"agent\":null}'\n  \
         for more in range(1, 65): db.execute('INSERT INTO events (task, seq, at, name, body) VALUES (?, ?, 0, ?, ?)', \
         (row[0], row[1] + more, 'notice', body))";
    with_the_database(&world, large);
    let caller = Caller::of(&world);
    let pid = world.json(&["daemon", "status"])["pid"].as_u64().unwrap();
    let path = format!("/v1/tasks/{task}/events");
    let before = memory(pid);
    let asleep: Vec<_> = (0..20).map(|_| caller.listen_narrowly(&path)).collect();
    // One that comes after them and reads all has seen what they were told.
    let mut awake = caller.listen(&path, &[]);
    let last = awake.next().1["task"]["last_seq"].clone();
    let lines = awake.until(|line| line["seq"] == last);
    assert_eq!(seqs(&lines).len() as u64, last.as_u64().unwrap());
    assert_eq!(lines.last().unwrap()["event"]["json"].as_str().unwrap().len(), 1_000_000);
    let grown = memory(pid).saturating_sub(before);
    // Some two megabytes each; a page by number alone would be 64.
    assert!(grown < 160 << 20, "{} MiB", grown >> 20);
    drop(asleep);
}

/// Whoever was told of events that are gone is told that they are.
#[test]
fn a_hole_in_a_log_is_told() {
    let world = world(NEWEST, vec![text("The horse is harnessed.")]);
    let task = world.json(&["start", PROMPT])["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.run(&["wait", &task]).exit, 0);
    with_the_database(&world, "db.execute('DELETE FROM events WHERE seq IN (3, 4)')");
    let lines = Caller::of(&world).listen(&format!("/v1/tasks/{task}/events"), &[]).until(is_over);
    let at = lines.iter().position(|line| line["line"] == "gap").unwrap();
    let gap =
        json!({ "line": "gap", "from": 3, "to": 4, "why": "these events are not in the log" });
    assert_eq!(lines[at], gap);
    assert_eq!((&lines[at - 1]["seq"], &lines[at + 1]["seq"]), (&json!(2), &json!(5)));
}

/// A removed task ends whatever looks at it, with its card; who comes again is told that it is gone.
#[test]
fn the_streams_of_a_removed_task_end() {
    let world = world(NEWEST, vec![command(LEAVES_A_LINE), text("The horse is harnessed.")]);
    let (task, ask) = world.start_asking();
    let caller = Caller::of(&world);
    let path = format!("/v1/tasks/{task}/events");
    let mut streams =
        [caller.listen(&path, &[]), caller.listen_lines(&format!("{path}?follow=true"))];
    let last = streams[0].next().1["task"]["last_seq"].clone();
    streams[0].until(|line| line["seq"] == last);
    assert_eq!(caller.call("DELETE", &format!("/v1/tasks/{task}"), &[], b"").status, 200);
    for stream in streams {
        let rest = stream.rest();
        assert!(rest.ends_with("0\r\n\r\n"), "it broke off: {rest}");
    }
    assert_eq!(caller.call("GET", &path, &[], b"").status, 404);
    assert_eq!(caller.call("GET", &format!("/v1/asks/{ask}"), &[], b"").status, 404);
}

/// What is not over is on the board, however many others have ended since; and no diff is in it.
#[test]
fn the_board_has_all_that_is_not_over() {
    let conversations = vec![
        Conversation {
            prompt: PROMPT.to_owned(),
            answers: vec![command(LEAVES_A_LINE), text("The horse is harnessed.")],
        },
        Conversation { prompt: "rest".to_owned(), answers: vec![text("Rested.")] },
    ];
    let world = World::with(NEWEST, conversations, "[server]\nlisten = \"127.0.0.1:0\"\n");
    let (task, _) = world.start_asking();
    let ended = world.json(&["start", "rest"])["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.run(&["wait", &ended]).exit, 0);
    let many = "row = db.execute(\"SELECT state, is_over, cwd, started_by, updated_at, ended_at, body, id FROM tasks WHERE is_over = 1\").fetchone()\n  \
         body = row[6].replace('\"diff\":null', '\"diff\":\"+large\"')\n  \
         assert '+large' in body\n  \
         for more in range(250): db.execute('INSERT INTO tasks (id, state, is_over, cwd, started_by, updated_at, ended_at, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)', \
         ('old%03d' % more, row[0], row[1], row[2], row[3], row[4] + 1, row[5] + 1, body.replace(row[7], 'old%03d' % more)))";
    with_the_database(&world, many);
    let caller = Caller::of(&world);
    let (_, now) = caller.listen("/v1/events", &[]).next();
    let tasks = now["tasks"].as_array().unwrap();
    assert!(tasks.iter().any(|shown| shown["id"] == json!(task)));
    assert_eq!(tasks.iter().filter(|shown| shown["state"] == "completed").count(), 200);
    let listed = caller.get("/v1/tasks?limit=500");
    for shown in tasks.iter().chain(listed["tasks"].as_array().unwrap()) {
        assert_eq!(shown["last_result"].get("diff").unwrap_or(&Value::Null), &Value::Null);
    }
    assert_eq!(caller.get("/v1/tasks/old007")["task"]["last_result"]["diff"], "+large");
}
