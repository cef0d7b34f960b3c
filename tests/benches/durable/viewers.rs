//! Five hundred who look at one busy task of a real daemon, beside one who does.
//!
//! The task says as much as a very fast model does. Each viewer has a connection of its own over TCP and reads server-sent events
//! from the first one on. It is checked that each got every event once and in order; what came too fast for a viewer came to it
//! as a snapshot of the text.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ostler_model::task::SandboxMode;
use ostler_server::api::{StartAnswer, StartRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::budgets::Budget;
use crate::daemon::Daemon;
use crate::fake::GO;
use crate::processes::{cpu, forget_peak, status_kb};

const VIEWERS: usize = 500;
/// Each with a hundred pieces, at [`crate::fake::WATCHED_PER_SECOND`] lines a second.
const MESSAGES: usize = 60;
const DEADLINE: Duration = Duration::from_secs(180);

/// What one viewer saw.
#[derive(Debug, Default)]
struct Seen {
    /// Of each event when it was noted, in milliseconds, and how much later the viewer had it; the commit is in between.
    events_ms: Vec<(f64, f64)>,
    last_seq: u64,
    grown: usize,
    snapshots: usize,
    bytes: usize,
    is_over: bool,
}

/// What one round came to.
struct Round {
    seen: Vec<Seen>,
    begin_ms: f64,
    wall_s: f64,
    cpu_s: f64,
    memory_mb: f64,
}

pub(crate) fn many() -> Vec<Budget> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let daemon = Daemon::start("[server]\nlisten = \"127.0.0.1:0\"\n").await;
        let token = daemon.token();
        let alone = round(&daemon, &token, 1, 1).await;
        let many = round(&daemon, &token, 2, VIEWERS).await;
        daemon.end().await;
        budgets(&alone, &many)
    })
}

fn budgets(alone: &Round, many: &Round) -> Vec<Budget> {
    for (round, who) in [(alone, "one viewer"), (many, "500 viewers")] {
        let (events, grown, snapshots, bytes) = round.totals();
        println!(
            "{who}: {events} events, {grown} pieces, {snapshots} snapshots, {:.1} MB in {:.1} s; p50 {:.1} ms, p99 {:.1} ms; \
             {:.1} s of a processor, {:.1} MB more memory at the most",
            bytes as f64 / 1e6,
            round.wall_s,
            round.percentile(0.5),
            round.percentile(0.99),
            round.cpu_s,
            round.memory_mb,
        );
    }
    let (events, grown, snapshots, _) = many.totals();
    let frames = (events + grown + snapshots) as f64;
    vec![
        Budget {
            what: "500 viewers: from an event's note to the frame, in the middle, beside one viewer",
            figure: many.percentile(0.5),
            most: alone.percentile(0.5) + 50.0,
            unit: "ms",
            note: format!("one viewer {:.1} ms; its commit is in it", alone.percentile(0.5)),
        },
        Budget {
            what: "500 viewers: the same, the slowest of a hundred",
            figure: many.percentile(0.99),
            most: alone.percentile(0.99) + 250.0,
            unit: "ms",
            note: format!("one viewer {:.1} ms", alone.percentile(0.99)),
        },
        Budget {
            what: "500 viewers: memory",
            figure: many.memory_mb - alone.memory_mb,
            most: 64.0,
            unit: "MB",
            note: format!(
                "{:.0} kB for each",
                (many.memory_mb - alone.memory_mb) * 1024.0 / VIEWERS as f64
            ),
        },
        Budget {
            what: "500 viewers: a frame to a viewer",
            figure: (many.cpu_s - alone.cpu_s) * 1e6 / frames,
            most: 20.0,
            unit: "µs CPU",
            note: format!(
                "{:.0} frames a second, {events} events, none lost or twice",
                frames / many.wall_s
            ),
        },
    ]
}

impl Round {
    fn totals(&self) -> (usize, usize, usize, usize) {
        let sum = |count: fn(&Seen) -> usize| self.seen.iter().map(count).sum();
        let events = sum(|seen| seen.events_ms.len());
        (events, sum(|seen| seen.grown), sum(|seen| seen.snapshots), sum(|seen| seen.bytes))
    }

    fn percentile(&self, share: f64) -> f64 {
        // What was noted before is read from the log, whenever somebody comes.
        let live = self.seen.iter().flat_map(|seen| seen.events_ms.iter());
        let live = live.filter(|(noted_ms, _)| *noted_ms >= self.begin_ms);
        let mut all: Vec<f64> = live.map(|(_, later_ms)| *later_ms).collect();
        all.sort_by(f64::total_cmp);
        all[((all.len() - 1) as f64 * share) as usize]
    }
}

/// `number` counts the rounds: the fake Codex waits until it is told to begin this one.
async fn round(daemon: &Daemon, token: &str, number: usize, viewers: usize) -> Round {
    let mut client = daemon.client().await.unwrap();
    let address = client.health().await.unwrap().listens.unwrap().address.to_string();
    let request = StartRequest {
        prompt: Some(format!("watched {MESSAGES}")),
        cwd: daemon.folder.path().display().to_string(),
        sandbox: Some(SandboxMode::ReadOnly),
        ..StartRequest::default()
    };
    let started: StartAnswer = client.post("/v1/tasks", &request).await.unwrap();
    let path = format!("/v1/tasks/{}/events", started.task.id);
    let pid = daemon.pid();
    sleep(Duration::from_secs(1)).await;
    forget_peak(&pid);
    let memory = status_kb(&pid, "VmRSS");
    let (ready, mut all_ready) = mpsc::channel(viewers);
    let looking: Vec<_> = (0..viewers)
        .map(|_| {
            let look = look(address.clone(), path.clone(), token.to_owned(), ready.clone());
            tokio::spawn(timeout(DEADLINE, look))
        })
        .collect();
    drop(ready);
    while all_ready.recv().await.is_some() {}
    // Who has come is told to all of them; then they rest.
    sleep(Duration::from_secs(1)).await;
    let (begin_ms, begin, spent) = (now_ms(), Instant::now(), cpu(&pid));
    std::fs::write(daemon.folder.path().join(format!("{GO}{number}")), "").unwrap();
    let mut seen = Vec::new();
    for looking in looking {
        seen.push(looking.await.unwrap().unwrap());
    }
    let (wall_s, cpu_s) = (begin.elapsed().as_secs_f64(), (cpu(&pid) - spent).as_secs_f64());
    let memory_mb = status_kb(&pid, "VmHWM").saturating_sub(memory) as f64 / 1024.0;
    let last = seen[0].last_seq;
    assert!(seen.iter().all(|seen| seen.last_seq == last && seen.is_over), "events are missing");
    Round { seen, begin_ms, wall_s, cpu_s, memory_mb }
}

/// Reads to the end of the task. Says that it has begun by letting go of `ready`.
async fn look(address: String, path: String, token: String, ready: mpsc::Sender<()>) -> Seen {
    let mut stream = TcpStream::connect(&address).await.unwrap();
    // HTTP/1.0 has no chunks, so that what is read is what was written.
    let head = format!(
        "GET {path} HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {token}\r\naccept: text/event-stream\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut ready = Some(ready);
    let (mut seen, mut kept) = (Seen::default(), Vec::with_capacity(64 * 1024));
    while !seen.is_over {
        let read = stream.read_buf(&mut kept).await.unwrap();
        assert!(read > 0, "the stream has ended: {}", String::from_utf8_lossy(&kept));
        seen.bytes += read;
        let now_ms = now_ms();
        let mut done = 0;
        while let Some(end) = memchr::memmem::find(&kept[done..], b"\n\n") {
            seen.frame(&kept[done..done + end], now_ms);
            done += end + 2;
        }
        kept.drain(..done);
        // The log so far was read, and the text that grows is heard from here on.
        if seen.last_seq > 0 {
            ready = None;
        }
    }
    drop(ready);
    seen
}

impl Seen {
    fn frame(&mut self, frame: &[u8], now_ms: f64) {
        if let Some(rest) = frame.strip_prefix(b"id: ") {
            let seq = number(rest);
            assert_eq!(seq, self.last_seq + 1, "an event is missing, or there twice");
            self.last_seq = seq;
            let at = memchr::memmem::find(frame, b"\"at\":").unwrap() + 5;
            let noted_ms = number(&frame[at..]) as f64;
            self.events_ms.push((noted_ms, now_ms - noted_ms));
            self.is_over = memchr::memmem::find(frame, br#""event":"state""#).is_some()
                && memchr::memmem::find(frame, br#""to":"completed""#).is_some();
        } else if frame.starts_with(b"event: grown") {
            self.grown += 1;
        } else if frame.starts_with(b"event: partials") {
            self.snapshots += 1;
        }
    }
}

/// As the events' notes have it.
fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1e3
}

fn number(digits: &[u8]) -> u64 {
    let digits = digits.iter().take_while(|digit| digit.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}
