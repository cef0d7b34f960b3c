//! Asks that real Codex cannot be made to put on demand, through the real driver. The params follow the schemas of
//! 0.130.0 and 0.166.0.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_codex::account::TokenSource;
use ostler_codex::app_server::AppServer;
use ostler_codex::driver::{
    ConnectError, Connection, Connector, Driver, DriverSettings, DriverTask, ThreadOptions, hello,
};
use ostler_codex::peer::PeerSettings;
use ostler_codex::protocol::reply::TokenRefreshReply;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::thread::{Decided, Notice, Thread, ThreadUpdates, Told};
use ostler_codex::transport::Stdio;
use ostler_model::ask::{CommandAsk, FileChangeAsk, FileChangeKind, FileDiff};
use ostler_model::thread::{AskEnd, ServerWanted, Update};
use ostler_model::{Ask, AskId, AskKind, Decision, TurnEnd};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::time::Instant;

/// Gives one connection.
#[derive(Debug)]
struct Pipe(Mutex<Option<DuplexStream>>);

impl Connector for Pipe {
    fn connect(&self, _: ServerWanted) -> BoxFuture<'_, Result<Connection, ConnectError>> {
        Box::pin(async {
            let pipe = self.0.lock().unwrap().take();
            let Some(pipe) = pipe else {
                return Err(ConnectError {
                    message: "only once".to_owned(),
                    evidence: None,
                    fault: ostler_codex::start_fault::StartFault::Passing,
                });
            };
            let (reader, writer) = tokio::io::split(pipe);
            let transport = Stdio::new(reader, writer);
            let (server, events) =
                AppServer::greet(transport, &hello(), &PeerSettings::default()).await.unwrap();
            Ok(Connection { server, events })
        })
    }
}

/// Codex's side of the pipe.
struct Codex {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Codex {
    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn say(&mut self, value: Value) {
        self.writer.write_all(format!("{value}\n").as_bytes()).await.unwrap();
    }

    async fn answer(&mut self, method: &str, result: Value) {
        let request = self.read().await;
        assert_eq!(request["method"], method);
        self.say(json!({"id": request["id"], "result": result})).await;
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) {
        self.say(json!({"id": id, "method": method, "params": params})).await;
    }
}

/// A driver with one thread on which a turn runs.
struct Driven {
    codex: Codex,
    thread: Thread,
    updates: ThreadUpdates,
    _driver: (Driver, DriverTask),
}

async fn driven(version: &str, tokens: Option<Arc<dyn TokenSource>>) -> Driven {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let mut codex = Codex { lines: BufReader::new(reader).lines(), writer };
    let pipe = Arc::new(Pipe(Mutex::new(Some(ours))));
    let settings = DriverSettings { tokens, ..DriverSettings::default() };
    let starting = tokio::spawn(Driver::start(pipe, settings));
    let greeting = json!({"userAgent": format!("ostler/{version} (x)"), "codexHome": "/h"});
    codex.answer("initialize", greeting).await;
    assert_eq!(codex.read().await["method"], "initialized");
    let (driver, task) = starting.await.unwrap().unwrap();
    let opener = driver.clone();
    let opening = tokio::spawn(async move {
        let settings = ThreadSettings::new("/stable");
        opener.start_thread(settings, ThreadOptions::default()).await
    });
    let opened = json!({
        "thread": {"id": "t", "status": {"type": "idle"}, "cliVersion": version},
        "sandbox": {"type": "readOnly"},
        "approvalPolicy": "on-request",
        "approvalsReviewer": "user",
        "cwd": "/stable",
    });
    codex.answer("thread/start", opened).await;
    let (thread, updates) = opening.await.unwrap().unwrap();
    let turn = json!({"threadId": "t", "turn": {"id": "u", "status": "inProgress", "items": []}});
    codex.say(json!({"method": "turn/started", "params": turn})).await;
    Driven { codex, thread, updates, _driver: (driver, task) }
}

impl Driven {
    async fn until<T>(&mut self, mut pick: impl FnMut(&Told) -> Option<T>) -> T {
        loop {
            let told = self.updates.next().await.unwrap();
            if let Some(found) = pick(&told.what) {
                return found;
            }
        }
    }

    async fn opened(&mut self) -> (AskId, Ask) {
        self.until(|told| match told {
            Told::Update(Update::AskOpened { ask, content }) => {
                Some((ask.clone(), (**content).clone()))
            }
            _ => None,
        })
        .await
    }

    async fn closed(&mut self) -> AskEnd {
        self.until(|told| match told {
            Told::Update(Update::AskClosed { how, .. }) => Some(how.clone()),
            _ => None,
        })
        .await
    }

    async fn warning(&mut self) -> String {
        self.until(|told| match told {
            Told::Notice(Notice::Warning { text } | Notice::Odd { text }) => Some(text.clone()),
            _ => None,
        })
        .await
    }

    async fn decide(&mut self, ask: AskId, decision: Decision) {
        let decided = Decided { decision, by: "ann".to_owned(), reason: None };
        self.thread.answer(ask, decided).await;
    }
}

/// No version was seen to put them to a thread; every version's schema still has them, each with its own words.
#[tokio::test]
async fn legacy_approvals_are_asked_and_answered_in_their_own_words() {
    let denied = [
        ("0.130.0", json!("denied")),
        ("0.166.0", json!({"denied": {"rejection": "refused by the user"}})),
    ];
    for (version, denied) in denied {
        let mut driven = driven(version, None).await;
        let command = json!({
            "conversationId": "t", "callId": "c", "approvalId": null, "cwd": "/stable",
            "command": ["bash", "-lc", "echo 'a b' > c"], "parsedCmd": [], "reason": "to try",
        });
        let patch = json!({
            "conversationId": "t", "callId": "p", "grantRoot": "/stable", "reason": null,
            "fileChanges": {"/stable/a": {"type": "add", "content": "hay\n"}},
        });
        let decisions = [
            (Decision::Once, json!("approved")),
            (Decision::Session, json!("approved_for_session")),
            (Decision::Deny, denied),
            (Decision::Cancel, json!("abort")),
        ];
        for (id, (decision, word)) in (0..).step_by(2).zip(decisions) {
            driven.codex.ask(id, "execCommandApproval", command.clone()).await;
            let (ask, content) = driven.opened().await;
            let line = r"bash -lc 'echo '\''a b'\'' > c'".to_owned();
            let wanted = CommandAsk {
                command: Some(line),
                cwd: Some("/stable".to_owned()),
                ..CommandAsk::default()
            };
            assert_eq!(content.kind, AskKind::Command(wanted));
            assert_eq!(content.reason.as_deref(), Some("to try"));
            driven.decide(ask, decision.clone()).await;
            let reply = json!({"id": id, "result": {"decision": word}});
            assert_eq!(driven.codex.read().await, reply, "{version}");
            let by = "ann".to_owned();
            let decided = AskEnd::Decided { decision: decision.clone(), by };
            assert_eq!(driven.closed().await, decided);

            driven.codex.ask(id + 1, "applyPatchApproval", patch.clone()).await;
            let (ask, content) = driven.opened().await;
            let wanted = FileChangeAsk {
                files: vec![FileDiff {
                    path: "/stable/a".to_owned(),
                    change: FileChangeKind::Add,
                    diff: "hay\n".to_owned(),
                }],
                grant_root: Some("/stable".to_owned()),
            };
            assert_eq!(content.kind, AskKind::FileChange(wanted));
            driven.decide(ask, decision).await;
            let reply = json!({"id": id + 1, "result": {"decision": word}});
            assert_eq!(driven.codex.read().await, reply, "{version}");
            driven.closed().await;
        }
    }
}

/// What nobody here knows is refused as JSON-RPC says, so that the turn goes on, and it is shown.
#[tokio::test]
async fn what_nobody_handles_is_refused_and_shown() {
    let mut driven = driven("0.166.0", None).await;
    let refused = |id: u64, method: &str| {
        let message = format!("this client does not handle {method}");
        json!({"id": id, "error": {"code": -32601, "message": message}})
    };

    driven.codex.ask(7, "item/horse/requestRide", json!({"threadId": "t", "turnId": "u"})).await;
    let reply = driven.codex.read().await;
    // An unknown method may name its thread where we cannot know it; then it is told to all.
    assert_eq!(reply, refused(7, "item/horse/requestRide"));
    let odd = driven.warning().await;
    assert_eq!(odd, "codex asked for item/horse/requestRide, which nobody here handles");

    driven.codex.ask(8, "attestation/generate", json!({})).await;
    assert_eq!(driven.codex.read().await, refused(8, "attestation/generate"));
    let odd = driven.warning().await;
    assert_eq!(odd, "codex asked for attestation/generate, which nobody here handles");

    let end = json!({"threadId": "t", "turn": {"id": "u", "status": "completed", "items": []}});
    driven.codex.say(json!({"method": "turn/completed", "params": end})).await;
    let end = driven.until(|told| match told {
        Told::Update(Update::TurnEnded { result }) => Some(result.end.clone()),
        _ => None,
    });
    assert_eq!(end.await, TurnEnd::Completed);
}

/// A question of an MCP server outside of a turn stays open whatever turns come and go.
#[tokio::test]
async fn a_question_outside_of_turns_outlives_them() {
    let mut driven = driven("0.166.0", None).await;
    let params = json!({
        "threadId": "t", "turnId": null, "serverName": "tiny", "mode": "url", "_meta": null,
        "message": "Please sign in", "url": "https://example.test/", "elicitationId": "e",
    });
    driven.codex.ask(0, "mcpServer/elicitation/request", params).await;
    let (ask, _) = driven.opened().await;
    let end = json!({"threadId": "t", "turn": {"id": "u", "status": "completed", "items": []}});
    driven.codex.say(json!({"method": "turn/completed", "params": end})).await;
    driven.until(|told| matches!(told, Told::Update(Update::TurnEnded { .. })).then_some(())).await;

    driven.decide(ask, Decision::Once).await;

    let accepted = json!({"action": "accept", "content": null, "_meta": null});
    assert_eq!(driven.codex.read().await, json!({"id": 0, "result": accepted}));
}

#[derive(Debug)]
struct Asleep;

impl TokenSource for Asleep {
    fn refresh(&self, _: Option<String>) -> BoxFuture<'_, Result<TokenRefreshReply, String>> {
        Box::pin(std::future::pending())
    }
}

/// Codex gives the turn up after ten seconds without an answer, so there is one before.
#[tokio::test(start_paused = true)]
async fn a_token_source_that_hangs_is_refused_in_time() {
    let mut driven = driven("0.166.0", Some(Arc::new(Asleep))).await;
    let asked = Instant::now();
    let params = json!({"reason": "unauthorized", "previousAccountId": "acc-1"});
    driven.codex.ask(0, "account/chatgptAuthTokens/refresh", params).await;

    let reply = driven.codex.read().await;

    let error = json!({"code": -32603, "message": "no fresh tokens in time"});
    assert_eq!(reply, json!({"id": 0, "error": error}));
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(driven.warning().await, "no fresh tokens in time");
}

/// The reason goes first, but it must not keep the refusal back for ever.
#[tokio::test(start_paused = true)]
async fn a_refusal_goes_out_even_if_its_reason_does_not() {
    let mut driven = driven("0.166.0", None).await;
    let params = json!({"threadId": "t", "turnId": "u", "itemId": "i", "command": "rm -r hay"});
    driven.codex.ask(0, "item/commandExecution/requestApproval", params).await;
    let (ask, _) = driven.opened().await;
    let reason = Some("the hay is needed".to_owned());
    let decided = Decided { decision: Decision::Deny, by: "ann".to_owned(), reason };
    driven.thread.answer(ask, decided).await;

    let decided = Instant::now();
    // Codex takes the reason and never says so.
    let steer = driven.codex.read().await;
    assert_eq!(steer["method"], "turn/steer");
    assert_eq!(steer["params"]["input"][0]["text"], "the hay is needed");
    assert_eq!(driven.codex.read().await, json!({"id": 0, "result": {"decision": "decline"}}));
    assert_eq!(decided.elapsed().as_secs(), 5, "it waits, and not for ever");
}
