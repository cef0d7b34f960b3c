//! What the peer costs beside the bare reading of the same lines. Ratios of one run; absolute figures are this machine's.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark speaks and fails by panicking"
)]

use std::io::Cursor;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use ostler_codex::peer::{self, Event, PeerSettings};
use ostler_codex::protocol::parse_notification;
use ostler_codex::transport::Stdio;
use ostler_codex::wire::{Frame, LineDecoder, Message, read_message};
use ostler_codex::wire_log::{WireLog, WireLogSettings};
use tokio_util::codec::Decoder;

const LINES: usize = 200_000;
const ROUNDS: usize = 5;

/// A delta as 0.166.0 writes it.
fn turn() -> Vec<u8> {
    let line = |number: usize| {
        format!(
            "{{\"method\":\"item/agentMessage/delta\",\"params\":{{\"threadId\":\"01a13c1e-6e5b-7d62-b3c5-5f5e9b1d2c11\",\
             \"turnId\":\"01a13c1e-6e61-7a53-9a5d-0b5f3f7c9e02\",\"itemId\":\"msg_{:04}\",\"delta\":\"word number {number} \"}},\
             \"emittedAtMs\":1794771024958}}\n",
            number / 100
        )
    };
    (0..LINES).flat_map(|number| line(number).into_bytes()).collect()
}

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

async fn through_the_peer(bytes: &[u8], settings: &PeerSettings) -> Duration {
    let begin = Instant::now();
    let reader = Cursor::new(bytes.to_vec());
    let (_peer, mut events) = peer::open(Stdio::new(reader, tokio::io::sink()), settings);
    let mut seen = 0;
    while let Some(event) = events.next().await {
        if let Event::Notification(call) = event {
            std::hint::black_box(parse_notification(&call.method, call.params_json()));
            seen += 1;
        }
    }
    assert_eq!(seen, LINES, "events were lost");
    begin.elapsed()
}

/// The same with every message recorded, until the last one is in its file.
async fn recorded(bytes: &[u8], folder: PathBuf) -> Duration {
    let begin = Instant::now();
    let log = WireLog::start(WireLogSettings::in_folder(folder)).unwrap();
    let settings = PeerSettings { tap: Some(log.tap()), ..PeerSettings::default() };
    through_the_peer(bytes, &settings).await;
    log.close().await.unwrap();
    begin.elapsed()
}

fn main() {
    let bytes = turn();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let mut ratios = Vec::new();
    let mut recorded_ratios = Vec::new();
    for round in 1..=ROUNDS {
        let bare = bare(&bytes);
        let peer = runtime.block_on(through_the_peer(&bytes, &PeerSettings::default()));
        let folder = scratch.path().join(round.to_string());
        let recorded = runtime.block_on(recorded(&bytes, folder));
        let ratio = peer.as_secs_f64() / bare.as_secs_f64();
        let rate = |took: Duration| LINES as f64 / took.as_secs_f64();
        println!(
            "round {round}: bare {:.0} events/s, through the peer {:.0} events/s, ratio {ratio:.2}, recorded {:.0} events/s",
            rate(bare),
            rate(peer),
            rate(recorded)
        );
        ratios.push(ratio);
        recorded_ratios.push(recorded.as_secs_f64() / bare.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "median ratio {:.2}: what the peer takes beside the bare reading",
        ratios.get(ROUNDS / 2).unwrap()
    );
    recorded_ratios.sort_by(f64::total_cmp);
    println!(
        "median ratio {:.2}: the same with a wire log",
        recorded_ratios.get(ROUNDS / 2).unwrap()
    );
}
