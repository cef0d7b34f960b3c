//! What a whole turn costs on its way through the driver to a watcher, beside the bare reading of the same lines. Ratios
//! of one run; absolute figures are this machine's.
//!
//! The turn has the shape of `spec`'s standard one: 1,000 messages of 100 pieces each, 1,000 commands, and a report of the
//! tokens after each call of the model.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark speaks and fails by panicking"
)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use ostler_codex::app_server::AppServer;
use ostler_codex::driver::{
    ConnectError, Connection, Connector, Driver, DriverSettings, ThreadOptions, WireLines, hello,
};
use ostler_codex::peer::PeerSettings;
use ostler_codex::protocol::parse_notification;
use ostler_codex::thread::Told;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::transport::Stdio;
use ostler_codex::wire::{Frame, LineDecoder, Message, read_message};
use ostler_model::thread::{ServerWanted, Update};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio_util::codec::Decoder;

const THREAD: &str = "01a13c1e-6e5b-7d62-b3c5-5f5e9b1d2c11";
const TURN: &str = "01a13c1e-6e61-7a53-9a5d-0b5f3f7c9e02";
const MESSAGES: usize = 1_000;
const PIECES: usize = 100;
const ROUNDS: usize = 7;

/// Lines of the turn: its two ends, and of each message its two ends, its pieces, a command of three lines and a report
/// of the tokens and of the limits.
const LINES: usize = 2 + MESSAGES * (2 + PIECES + 3 + 2);

fn turn() -> Vec<u8> {
    let mut lines = Vec::new();
    let mut say = |method: &str, params: Value| {
        let line =
            json!({"method": method, "params": params, "emittedAtMs": 1_794_771_024_958_u64});
        lines.extend_from_slice(line.to_string().as_bytes());
        lines.push(b'\n');
    };
    let item =
        |item: Value| json!({"threadId": THREAD, "turnId": TURN, "item": item, "startedAtMs": 1});
    let turn = |status: &str| json!({"threadId": THREAD, "turn": {"id": TURN, "status": status, "items": []}});
    say("turn/started", turn("inProgress"));
    let output = "x".repeat(2048);
    for number in 0..MESSAGES {
        let message = format!("msg_{number:04}_67e5504410b1426f9247bb680e5fe0c8");
        let text = |text: &str| json!({"type": "agentMessage", "id": message, "text": text, "phase": "commentary"});
        say("item/started", item(text("")));
        let mut whole = String::new();
        for piece in 0..PIECES {
            let piece = format!(" word {piece:03} of {number:04}");
            say(
                "item/agentMessage/delta",
                json!({"threadId": THREAD, "turnId": TURN, "itemId": message, "delta": piece}),
            );
            whole.push_str(&piece);
        }
        say("item/completed", item(text(&whole)));
        let call = format!("call_{number:04}");
        let command = |status: &str, output: Option<&str>| {
            json!({
                "type": "commandExecution", "id": call, "command": "/bin/bash -lc 'cat hay'", "cwd": "/stable",
                "status": status, "aggregatedOutput": output, "exitCode": output.map(|_| 0), "durationMs": 5,
                "commandActions": [{"type": "unknown", "command": "cat hay"}], "source": "unifiedExecStartup",
            })
        };
        say("item/started", item(command("inProgress", None)));
        say(
            "item/commandExecution/outputDelta",
            json!({"threadId": THREAD, "turnId": TURN, "itemId": call, "delta": output}),
        );
        say("item/completed", item(command("completed", Some(&output))));
        let tokens = |count: usize| {
            json!({
                "totalTokens": count * 110, "inputTokens": count * 100, "cachedInputTokens": 0,
                "outputTokens": count * 10, "reasoningOutputTokens": 0,
            })
        };
        let usage =
            json!({"total": tokens(number + 1), "last": tokens(1), "modelContextWindow": 258_400});
        say(
            "thread/tokenUsage/updated",
            json!({"threadId": THREAD, "turnId": TURN, "tokenUsage": usage}),
        );
        say(
            "account/rateLimits/updated",
            json!({"rateLimits": {"primary": null, "secondary": null}}),
        );
    }
    say("turn/completed", turn("completed"));
    lines
}

/// Splits, reads the envelope and the ids and the text of each line, and no more.
fn bare(bytes: &[u8]) -> Duration {
    let begin = Instant::now();
    let mut decoder = LineDecoder::default();
    let mut buffer = BytesMut::new();
    let mut seen = 0;
    for chunk in bytes.chunks(64 * 1024) {
        buffer.extend_from_slice(chunk);
        while let Some(Frame::Message(line)) = decoder.decode(&mut buffer).unwrap() {
            let Ok(Message::Notification(call)) = read_message(&line) else { continue };
            std::hint::black_box(parse_notification(&call.method, call.params_json()));
            seen += 1;
        }
    }
    assert_eq!(seen, LINES);
    begin.elapsed()
}

/// Gives one connection.
#[derive(Debug)]
struct Pipe(Mutex<Option<DuplexStream>>);

impl Connector for Pipe {
    fn connect(&self, _: ServerWanted) -> BoxFuture<'_, Result<Connection, ConnectError>> {
        Box::pin(async {
            let pipe = self.0.lock().unwrap().take().unwrap();
            let (reader, writer) = tokio::io::split(pipe);
            let transport = Stdio::new(reader, writer);
            let (server, events) =
                AppServer::greet(transport, &hello(), &PeerSettings::default()).await.unwrap();
            Ok(Connection { server, events })
        })
    }
}

/// Opens a thread, then says all lines, and answers nothing more.
async fn codex(pipe: DuplexStream, turn: Bytes) {
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    let opened = json!({
        "thread": {"id": THREAD, "status": {"type": "idle"}, "cliVersion": "0.166.0"},
        "sandbox": {"type": "readOnly"}, "approvalPolicy": "on-request", "approvalsReviewer": "user", "cwd": "/stable",
    });
    while let Some(line) = lines.next_line().await.unwrap() {
        let request: Value = serde_json::from_str(&line).unwrap();
        let result = match request["method"].as_str().unwrap() {
            "initialize" => json!({"userAgent": "ostler/0.166.0 (x)", "codexHome": "/h"}),
            "thread/start" => opened.clone(),
            _ => continue,
        };
        let answer = json!({"id": request["id"], "result": result});
        writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        if request["method"] == "thread/start" {
            break;
        }
    }
    for chunk in turn.chunks(64 * 1024) {
        writer.write_all(chunk).await.unwrap();
    }
    // The connection stays until the turn is heard.
    while lines.next_line().await.unwrap().is_some() {}
}

/// From the opening of the thread to the end of the turn, with a watcher that reads all.
async fn through_the_driver(turn: Bytes, lines: WireLines) -> Duration {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let codex = tokio::spawn(codex(theirs, turn));
    let pipe = Arc::new(Pipe(Mutex::new(Some(ours))));
    let (driver, task) = Driver::start(pipe, DriverSettings::default()).await.unwrap();
    let begin = Instant::now();
    let options = ThreadOptions { lines, ..ThreadOptions::default() };
    let opened = driver.start_thread(ThreadSettings::new("/stable"), options).await;
    let (thread, mut updates) = opened.unwrap();
    let (mut pieces, mut seen) = (0, 0);
    while let Some(told) = updates.next().await {
        match std::hint::black_box(told.what) {
            Told::Wire(_) => seen += 1,
            Told::Update(Update::Delta { .. }) => pieces += 1,
            Told::Update(Update::TurnEnded { result }) => {
                assert_eq!((pieces, result.usage.calls), (MESSAGES * (PIECES + 1), 1_000));
                break;
            }
            _ => {}
        }
    }
    let took = begin.elapsed();
    // The limits of the account are about no thread.
    let expected = if lines == WireLines::Told { LINES - MESSAGES } else { 0 };
    assert_eq!(seen, expected);
    drop((driver, thread, updates));
    task.ended().await;
    codex.await.unwrap();
    took
}

fn main() {
    let bytes = Bytes::from(turn());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("{LINES} lines, {} bytes", bytes.len());
    let (mut untold, mut told) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let bare = bare(&bytes);
        let driver = runtime.block_on(through_the_driver(bytes.clone(), WireLines::Untold));
        let with_lines = runtime.block_on(through_the_driver(bytes.clone(), WireLines::Told));
        let each = |took: Duration| took.as_secs_f64() * 1e6 / LINES as f64;
        let ratio = |took: Duration| took.as_secs_f64() / bare.as_secs_f64();
        println!(
            "round {round}: bare {:.2} µs per line, through the driver {:.2} ({:.2} ×), with its lines {:.2} ({:.2} ×)",
            each(bare),
            each(driver),
            ratio(driver),
            each(with_lines),
            ratio(with_lines),
        );
        untold.push(ratio(driver));
        told.push(ratio(with_lines));
    }
    for (ratios, what) in [(&mut untold, "the driver"), (&mut told, "the driver and its lines")] {
        ratios.sort_by(f64::total_cmp);
        println!(
            "median ratio {:.2}: what {what} takes beside the bare reading",
            ratios.get(ROUNDS / 2).unwrap()
        );
    }
}
