//! Server-sent events: whoever comes sees how it stands, all that was written, and what comes; nothing twice.

use std::thread;
use std::time::Duration;

use ostler_scripted_model::{Answer, Call, Fault, Pace};
use rstest::rstest;
use serde_json::{Value, json};

use crate::caller::{Caller, Events, NEWEST, world};
use crate::{LEAVES_A_LINE, PROMPT, command, text};

pub(crate) fn is_over(line: &Value) -> bool {
    line["event"]["event"] == "state" && line["event"]["to"] == "completed"
}

pub(crate) fn seqs(lines: &[Value]) -> Vec<u64> {
    lines
        .iter()
        .filter(|line| line["line"] == "event")
        .map(|line| line["seq"].as_u64().unwrap())
        .collect()
}

/// What is there of the items that have not ended.
fn texts(now: &Value) -> Vec<&str> {
    let partials = now["partials"].as_array().into_iter().flatten();
    partials.filter_map(|partial| partial["text"].as_str()).collect()
}

#[test]
fn whoever_comes_in_mid_turn_sees_the_open_ask_and_misses_nothing() {
    let world = world(NEWEST, vec![command(LEAVES_A_LINE), text("The horse is harnessed.")]);
    let (task, ask) = world.start_asking();
    let caller = Caller::of(&world);
    let mut board = caller.listen("/v1/events", &[]);
    let (_, now) = board.next();
    assert_eq!(now["tasks"][0]["id"], json!(task));
    assert_eq!(now["asks"][0]["ask"]["id"], json!(ask));
    assert_eq!(now["counts"]["waiting_for_approval"], 1);

    let path = format!("/v1/tasks/{task}/events");
    let mut stream = caller.listen(&path, &[]);
    for header in ["text/event-stream", "no-cache, no-transform", "x-accel-buffering: no"] {
        assert!(stream.head.contains(header), "{}", stream.head);
    }
    let (id, now) = stream.next();
    assert_eq!((id, &now["line"], &now["asks"][0]["id"]), (None, &json!("now"), &json!(ask)));
    let last = now["task"]["last_seq"].as_u64().unwrap();
    let (_, viewers) = stream.next();
    assert_eq!(viewers["viewers"], json!([{ "name": "token test", "surface": "api" }]));
    let past = stream.until(|line| line["seq"] == json!(last));
    assert_eq!(seqs(&past), (1..=last).collect::<Vec<_>>());

    // Another one comes, and goes on where it once was.
    let mut second = caller.listen(&path, &[("last-event-id", "3")]);
    assert_eq!(second.next().1["line"], "now");
    let (_, viewers) = stream.next();
    assert_eq!(viewers["viewers"].as_array().unwrap().len(), 2);
    assert_eq!(second.next().1["viewers"].as_array().unwrap().len(), 2);
    assert_eq!(second.next().0, Some(4));

    let answered = caller.post(&format!("/v1/asks/{ask}/answer"), &json!({ "decision": "Once" }));
    assert_eq!(answered["decision"]["by"]["name"], "token test");
    let live = stream.until(is_over);
    let end = seqs(&live).last().copied().unwrap();
    assert_eq!(seqs(&live), (last + 1..=end).collect::<Vec<_>>());
    assert_eq!(seqs(&second.until(is_over)), (5..=end).collect::<Vec<_>>());
    let board = board.until(|line| line["task"]["state"] == "completed");
    assert!(
        board.iter().any(|line| line["line"] == "asks" && line["asks"] == json!([])),
        "{board:?}"
    );

    // Somebody who has seen another log is told so, and told from the beginning.
    let mut lost = caller.listen(&format!("{path}?after=100000"), &[]);
    assert_eq!(lost.next().1["line"], "now");
    assert_eq!(
        (lost.next().1["line"].clone(), lost.next().1["line"].clone()),
        (json!("gap"), json!("viewers"))
    );
    assert_eq!(lost.next().0, Some(1));
    // A removed task leaves the board.
    let mut board = caller.listen("/v1/events", &[]);
    board.next();
    let removed = caller.call("DELETE", &format!("/v1/tasks/{task}"), &[], b"");
    assert_eq!((removed.status, removed.header("cache-control")), (200, Some("no-store")));
    assert_eq!(caller.get("/v1/tasks")["tasks"], json!([]));
    board.until(|line| line["line"] == "task_gone" && line["task"] == json!(task));
}

/// The events of all tasks, in the order in which they were written.
fn places(lines: &[Value]) -> Vec<u64> {
    let events = lines.iter().filter(|line| line["line"] == "event");
    events.map(|line| line["place"].as_u64().unwrap()).collect()
}

#[test]
fn the_logs_of_all_tasks_are_one_stream_that_goes_on_where_it_was_left() {
    let world = world(NEWEST, vec![command(LEAVES_A_LINE), text("The horse is harnessed.")]);
    let (task, ask) = world.start_asking();
    let caller = Caller::of(&world);
    let mut stream = caller.listen("/v1/events?after=0", &[]);
    let (id, now) = stream.next();
    assert_eq!((id, &now["line"], &now["tasks"][0]["id"]), (None, &json!("now"), &json!(task)));
    let is_asked = |line: &Value| line["event"]["event"] == "ask_opened";
    let mut past = stream.until(is_asked);
    caller.post(&format!("/v1/asks/{ask}/answer"), &json!({ "decision": "Once" }));
    past.extend(stream.until(is_over));
    let last = *places(&past).last().unwrap();
    assert_eq!(places(&past), (1..=last).collect::<Vec<_>>());
    assert_eq!(seqs(&past), (1..=last).collect::<Vec<_>>(), "there is one task");
    let own = past.iter().filter(|line| line["line"] == "event");
    assert!(own.clone().all(|line| line["task"] == json!(task)), "{past:?}");

    // Whoever comes back, comes back to where it was; whoever wants no events gets none.
    let mut again = caller.listen("/v1/events", &[("last-event-id", &(last - 1).to_string())]);
    assert_eq!(places(&again.until(is_over)), [last]);
    let mut plain = caller.listen("/v1/events", &[]);
    let removed = caller.call("DELETE", &format!("/v1/tasks/{task}"), &[], b"");
    assert_eq!(removed.status, 200);
    let told = plain.until(|line| line["line"] == "task_gone");
    assert_eq!(places(&told), Vec::<u64>::new());

    // What went with its task is named as missing, and what comes after it is not taken for it.
    let next = caller.post("/v1/tasks", &json!({ "prompt": PROMPT, "cwd": world.path("inn") }));
    let mut late = caller.listen("/v1/events?after=1", &[]);
    let told = late.until(|line| line["line"] == "event");
    let gap = told.iter().find(|line| line["line"] == "gap").unwrap();
    assert_eq!((&gap["from"], &gap["to"]), (&json!(2), &json!(last)));
    let first = told.last().unwrap();
    assert_eq!((&first["place"], &first["seq"]), (&json!(last + 1), &json!(1)));
    assert_eq!(first["task"], next["task"]["id"]);
}

/// A browser has few connections for all its tabs: a page that shows a task hears of the board on the same one.
#[test]
fn one_stream_carries_a_task_and_the_board() {
    let world = world(NEWEST, vec![command(LEAVES_A_LINE), text("The horse is harnessed.")]);
    let (task, ask) = world.start_asking();
    let caller = Caller::of(&world);
    let mut board = caller.listen("/v1/events", &[]);
    let own = json!({ "name": "token test", "surface": "api" });
    let told = board.until(|line| line["line"] == "lookers");
    let lookers = json!({ "line": "lookers", "board": [own], "tasks": {} });
    assert_eq!(told.last(), Some(&lookers));

    let path = format!("/v1/tasks/{task}/events");
    let mut stream = caller.listen(&format!("{path}?board=true"), &[]);
    assert_eq!(stream.next().1["line"], "now");
    let told = stream.until(|line| line["board"]["line"] == "lookers");
    let both = json!({ "line": "lookers", "board": [own], "tasks": { task.clone(): [own] } });
    assert_eq!(told.last().unwrap()["board"], both);
    let now = told.iter().find(|line| line["board"]["line"] == "now").unwrap();
    assert_eq!(now["board"]["asks"][0]["ask"]["id"], json!(ask));
    board.until(|line| *line == both);

    // Whoever is gone looks no more, and without the word for it the stream is that of the task alone.
    drop(board);
    stream.until(|line| line["board"]["board"] == json!([]));
    let mut plain = caller.listen(&path, &[]);
    caller.post(&format!("/v1/asks/{ask}/answer"), &json!({ "decision": "Once" }));
    assert!(plain.until(is_over).iter().all(|line| line["line"] != "board"));
    let (mut task_is_over, mut board_knows) = (false, false);
    while !(task_is_over && board_knows) {
        let (_, line) = stream.next();
        task_is_over |= is_over(&line);
        board_knows |= line["board"]["task"]["state"] == "completed";
    }
}

/// A command that goes on in the background has said half of what it says, and meanwhile Codex asks about another one.
#[rstest]
fn whoever_comes_in_mid_turn_sees_text_that_grows_beside_the_open_ask(
    #[values("0.130.0", "0.142.5", NEWEST)] version: &str,
) {
    let call = |arguments| {
        let call = Call::function("exec_command", arguments);
        Answer { calls: vec![call], ..Answer::default() }
    };
    // Again and again: what a command says in its first milliseconds is told by no version while it runs (seen in their wire logs), and
    // 0.130.0 and 0.142.5 leave it out of the item that ends, too.
    let half = "sh -c 'for i in $(seq 300); do echo half of it; sleep 1; done'";
    let background = call(json!({ "cmd": half, "yield_time_ms": 250 }));
    let asks = call(json!({
        "cmd": LEAVES_A_LINE, "sandbox_permissions": "require_escalated", "justification": "Shall I?",
    }));
    let world = world(version, vec![background, asks, text("Done.")]);
    let settings = ["--approval", "on-request", "--sandbox", "workspace-write"];
    let ran = world.run(&[&["start", PROMPT, "--wait"], &settings[..]].concat());
    assert_eq!(ran.exit, 4, "{} {}", ran.out, ran.errors);
    let ask = world.json(&["asks"])["asks"][0]["ask"].clone();
    let caller = Caller::of(&world);
    let path = format!("/v1/tasks/{}/events", ask["task"].as_str().unwrap());
    let is_told = |line: &Value| line["line"] == "grown" || !texts(line).is_empty();
    caller.listen(&path, &[]).until(is_told);

    let (_, now) = caller.listen(&path, &[]).next();
    assert_eq!(
        (&now["line"], &now["task"]["state"]),
        (&json!("now"), &json!("waiting_for_approval"))
    );
    assert_eq!(now["asks"][0]["id"], ask["id"]);
    assert_eq!(now["asks"][0]["content"]["reason"], "Shall I?");
    let [text] = texts(&now)[..] else { panic!("{now}") };
    assert_eq!(text.lines().next(), Some("half of it"));
}

/// What is there of a text when somebody comes, and what comes, are the whole text: for each, whenever they come.
#[test]
fn text_that_grows_is_whole_for_everybody_who_comes_in_between() {
    let pace = Some(Pace { between_deltas_ms: 7, ..Pace::default() });
    // The model rests in the middle until everybody is there.
    let fault = Some(Fault::Hang { after: 150, for_ms: Some(20_000) });
    let answer = Answer { deltas: 300, pace, fault, ..Answer::default() };
    let world = world(NEWEST, vec![answer]);
    let task = world.json(&["start", PROMPT])["task"]["id"].as_str().unwrap().to_owned();
    let caller = Caller::of(&world);
    let path = format!("/v1/tasks/{task}/events");
    let mut first = caller.listen(&path, &[]);
    first.until(|line| line["line"] == "grown");
    let viewers: Vec<_> = (0..12)
        .map(|number| {
            let (caller, path) = (caller.clone(), path.clone());
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(97 * number));
                caller.listen(&path, &[]).until(is_over)
            })
        })
        .collect();
    let mut came_in_between = 0;
    for viewer in viewers {
        let lines = viewer.join().unwrap();
        came_in_between += usize::from(!lines[0]["partials"].as_array().unwrap().is_empty());
        assert!(saw_the_text_grow_whole(&lines));
    }
    assert!(came_in_between > 5, "only {came_in_between} came in between");
}

/// Whether what a viewer was told of a message, piece by piece or as a snapshot, was the whole message when it ended.
pub(crate) fn saw_the_text_grow_whole(lines: &[Value]) -> bool {
    let (mut text, mut is_whole, mut has_ended) = (String::new(), false, false);
    for line in lines {
        let item = &line["event"]["update"]["item"]["body"];
        match line["line"].as_str().unwrap() {
            "now" | "partials" => {
                let partials = line["partials"].as_array().unwrap();
                let messages = partials.iter().filter(|partial| partial["kind"] == "message");
                text = messages.map(|partial| partial["text"].as_str().unwrap()).collect();
            }
            "grown" if line["kind"] == "message" && has_ended => return false,
            "grown" if line["kind"] == "message" => text.push_str(line["text"].as_str().unwrap()),
            _ if line["event"]["update"]["update"] == "item_ended"
                && item["kind"] == "agent_message" =>
            {
                // The end is told before pieces that were written with it, and has the text. What was told until then has no hole.
                is_whole = item["text"].as_str().unwrap().starts_with(&text);
                has_ended = true;
            }
            _ => {}
        }
    }
    is_whole
}

/// What a viewer has seen of the one message of these tests, if all of it came as it should.
fn seen_whole(lines: &[Value]) -> bool {
    let seqs = seqs(lines);
    let expected: Vec<u64> = (1..=seqs.len() as u64).collect();
    seqs == expected && lines.iter().any(is_over)
}

/// The bytes of a process's own memory.
pub(crate) fn memory(pid: u64) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn many_who_look_cost_little() {
    let answer = Answer { deltas: 16_000, delta_bytes: 300, ..Answer::default() };
    let world = world(NEWEST, vec![answer]);
    world.run(&["daemon", "start"]);
    let caller = Caller::of(&world);
    let pid = world.json(&["daemon", "status"])["pid"].as_u64().unwrap();
    let task = world.json(&["start", PROMPT])["task"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/tasks/{task}/events");
    let before = memory(pid);
    let viewers: Vec<_> = (0..100)
        .map(|_| {
            let (caller, path) = (caller.clone(), path.clone());
            thread::spawn(move || caller.listen(&path, &[]).until(is_over))
        })
        .collect();
    for viewer in viewers {
        assert!(seen_whole(&viewer.join().unwrap()));
    }
    // The answer has 5 MB, and is in a handful of frames; a hundred of each would be a gigabyte.
    let grown = memory(pid).saturating_sub(before);
    assert!(grown < 200 << 20, "{} MiB", grown >> 20);
}

/// More is told than fits between the two ends of a connection, and nobody reads: it is not kept for them.
#[test]
fn whoever_does_not_read_is_told_how_it_stands_when_they_do() {
    let pace = Some(Pace { between_deltas_ms: 2, ..Pace::default() });
    let answer = Answer { deltas: 2500, delta_bytes: 3000, pace, ..Answer::default() };
    let world = world(NEWEST, vec![answer]);
    world.run(&["daemon", "start"]);
    let caller = Caller::of(&world);
    let task = world.json(&["start", PROMPT])["task"]["id"].as_str().unwrap().to_owned();
    let mut asleep = caller.listen_narrowly(&format!("/v1/tasks/{task}/events"));
    assert_eq!(world.run(&["wait", &task]).exit, 0);
    let lines = asleep.until(is_over);
    assert!(seen_whole(&lines));
    let count = |tag: &str| lines.iter().filter(|line| line["line"] == json!(tag)).count();
    assert!(count("partials") > 0, "never behind: {} pieces", count("grown"));
    assert!(count("grown") < 2500, "all {} pieces were kept", count("grown"));
}

/// Most read, some do not until it is over: each sees every event once, and the text whole or as it stood.
#[test]
fn fifty_viewers_see_all_of_it_though_some_are_slow() {
    let pace = Some(Pace { between_deltas_ms: 2, ..Pace::default() });
    let answer = Answer { deltas: 2200, delta_bytes: 600, pace, ..Answer::default() };
    let world = world(NEWEST, vec![command(LEAVES_A_LINE), answer]);
    let (task, ask) = world.start_asking();
    let caller = Caller::of(&world);
    let path = format!("/v1/tasks/{task}/events");
    let asleep: Vec<_> = (0..6).map(|_| caller.listen_narrowly(&path)).collect();
    let awake: Vec<_> = (0..44)
        .map(|_| {
            let mut stream = caller.listen(&path, &[]);
            let (_, now) = stream.next();
            assert_eq!(now["asks"][0]["id"], json!(ask));
            thread::spawn(move || {
                let mut lines = vec![now];
                lines.extend(stream.until(is_over));
                lines
            })
        })
        .collect();
    caller.post(&format!("/v1/asks/{ask}/answer"), &json!({ "decision": "Once" }));
    let awake: Vec<Vec<Value>> = awake.into_iter().map(|viewer| viewer.join().unwrap()).collect();
    let last = seqs(&awake[0]).len();
    for lines in &awake {
        assert!(seen_whole(lines) && saw_the_text_grow_whole(lines));
        assert_eq!(seqs(lines).len(), last);
    }
    let mut snapshots = 0;
    // All wake at once: a kernel that was told to wait looks again ever more seldom, and whoever takes nothing for a minute is left behind.
    let wake = |mut viewer: Events| thread::spawn(move || viewer.until(is_over));
    let woken: Vec<_> = asleep.into_iter().map(wake).collect();
    for viewer in woken {
        let lines = viewer.join().unwrap();
        assert!(seen_whole(&lines) && saw_the_text_grow_whole(&lines));
        assert_eq!(seqs(&lines).len(), last);
        snapshots += lines.iter().filter(|line| line["line"] == "partials").count();
    }
    let pieces = |lines: &[Value]| lines.iter().filter(|line| line["line"] == "grown").count();
    assert!(snapshots > 0, "nobody was behind; {} pieces came to one", pieces(&awake[0]));
}
