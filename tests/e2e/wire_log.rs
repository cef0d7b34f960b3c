use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ostler_codex::peer::PeerSettings;
use ostler_codex::protocol::Notification;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::TurnStatus;
use ostler_codex::wire_log::{Ending, Said, Side, WireLog, WireLogSettings, read};
use ostler_model::{Decision, ThreadId};
use ostler_testkit::{Client, Question};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::{PROMPT, command, stage, text};

/// Each is planted where it can only be known by one rule: by its name, by its shape, by registration.
const BY_NAME: &str = "canary-one-in-the-environment";
const BY_SHAPE: &str = "sk-proj-canary2canary2canary2";
const REGISTERED: &str = "canary three";

/// In the environment of the test's second self: be the client that gets killed. Holds socket, workspace and log.
const SECOND_SELF: &str = "OSTLER_TEST_LOGGED_CLIENT";
const WAITING: &str = "waiting in thread ";

/// Prints what must not be recorded, and is no command that any version takes for harmless.
fn prints_secrets() -> String {
    format!("sh -c 'echo ran >> ran.log; echo {BY_SHAPE}; echo {REGISTERED}'")
}

fn start_log(stage_folder: &Path) -> (PathBuf, WireLog) {
    let folder = stage_folder.join("wire-log");
    let mut settings = WireLogSettings::in_folder(&folder);
    settings.secrets.push(REGISTERED.to_owned());
    (folder, WireLog::start(settings).unwrap())
}

async fn connect(socket: &Path, workspace: &Path, log: &WireLog) -> Client {
    let settings = PeerSettings { tap: Some(log.tap()), ..PeerSettings::default() };
    Client::connect_with(socket, workspace.to_owned(), &settings).await.unwrap()
}

/// Starts a thread with an MCP server whose environment holds a secret. It need not run: Codex goes on without it.
async fn start_thread(client: &Client, workspace: &Path) -> ThreadId {
    let params = json!({
        "cwd": workspace,
        "sandbox": SandboxMode::WorkspaceWrite,
        "approvalPolicy": "untrusted",
        "config": { "mcp_servers": { "docs": {
            "command": "/nonexistent/mcp",
            "env": { "PLAIN_NAME": BY_NAME },
        } } },
    });
    let peer = client.server.peer();
    let reply = peer.request("thread/start", &params, std::time::Duration::from_secs(60)).await;
    let reply: Value = serde_json::from_str(reply.unwrap().get()).unwrap();
    ThreadId::new(reply.pointer("/thread/id").and_then(Value::as_str).unwrap())
}

/// The messages of a file: who, and the message.
fn recorded(path: &Path) -> (Vec<(Side, Value)>, Option<Ending>) {
    let mut recording = read(path).unwrap();
    let entries = recording.by_ref().map(|entry| {
        let entry = entry.unwrap();
        let json = match entry.said {
            Said::Json(json) => json,
            other => unreachable!("{other:?}"),
        };
        (entry.from, serde_json::from_str(json.get()).unwrap())
    });
    (entries.collect(), recording.ending())
}

fn has_thread(line: &Value, thread: &ThreadId) -> bool {
    let at = |pointer| line.pointer(pointer).and_then(Value::as_str);
    [at("/params/threadId"), at("/params/thread/id")].contains(&Some(thread.as_str()))
}

fn assert_no_canary(folder: &Path) -> usize {
    let files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in &files {
        let text = fs::read_to_string(path).unwrap();
        for canary in [BY_NAME, BY_SHAPE, REGISTERED] {
            assert!(!text.contains(canary), "{canary} is in {}", path.display());
        }
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    files.len()
}

/// What a redacted message is equal to: the same with marks in the place of the canaries.
fn redacted(line: &[u8]) -> Value {
    let text = std::str::from_utf8(line).unwrap();
    let mut text = text.to_owned();
    for canary in [BY_SHAPE, REGISTERED] {
        text = text.replace(canary, "‹redacted›");
    }
    serde_json::from_str(&text).unwrap()
}

#[rstest]
#[tokio::test]
async fn a_turn_with_a_question_is_recorded_whole_and_without_its_secrets(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(&prints_secrets()), text("Done.")]);
    let codex = stage.codex().await.unwrap();
    let (folder, log) = start_log(&stage.codex_home());
    let mut client = connect(&codex.socket(), &stage.workspace(), &log).await;
    let thread = start_thread(&client, &stage.workspace()).await;
    client.start_turn(&thread, PROMPT).await.unwrap();
    let question = client.question().await.unwrap();
    client.answer(&question, &Decision::Once).await.unwrap();
    // Where the question came between the notifications.
    let before = client.seen.len();
    let turn = client.turn_end(&thread).await.unwrap();
    assert_eq!(turn.status, Some(TurnStatus::Completed));
    let output = client.seen(|notification| match notification {
        Notification::CommandOutputDelta(delta) => Some(delta.delta.into_owned()),
        _ => None,
    });
    let expected = events_of(&client, &question, before, &thread);
    client.close().await;
    log.close().await.unwrap();

    assert_eq!(assert_no_canary(&folder), 2, "one thread, and the connection");
    let (lines, ending) = recorded(&folder.join(format!("{thread}.jsonl")));
    assert_eq!(ending, Some(Ending::Whole));
    let header = read(&folder.join(format!("{thread}.jsonl"))).unwrap().header().cloned().unwrap();
    assert_eq!(header.codex_version.as_deref(), Some(version));
    let of_codex: Vec<&Value> = lines
        .iter()
        .filter(|(from, line)| *from == Side::Codex && !line["method"].is_null())
        .map(|(_, line)| line)
        .take(expected.len())
        .collect();
    assert_eq!(of_codex, expected.iter().collect::<Vec<_>>());
    let ours: Vec<&Value> =
        lines.iter().filter(|(from, _)| *from == Side::Us).map(|(_, line)| line).collect();
    let methods: Vec<&Value> = ours.iter().map(|line| &line["method"]).collect();
    assert_eq!(methods, [&json!("thread/start"), &json!("turn/start"), &Value::Null]);
    let server = &ours[0]["params"]["config"]["mcp_servers"]["docs"];
    assert_eq!(
        *server,
        json!({"command": "/nonexistent/mcp", "env": {"PLAIN_NAME": "‹redacted›"}})
    );
    assert_eq!(*ours[2], json!({"id": 0, "result": {"decision": "accept"}}));
    // Each request has its answer behind it, and the question stands before ours.
    let at = |wanted: &dyn Fn(Side, &Value) -> bool| {
        lines.iter().position(|(from, line)| wanted(*from, line)).unwrap()
    };
    for request in &ours[..2] {
        let asked = at(&|from, line| from == Side::Us && line == *request);
        let answered = at(&|from, line| {
            from == Side::Codex && line["method"].is_null() && line["id"] == request["id"]
        });
        assert!(asked < answered);
    }
    let asked =
        at(&|from, line| from == Side::Codex && line["method"] == question.call.method.as_ref());
    assert!(asked < at(&|from, line| from == Side::Us && line == ours[2]));
    // The test would prove nothing if the secrets had never been on the wire.
    assert_eq!(stage.lines("ran.log"), ["ran"]);
    let wire = format!("{output:?}{:?}", question.call.line);
    assert!(wire.contains(BY_SHAPE) && wire.contains(REGISTERED), "{wire}");
}

/// What the client was told of this thread, in order, as it should be in the file.
fn events_of(client: &Client, question: &Question, before: usize, thread: &ThreadId) -> Vec<Value> {
    let mut lines: Vec<Value> = client.seen.iter().map(|call| redacted(&call.line)).collect();
    lines.insert(before, redacted(&question.call.line));
    lines.retain(|line| has_thread(line, thread));
    lines
}

#[rstest]
#[tokio::test]
async fn a_killed_client_leaves_a_recording_that_can_be_read(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    if let Some([socket, workspace, log]) = second_self() {
        return wait_for_ever(Path::new(&socket), Path::new(&workspace), Path::new(&log)).await;
    }
    let stage = stage(version, vec![command(&prints_secrets()), text("Done.")]);
    let codex = stage.codex().await.unwrap();
    let (socket, workspace, home) = (codex.socket(), stage.workspace(), stage.codex_home());
    let test = std::thread::current().name().unwrap().to_owned();
    let mut doomed = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(
            SECOND_SELF,
            format!("{}\n{}\n{}", socket.display(), workspace.display(), home.display()),
        )
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(doomed.stdout.take().unwrap()).lines();
    let thread = loop {
        let line = lines.next_line().await.unwrap().expect("the client ended before it was asked");
        if let Some((_, thread)) = line.split_once(WAITING) {
            break thread.to_owned();
        }
    };
    let path = home.join("wire-log").join(format!("{thread}.jsonl"));
    // Nobody has flushed or closed it; the question is on disk as soon as the log's thread has taken it.
    until_asked(&path).await;
    doomed.kill().await.unwrap();
    assert_eq!(assert_no_canary(&home.join("wire-log")), 2);
    let (lines, _) = recorded(&path);
    let last = lines.iter().rfind(|(_, line)| !line["id"].is_null()).unwrap();
    assert_eq!(last.1["method"], "item/commandExecution/requestApproval");
}

async fn until_asked(path: &Path) {
    let asked = async {
        while !fs::read_to_string(path).is_ok_and(|text| text.contains("requestApproval")) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), asked).await.unwrap();
}

#[expect(clippy::disallowed_methods, reason = "this is how the test tells its two selves apart")]
fn second_self() -> Option<[String; 3]> {
    let all = std::env::var(SECOND_SELF).ok()?;
    let parts: Vec<String> = all.lines().map(str::to_owned).collect();
    parts.try_into().ok()
}

#[expect(clippy::print_stdout, reason = "this is how it tells its other self")]
async fn wait_for_ever(socket: &Path, workspace: &Path, home: &Path) {
    let (_folder, log) = start_log(home);
    let mut client = connect(socket, workspace, &log).await;
    let thread = start_thread(&client, workspace).await;
    client.start_turn(&thread, PROMPT).await.unwrap();
    client.question().await.unwrap();
    println!("{WAITING}{thread}");
    std::future::pending::<()>().await;
}
