//! What a whole turn costs on its way through the driver to a watcher, beside the bare reading of the same lines. Ratios
//! of one run; absolute figures are this machine's.
//!
//! The turn is long: 1,000 messages of 100 pieces each, 1,000 commands, and a report of the tokens and limits after each call
//! of the model.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark speaks and fails by panicking"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ostler_codex::app_server::AppServer;
use ostler_codex::driver::{
    ConnectError, Connection, Connector, Driver, DriverSettings, Lines, ThreadOptions, WireLines,
    hello,
};
use ostler_codex::peer::PeerSettings;
use ostler_codex::thread::Told;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::transport::Stdio;
use ostler_model::thread::{ServerWanted, Update};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use turn::{THREAD, bare, cpu};

mod turn;

const MESSAGES: usize = 1_000;
const ROUNDS: usize = 7;
const LINES: usize = turn::lines_of(MESSAGES);

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
    let begin = cpu();
    let wants_lines = matches!(lines, WireLines::Told);
    let options = ThreadOptions { lines, ..ThreadOptions::default() };
    let opened = driver.start_thread(ThreadSettings::new("/stable"), options).await;
    let (thread, mut updates) = opened.unwrap();
    let (mut text_bytes, mut seen) = (0, 0);
    while let Some(told) = updates.next().await {
        match std::hint::black_box(told.what) {
            Told::Wire(_) => seen += 1,
            Told::Update(Update::Delta { text, .. }) => text_bytes += text.len(),
            Told::Update(Update::TurnEnded { result }) => {
                let expected = MESSAGES * (turn::text_of(0).len() + turn::output().len());
                assert_eq!((text_bytes, result.usage.calls), (expected, 1_000));
                break;
            }
            _ => {}
        }
    }
    let took = cpu() - begin;
    // The limits of the account are about no thread.
    let expected = if wants_lines { LINES - MESSAGES } else { 0 };
    assert_eq!(seen, expected);
    drop((driver, thread, updates));
    task.ended().await;
    codex.await.unwrap();
    took
}

fn main() {
    let bytes = Bytes::from(turn::turn(MESSAGES));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("{LINES} lines, {} bytes", bytes.len());
    let (mut untold, mut unheard, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let bare = bare(&bytes);
        let driver = runtime.block_on(through_the_driver(bytes.clone(), WireLines::Untold));
        // Nobody looks at them: this should cost nothing.
        let lines = WireLines::Overheard(Lines::default());
        let nobody = runtime.block_on(through_the_driver(bytes.clone(), lines));
        let with_lines = runtime.block_on(through_the_driver(bytes.clone(), WireLines::Told));
        let each = |took: Duration| took.as_secs_f64() * 1e6 / LINES as f64;
        let ratio = |took: Duration| took.as_secs_f64() / bare.as_secs_f64();
        println!(
            "round {round}: bare {:.2} µs per line, through the driver {:.2} ({:.2} ×), with lines that nobody looks at {:.2} ({:.2} ×), with its lines {:.2} ({:.2} ×)",
            each(bare),
            each(driver),
            ratio(driver),
            each(nobody),
            ratio(nobody),
            each(with_lines),
            ratio(with_lines),
        );
        untold.push(ratio(driver));
        unheard.push(ratio(nobody));
        told.push(ratio(with_lines));
    }
    for (ratios, what) in [
        (&mut untold, "the driver"),
        (&mut unheard, "the driver with lines that nobody looks at"),
        (&mut told, "the driver and its lines"),
    ] {
        ratios.sort_by(f64::total_cmp);
        println!(
            "median ratio {:.2}: what {what} takes beside the bare reading",
            ratios.get(ROUNDS / 2).unwrap()
        );
    }
}
