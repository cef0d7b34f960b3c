//! The standard turn: of its messages each has 100 pieces, and after each comes a command with 2 KiB of output and a report
//! of the tokens and of the limits. A thousand messages are 107,000 lines.

use std::time::Duration;

use bytes::BytesMut;
use ostler_codex::protocol::parse_notification;
use ostler_codex::wire::{Frame, LineDecoder, Message, read_message};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio_util::codec::Decoder;

pub(crate) const THREAD: &str = "01a13c1e-6e5b-7d62-b3c5-5f5e9b1d2c11";
pub(crate) const TURN: &str = "01a13c1e-6e61-7a53-9a5d-0b5f3f7c9e02";
pub(crate) const PIECES: usize = 100;

/// Lines of a turn: its two ends, and of each message its two ends, its pieces, a command of three lines and two reports.
pub(crate) const fn lines_of(messages: usize) -> usize {
    2 + messages * (2 + PIECES + 3 + 2)
}

/// What the command after each message writes.
pub(crate) fn output() -> String {
    "x".repeat(2048)
}

pub(crate) fn piece(message: usize, piece: usize) -> String {
    format!(" word {piece:03} of {message:04}")
}

pub(crate) fn text_of(message: usize) -> String {
    (0..PIECES).map(|number| piece(message, number)).collect()
}

/// One in ten messages ends without its text, so that what is kept of it is the sum of its pieces and a lost one is seen.
fn text_at_the_end(message: usize) -> String {
    if message % 10 == 9 { String::new() } else { text_of(message) }
}

/// All lines of a turn of so many messages.
pub(crate) fn turn(messages: usize) -> Vec<u8> {
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
    let output = output();
    for number in 0..messages {
        let message = format!("msg_{number:04}_67e5504410b1426f9247bb680e5fe0c8");
        let text = |text: &str| json!({"type": "agentMessage", "id": message, "text": text, "phase": "commentary"});
        say("item/started", item(text("")));
        for at in 0..PIECES {
            let piece = piece(number, at);
            say(
                "item/agentMessage/delta",
                json!({"threadId": THREAD, "turnId": TURN, "itemId": message, "delta": piece}),
            );
        }
        say("item/completed", item(text(&text_at_the_end(number))));
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

/// Splits, reads the envelope and the ids and the text of each line, and no more. The processor's time that it takes.
pub(crate) fn bare(bytes: &[u8]) -> Duration {
    let begin = cpu();
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
    assert_eq!(seen, memchr::memchr_iter(b'\n', bytes).count());
    cpu() - begin
}

/// The processor's time that this process has taken, with all its threads.
pub(crate) fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(spent.tv_sec).unwrap(), u32::try_from(spent.tv_nsec).unwrap())
}
