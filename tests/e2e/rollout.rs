//! Codex's own record of a thread projects to the same messages as its live stream.

use std::fs;
use std::io::Write;
use std::time::Duration;

use ostler_codex::projection::{KnownInputs, project_thread, project_turn};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::turn::{TurnInterrupt, TurnStart};
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::protocol::{Notification, parse_notification};
use ostler_codex::rollout::{self, Rollout, TurnEnd};
use ostler_codex::thread::item::translate;
use ostler_model::item::{Item, ItemBody, ItemEnd};
use ostler_model::{Decision, Message, ThreadId, TurnId};
use ostler_scripted_model::{Answer, Call};
use ostler_testkit::{Client, Stage};
use rstest::rstest;
use serde_json::json;

use crate::{LEAVES_A_LINE, PROMPT, command, patch, stage, text};

/// An MCP server with one tool, in the words of a shell.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"stable","version":"1"}}' ;;
    *'"tools/list"'*) say '{"tools":[{"name":"feed","description":"feeds","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) say '{"content":[{"type":"text","text":"fed"}],"isError":false}' ;;
  esac
done
"#;

type Turns = Vec<(TurnId, Vec<(Item, ItemEnd)>)>;

fn add_server(stage: &Stage) {
    let script = stage.codex_home().join("server.sh");
    fs::write(&script, SERVER).unwrap();
    let config = format!(
        "\n[mcp_servers.stable]\ncommand = \"sh\"\nargs = [{:?}]\ndefault_tools_approval_mode = \"approve\"\n",
        script.display().to_string()
    );
    let path = stage.codex_home().join("config.toml");
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(config.as_bytes()).unwrap();
}

fn feed(version: &str) -> Answer {
    // Up to 0.130 the namespace of a server ends in two lines.
    let namespace = if version == "0.130.0" { "mcp__stable__" } else { "mcp__stable" };
    let call = Call::function("feed", json!({ "hay": 2, "apple": "ä" }));
    let call = Call { namespace: Some(namespace.to_owned()), ..call };
    Answer { calls: vec![call], ..Answer::default() }
}

/// The turns as they were seen live. What never ended was interrupted.
///
/// Up to 0.142.5 a command's end is told by a watcher of its own, maybe after later words or even the turn's end, so
/// there the items stand in the order in which they began, which is the order of the file.
fn live(client: &Client, thread: &ThreadId, version: &str) -> Turns {
    let mut turns = Turns::new();
    for call in &client.seen {
        let (event, is_over) = match parse_notification(&call.method, call.params_json()) {
            Notification::ItemStarted(event) => (event, false),
            Notification::ItemCompleted(event) => (event, true),
            _ => continue,
        };
        let turn_id = event.turn_id.clone().unwrap();
        if event.thread_id != *thread {
            continue;
        }
        if turns.iter().all(|(id, _)| *id != turn_id) {
            turns.push((turn_id.clone(), Vec::new()));
        }
        let (_, items) = turns.iter_mut().find(|(id, _)| *id == turn_id).unwrap();
        let item = translate(&event.item);
        let place = items.iter().position(|(known, _)| known.id == item.id);
        match (place, is_over) {
            (None, false) => {
                items.push((item, ItemEnd::Interrupted));
            }
            (None, true) => items.push((item, ItemEnd::Reported)),
            (Some(place), true) => {
                if version == "0.166.0" {
                    items.remove(place);
                    items.push((item, ItemEnd::Reported));
                } else if let Some(slot) = items.get_mut(place) {
                    *slot = (item, ItemEnd::Reported);
                }
            }
            (Some(_), false) => assert_eq!(place, None, "{} began twice", item.id),
        }
    }
    turns
}

fn unfinished(client: &Client, thread: &ThreadId, version: &str) -> usize {
    let turns = live(client, thread, version);
    turns
        .iter()
        .flat_map(|(_, items)| items)
        .filter(|(_, end)| *end == ItemEnd::Interrupted)
        .count()
}

/// The file, once it is as far as the test: Codex writes it behind the live stream.
async fn recorded(stage: &Stage, thread: &ThreadId, is_far: impl Fn(&Rollout) -> bool) -> Rollout {
    let path = rollout::find(&stage.codex_home(), thread).unwrap();
    let mut read = rollout::read(&path).unwrap();
    // A write takes milliseconds; the deadline is for a busy machine.
    for _ in 0..3_000 {
        if is_far(&read) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        read = rollout::read(&path).unwrap();
    }
    assert!(is_far(&read), "{read:?}");
    assert_eq!((read.thread.as_ref(), &read.oddities[..]), (Some(thread), &[][..]));
    read
}

fn messages(turns: &Turns) -> Vec<Message> {
    project_thread(turns.iter().map(|(id, items)| (id, items.as_slice())))
}

fn file_messages(rollout: &Rollout) -> Vec<Message> {
    project_thread(rollout.turns.iter().map(|turn| (&turn.id, turn.items.as_slice())))
}

fn ends(rollout: &Rollout) -> Vec<TurnEnd> {
    rollout.turns.iter().map(|turn| turn.end).collect()
}

#[rstest]
#[tokio::test]
async fn a_rollout_projects_like_the_live_stream(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![
        Answer {
            reasoning: Some("The stable first.".to_owned()),
            ..Answer { text: Some("I look.".to_owned()), ..command("echo \"it's $((1+1))\" 'q'") }
        },
        command("echo lame >&2; exit 3"),
        patch("*** Begin Patch\n*** Add File: saddle.txt\n+leather\n+brass\n*** End Patch\n"),
        patch(
            "*** Begin Patch\n*** Update File: saddle.txt\n*** Move to: bridle.txt\n@@\n-leather\n+hemp\n brass\n*** End Patch\n",
        ),
        feed(version),
        text("Harnessed."),
        Answer { text: Some("Waiting.".to_owned()), ..command("sleep 1000") },
    ];
    let stage = stage(version, answers);
    add_server(&stage);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::DangerFullAccess, ApprovalPolicy::Never).await.unwrap();
    client.start_turn(&thread, PROMPT).await.unwrap();
    client.turn_end(&thread).await.unwrap();
    while unfinished(&client, &thread, version) > 0 {
        let is_end = |it: &Notification<'_>| matches!(it, Notification::ItemCompleted(_));
        client.until("the command's end", is_end).await.unwrap();
    }

    // While a turn runs the file leaves it open, and what runs in it is not told.
    let second = client.start_turn(&thread, "and on").await.unwrap();
    let is_command = |it: &Notification<'_>| matches!(it, Notification::ItemStarted(event) if matches!(translate(&event.item).body, ItemBody::Command(_)));
    client.until("the command's start", is_command).await.unwrap();
    let open = recorded(&stage, &thread, |file| {
        file.turns.get(1).is_some_and(|turn| turn.items.len() == 2)
    });
    assert_eq!(ends(&open.await), [TurnEnd::Completed, TurnEnd::Open]);
    let interrupt = TurnInterrupt { thread_id: thread.clone(), turn_id: second };
    client.server.call(&interrupt).await.unwrap();
    client.turn_end(&thread).await.unwrap();
    let file =
        recorded(&stage, &thread, |file| ends(file) == [TurnEnd::Completed, TurnEnd::Interrupted])
            .await;

    let live = live(&client, &thread, version);
    let ids = |turns: &Turns| turns.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
    assert_eq!(file.turns.iter().map(|turn| turn.id.clone()).collect::<Vec<_>>(), ids(&live));
    assert_eq!(file_messages(&file), messages(&live));
    // And both are what happened, not equally wrong.
    let workspace = stage.workspace().display().to_string();
    let shape: Vec<_> = messages(&live)
        .into_iter()
        .map(|message| {
            let content = message.content.unwrap_or_default().replace(&workspace, "");
            let call = message.tool_calls.first();
            let call = call.map(|call| call.function.arguments.replace(&workspace, ""));
            (content, call.unwrap_or_default())
        })
        .collect();
    let expected = [
        (PROMPT, ""),
        ("I look.", r#"{"command": "echo \"it's $((1+1))\" 'q'", "cwd": ""}"#),
        ("it's 2 q\n", ""),
        ("", r#"{"command": "echo lame >&2; exit 3", "cwd": ""}"#),
        ("[exit 3]\nlame\n", ""),
        ("", r#"{"changes": [{"added": 2, "kind": "add", "path": "/saddle.txt", "removed": 0}]}"#),
        ("apply_patch status=completed, 1 change(s)\nadd /saddle.txt (+2 -0)", ""),
        (
            "",
            r#"{"changes": [{"added": 1, "kind": "update", "move_path": "/bridle.txt", "path": "/saddle.txt", "removed": 1}]}"#,
        ),
        (
            "apply_patch status=completed, 1 change(s)\nupdate /saddle.txt -> /bridle.txt (+1 -1)",
            "",
        ),
        ("", r#"{"apple": "ä", "hay": 2}"#),
        (r#"[{"text": "fed", "type": "text"}]"#, ""),
        ("Harnessed.", ""),
        ("and on", ""),
        ("Waiting.", r#"{"command": "sleep 1000", "cwd": ""}"#),
        ("[interrupted]", ""),
    ];
    assert_eq!(shape, expected.map(|(content, call)| (content.to_owned(), call.to_owned())));
    assert_eq!(messages(&live)[1].reasoning.as_deref(), Some("The stable first."));
}

#[rstest]
#[tokio::test]
async fn what_was_declined_is_declined_in_the_file(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let add = "*** Begin Patch\n*** Add File: saddle.txt\n+leather\n*** End Patch\n";
    let stage = stage(version, vec![command(LEAVES_A_LINE), patch(add), text("Not done.")]);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::ReadOnly, ApprovalPolicy::Untrusted).await.unwrap();
    let mut start = TurnStart::new(thread.clone(), vec![UserInput::Text(PROMPT.to_owned())]);
    start.client_user_message_id = Some("input-1".to_owned());
    client.server.call(&start).await.unwrap();
    for _ in 0..2 {
        let question = client.question().await.unwrap();
        client.answer(&question, &Decision::Deny).await.unwrap();
    }
    client.turn_end(&thread).await.unwrap();
    let file = recorded(&stage, &thread, |file| ends(file) == [TurnEnd::Completed]).await;

    let live = live(&client, &thread, version);
    assert_eq!(file_messages(&file), messages(&live));
    let contents = |messages: &[Message]| -> Vec<_> {
        messages.iter().filter_map(|message| message.content.clone()).collect()
    };
    let path = stage.workspace().join("saddle.txt").display().to_string();
    let patch = format!("[declined]\napply_patch status=declined, 1 change(s)\nadd {path} (+1 -0)");
    let happened = ["[declined]".to_owned(), patch, "Not done.".to_owned()];
    assert_eq!(contents(&messages(&live))[1..], happened);

    // A host that has the prompt already does not get it again: by its id, or by its text where Codex knows no ids.
    let (turn, items) = &live[0];
    let by_id = KnownInputs { ids: ["input-1".into()].into(), prompt: None };
    let by_text = KnownInputs { prompt: Some(PROMPT.to_owned()), ..KnownInputs::default() };
    let known = if version == "0.130.0" { by_text } else { by_id };
    assert_eq!(contents(&project_turn(turn, known, items)), happened);
}
