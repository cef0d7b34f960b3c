use ostler_model::TurnId;
use ostler_model::item::{Command, ItemBody, ItemEnd, Outcome};
use serde_json::{Value, json};

use super::{Rollout, TurnEnd, parse};
use crate::projection::project_thread;
use crate::wire::OddityKind;

fn line(kind: &str, payload: &Value) -> String {
    json!({ "timestamp": "t", "type": kind, "payload": payload }).to_string() + "\n"
}

fn event(kind: &str, mut payload: Value) -> String {
    payload["type"] = kind.into();
    line("event_msg", &payload)
}

fn response(kind: &str, mut payload: Value) -> String {
    payload["type"] = kind.into();
    line("response_item", &payload)
}

fn message(role: &str, text: &str) -> String {
    response("message", json!({ "role": role, "content": [{ "type": "text", "text": text }] }))
}

fn person(text: &str) -> String {
    message("user", text) + &event("user_message", json!({ "message": text }))
}

fn agent(text: &str) -> String {
    event("agent_message", json!({ "message": text })) + &message("assistant", text)
}

fn started(turn: &str) -> String {
    event("task_started", json!({ "turn_id": turn }))
}

fn ended(turn: &str) -> String {
    event("task_complete", json!({ "turn_id": turn }))
}

fn called(name: &str, id: &str, arguments: &Value) -> String {
    let payload = json!({ "name": name, "call_id": id, "arguments": arguments.to_string() });
    response("function_call", payload)
}

fn gave(id: &str, output: &str) -> String {
    response("function_call_output", json!({ "call_id": id, "output": output }))
}

fn read(lines: &[String]) -> Rollout {
    parse(lines.concat().as_bytes()).unwrap()
}

fn turns(rollout: &Rollout) -> Vec<(&str, TurnEnd, usize)> {
    rollout.turns.iter().map(|turn| (turn.id.as_str(), turn.end, turn.items.len())).collect()
}

/// All that was said and done, as `role: content`.
fn said(rollout: &Rollout) -> Vec<String> {
    let turns = rollout.turns.iter().map(|turn| (&turn.id, turn.items.as_slice()));
    let messages = project_thread(turns).into_iter();
    messages
        .map(|message| format!("{:?}: {}", message.role, message.content.unwrap_or_default()))
        .collect()
}

#[test]
fn what_codex_injects_is_nobodys_message() {
    let rollout = read(&[
        started("t"),
        message("developer", "rules"),
        message("user", "<environment_context>\n</environment_context>"),
        message("user", "Something new that Codex puts in unmarked"),
        person("go"),
        agent("gone"),
        message("user", "<turn_aborted>\n</turn_aborted>"),
        event("turn_aborted", json!({ "turn_id": "t" })),
    ]);

    assert_eq!(said(&rollout), ["User: go", "Assistant: gone"]);
    assert_eq!(turns(&rollout), [("t", TurnEnd::Interrupted, 2)]);
}

#[test]
fn bad_lines_are_kept_and_a_torn_last_line_is_no_bad_line() {
    let text = started("t") + "{broken\n\n\u{0}\n" + &agent("hi") + r#"{"type":"event_msg","payl"#;
    let mut bytes = text.into_bytes();
    bytes.splice(0..0, *b"\xff\xfe\n");

    let rollout = parse(bytes.as_slice()).unwrap();

    let odd: Vec<_> =
        rollout.oddities.iter().map(|odd| (odd.line, odd.oddity.kind.clone())).collect();
    assert!(rollout.torn);
    assert_eq!(odd[0], (1, OddityKind::NotUtf8));
    assert!(matches!(odd[1], (3, OddityKind::NotJson(_))), "{odd:?}");
    assert!(matches!(odd[2], (4, OddityKind::NotJson(_))), "{odd:?}");
    assert_eq!(odd.len(), 3);
    assert_eq!(said(&rollout), ["Assistant: hi"]);
}

#[test]
fn a_last_line_that_is_whole_but_for_its_end_counts() {
    let mut text = started("t") + &agent("hi") + &ended("t");
    text.pop();

    let rollout = parse(text.as_bytes()).unwrap();

    assert_eq!((rollout.torn, turns(&rollout)), (false, vec![("t", TurnEnd::Completed, 1)]));
}

#[test]
fn an_open_turn_stays_open_and_one_that_codex_died_in_does_not() {
    let call = called("exec_command", "c", &json!({ "cmd": "ls" }));
    let lines = [started("1"), agent("a"), call.clone(), started("2"), agent("b"), call];

    let rollout = read(&lines);

    let ends = [("1", TurnEnd::Interrupted, 2), ("2", TurnEnd::Open, 1)];
    assert_eq!(turns(&rollout), ends, "the second call has the id of the first, and still runs");
    let alone = read(&lines[..4]);
    assert_eq!(turns(&alone), [("1", TurnEnd::Interrupted, 2), ("2", TurnEnd::Open, 0)]);
    assert_eq!(said(&alone), ["Assistant: a", "Tool: [interrupted]"]);
}

#[test]
fn a_command_in_the_background_ends_where_it_is_heard_of_last() {
    let running = "Chunk ID: 1\nProcess running with session ID 7\nOutput:\none\n";
    let exited = "Chunk ID: 2\nProcess exited with code 0\nOutput:\ntwo\n";
    let rollout = read(&[
        started("t"),
        line("turn_context", &json!({ "cwd": "/w" })),
        called("exec_command", "c", &json!({ "cmd": "x", "workdir": "sub" })),
        gave("c", running),
        agent("waiting"),
        called("write_stdin", "d", &json!({ "session_id": 7, "chars": "" })),
        gave("d", exited),
        ended("t"),
    ]);

    let command = Command {
        command: "bash -lc x".to_owned(),
        cwd: Some("/w/sub".to_owned()),
        output: "one\ntwo\n".to_owned(),
        exit_code: Some(0),
        outcome: Outcome::Succeeded,
        ..Command::default()
    };
    let (last, end) = rollout.turns[0].items.last().unwrap();
    assert_eq!((&last.body, *end), (&ItemBody::Command(command), ItemEnd::Reported));
}

#[test]
fn every_way_to_call_a_command_or_a_patch_is_read() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y\n*** End Patch";
    let local = json!({ "call_id": "2", "action": { "type": "exec", "command": ["ls", "a b"] } });
    let custom = |id: &str| {
        response(
            "custom_tool_call",
            json!({ "call_id": id, "name": "apply_patch", "input": patch }),
        )
    };
    let rollout = read(&[
        line("session_meta", &json!({ "id": "thread", "cwd": "/w", "cli_version": "0.1.0" })),
        started("t"),
        called("shell", "1", &json!({ "command": ["bash", "-lc", "ls"] })),
        gave("1", r#"{"output":"a\n","metadata":{"exit_code":2}}"#),
        response("local_shell_call", local),
        gave("2", "Exit code: 0\nWall time: 1 seconds\nOutput:\nb\n"),
        custom("3"),
        response(
            "custom_tool_call_output",
            json!({ "call_id": "3", "output": "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess." }),
        ),
        called("apply_patch", "4", &json!({ "input": patch })),
        gave("4", "patch rejected by user"),
        custom("5"),
        response(
            "custom_tool_call_output",
            json!({ "call_id": "5", "output": "apply_patch verification failed: no b" }),
        ),
        called("update_plan", "6", &json!({ "plan": [] })),
        gave("6", "Plan updated"),
        called("nosuch", "7", &json!({})),
        gave("7", "unsupported call: nosuch"),
        called("weather", "8", &json!({ "city": "Rome" })),
        gave("8", "sunny"),
        ended("t"),
    ]);

    let files = "add /w/a (+1 -0)\nupdate /w/b -> /w/c (+1 -1)";
    let said: Vec<_> = said(&rollout).into_iter().filter(|line| line.starts_with("Tool")).collect();
    assert_eq!(
        said,
        [
            "Tool: [exit 2]\na\n".to_owned(),
            "Tool: b\n".to_owned(),
            format!("Tool: apply_patch status=completed, 2 change(s)\n{files}"),
            format!("Tool: [declined]\napply_patch status=declined, 2 change(s)\n{files}"),
            r#"Tool: [{"text": "sunny", "type": "inputText"}]"#.to_owned(),
        ]
    );
    assert_eq!(
        (rollout.thread, rollout.codex_version),
        (Some("thread".into()), Some("0.1.0".to_owned()))
    );
}

/// Codex 0.142.5 writes the summary as the model's words, which the live stream never shows.
#[test]
fn a_compaction_is_told_once_and_its_summary_is_nobodys_message() {
    let rollout = read(&[
        started("t"),
        agent("before"),
        message("assistant", "SUMMARY"),
        line("compacted", &json!({ "message": "SUMMARY", "replacement_history": [] })),
        event("context_compacted", json!({})),
        agent("after"),
        ended("t"),
    ]);

    assert_eq!(
        said(&rollout),
        ["Assistant: before\n\n[the history was compacted to make room]\n\nafter"]
    );
}

/// Codex before 0.166 gives a review's inner turn an id of its own and names the outer one last.
#[test]
fn a_review_is_one_turn_under_the_id_that_clients_know() {
    let rollout = read(&[
        started("1"),
        person("go"),
        agent("gone"),
        ended("1"),
        event("entered_review_mode", json!({ "user_facing_hint": "look" })),
        started("inner"),
        event("user_message", json!({ "message": "look" })),
        event("user_message", json!({ "message": "look" })),
        event("exited_review_mode", json!({ "review_output": { "overall_explanation": "fine" } })),
        message("assistant", "fine\n\n- but"),
        event("agent_message", json!({ "message": "fine\n\n- but" })),
        ended("outer"),
    ]);

    assert_eq!(turns(&rollout), [("1", TurnEnd::Completed, 2), ("outer", TurnEnd::Completed, 4)]);
    assert_eq!(
        said(&rollout)[1..],
        [
            "Assistant: gone\n\n[review began: look]",
            "User: look",
            "Assistant: [review ended]\nfine\n\n- but"
        ]
    );
}

#[test]
fn turns_that_were_taken_back_are_gone() {
    let lines = ["1", "2", "3"].map(|turn| started(turn) + &person(turn) + &ended(turn));
    let back = event("thread_rolled_back", json!({ "num_turns": 2 }));

    let rollout = read(&[lines.concat(), back, started("4") + &person("4") + &ended("4")]);

    assert_eq!(turns(&rollout), [("1", TurnEnd::Completed, 1), ("4", TurnEnd::Completed, 1)]);
}

#[test]
fn a_late_item_goes_to_its_own_turn() {
    let meta = line("session_meta", &json!({ "id": "thread", "history_mode": "paginated" }));
    let item = json!({ "type": "CommandExecution", "id": "c", "command": ["bash", "-lc", "x"], "status": "completed" });
    let late = event("item_completed", json!({ "turn_id": "1", "item": item }));
    let words =
        json!({ "type": "AgentMessage", "id": "m", "content": [{ "type": "Text", "text": "hi" }] });
    let new = json!({ "type": "Holodeck", "id": "h" });
    let rollout = read(&[
        meta,
        started("1"),
        called("exec_command", "c", &json!({ "cmd": "x" })),
        gave("c", "Process running with session ID 7\nOutput:\n"),
        ended("1"),
        started("2"),
        late,
        message("assistant", "hi"),
        event("item_completed", json!({ "turn_id": "2", "item": words })),
        event("item_completed", json!({ "turn_id": "2", "item": new })),
        ended("2"),
    ]);

    assert_eq!(turns(&rollout), [("1", TurnEnd::Completed, 1), ("2", TurnEnd::Completed, 2)]);
    assert_eq!(
        said(&rollout),
        [
            "Assistant: ",
            "Tool: ",
            r#"Assistant: hi

[codex holodeck] {"id": "h", "type": "Holodeck"}"#
        ]
    );
}

#[test]
fn a_file_without_turns_gets_one_per_question() {
    let rollout = read(&[
        message("user", "one"),
        message("assistant", "1"),
        message("user", "two"),
        message("assistant", "2"),
    ]);

    let ids: Vec<TurnId> = rollout.turns.iter().map(|turn| turn.id.clone()).collect();
    assert_eq!(ids, ["untold-1".into(), "untold-2".into()]);
    assert_eq!(said(&rollout), ["User: one", "Assistant: 1", "User: two", "Assistant: 2"]);
}
