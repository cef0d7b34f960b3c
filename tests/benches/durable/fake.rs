//! A Codex that says what the benchmark wants, as fast as it can: another process, so that its work is not counted.
//!
//! The prompt says which turn: `long N` is the standard turn of N messages, `paced N` the same with 10,000 lines a second,
//! one write each as Codex does it, `watched N` the same with 1,000 and only when it is told to begin, `asks N` is N questions one after the other, `never` a turn that does not end.

use std::io::Write as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::turn::{THREAD, TURN, turn};

/// What Codex needs is little; what a real one writes is one line at a time.
const LINES_PER_SECOND: u64 = 10_000;
/// Five times what the fastest models say.
pub(crate) const WATCHED_PER_SECOND: u64 = 1000;

/// What its answers and questions were seen at, for whoever started it. In the Codex home, because nothing else is known here.
pub(crate) const SEEN: &str = "seen.json";

/// The file, with the number of the thread behind it, that lets a watched turn begin; beside the other one.
pub(crate) const GO: &str = "go";

/// The same clock in every process.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap()
}

/// Serves for ever; the keeper ends it.
pub(crate) fn serve(address: &str) {
    let listener = UnixListener::bind(address.trim_start_matches("unix://")).unwrap();
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        std::thread::spawn(move || {
            // Whoever only looks whether somebody listens says nothing.
            if let Ok(socket) = tungstenite::accept(stream) {
                let home = std::env::var_os("CODEX_HOME").unwrap().into();
                Connection { socket, home, threads: 0 }.serve();
            }
        });
    }
}

struct Connection {
    socket: WebSocket<UnixStream>,
    home: PathBuf,
    threads: u32,
}

impl Connection {
    fn serve(&mut self) {
        while let Some(message) = self.hear() {
            let id = message["id"].clone();
            if id.is_null() || message["method"].is_null() {
                continue;
            }
            let params = &message["params"];
            let result = match message["method"].as_str().unwrap() {
                "initialize" => {
                    json!({"userAgent": "ostler/0.166.0 (x)", "codexHome": self.home})
                }
                "thread/start" => {
                    self.threads += 1;
                    opened(&numbered(THREAD, self.threads), &params["cwd"])
                }
                "turn/start" => {
                    let id = numbered(TURN, self.threads);
                    json!({"turn": {"id": id, "status": "inProgress", "items": []}})
                }
                _ => json!({}),
            };
            self.say(&json!({"id": id, "result": result}));
            if message["method"] == "turn/start" {
                let prompt = params["input"][0]["text"].as_str().unwrap().to_owned();
                self.play(&prompt);
            }
        }
    }

    fn hear(&mut self) -> Option<Value> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    fn say(&mut self, message: &Value) {
        // The other side may have gone; the next read says so.
        self.socket.send(Message::text(message.to_string())).ok();
    }

    fn play(&mut self, prompt: &str) {
        let (kind, count) = prompt.split_once(' ').unwrap_or((prompt, "0"));
        let count: usize = count.parse().unwrap();
        match kind {
            "long" => {
                let mut frames = Vec::new();
                for line in self.lines(count).lines() {
                    push_frame(&mut frames, line.as_bytes());
                }
                for chunk in frames.chunks(64 * 1024) {
                    self.socket.get_mut().write_all(chunk).unwrap();
                }
            }
            "paced" => self.paced(&self.lines(count), LINES_PER_SECOND),
            "watched" => {
                while !self.home.join(format!("{GO}{}", self.threads)).exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                self.paced(&self.lines(count), WATCHED_PER_SECOND);
            }
            "asks" => self.ask(count),
            _ => self.say_of_turn("turn/started", "inProgress"),
        }
    }

    /// The standard turn, on this thread.
    fn lines(&self, messages: usize) -> String {
        let lines = String::from_utf8(turn(messages)).unwrap();
        let lines = lines.replace(THREAD, &numbered(THREAD, self.threads));
        lines.replace(TURN, &numbered(TURN, self.threads))
    }

    fn say_of_turn(&mut self, method: &str, status: &str) {
        let turn = json!({"id": numbered(TURN, self.threads), "status": status, "items": []});
        let params = json!({"threadId": numbered(THREAD, self.threads), "turn": turn});
        self.say(&json!({"method": method, "params": params}));
    }

    fn paced(&mut self, lines: &str, per_second: u64) {
        let begin = Instant::now();
        let mut frame = Vec::new();
        for (number, line) in lines.lines().enumerate() {
            let due = Duration::from_micros(number as u64 * 1_000_000 / per_second);
            if let Some(wait) = due.checked_sub(begin.elapsed()) {
                std::thread::sleep(wait);
            }
            frame.clear();
            push_frame(&mut frame, line.as_bytes());
            self.socket.get_mut().write_all(&frame).unwrap();
        }
    }

    /// Notes when each question was put and when its answer came. Goes on at once: what was said in between is written down
    /// with the next question.
    fn ask(&mut self, count: usize) {
        self.say_of_turn("turn/started", "inProgress");
        let (thread, turn) = (numbered(THREAD, self.threads), numbered(TURN, self.threads));
        let mut seen = Vec::new();
        for number in 0..count {
            let item = format!("call_{number:04}");
            let command = |status: &str| {
                json!({"threadId": thread, "turnId": turn, "startedAtMs": 1, "item": {
                    "type": "commandExecution", "id": item, "command": "/bin/bash -lc 'touch hay'", "cwd": "/",
                    "status": status, "commandActions": [{"type": "unknown", "command": "touch hay"}],
                }})
            };
            self.say(&json!({"method": "item/started", "params": command("inProgress")}));
            let id = number + 1000;
            let asked_at = monotonic_ns();
            self.say(
                &json!({"id": id, "method": "item/commandExecution/requestApproval", "params": {
                    "threadId": thread, "turnId": turn, "itemId": item, "reason": "?", "cwd": "/",
                    "command": "/bin/bash -lc 'touch hay'",
                    "commandActions": [{"type": "unknown", "command": "touch hay"}],
                    "availableDecisions": ["accept", "cancel"],
                }}),
            );
            while self.hear().unwrap()["id"] != id {}
            seen.push([asked_at, monotonic_ns()]);
            let resolved = json!({"threadId": thread, "requestId": id});
            self.say(&json!({"method": "serverRequest/resolved", "params": resolved}));
            self.say(&json!({"method": "item/completed", "params": command("completed")}));
        }
        std::fs::write(self.home.join(SEEN), json!(seen).to_string()).unwrap();
        self.say_of_turn("turn/completed", "completed");
    }
}

fn opened(thread: &str, cwd: &Value) -> Value {
    json!({
        "thread": {"id": thread, "status": {"type": "idle"}, "cliVersion": "0.166.0"},
        "sandbox": {"type": "readOnly"}, "approvalPolicy": "on-request", "approvalsReviewer": "user", "cwd": cwd,
    })
}

/// The id of the standard turn with another end, of the same length.
fn numbered(id: &str, number: u32) -> String {
    format!("{}{number:04}", &id[..id.len() - 4])
}

/// A server's text frame (RFC 6455, section 5.2).
fn push_frame(frames: &mut Vec<u8>, line: &[u8]) {
    frames.push(0x81);
    match u8::try_from(line.len()) {
        Ok(length) if length < 126 => frames.push(length),
        _ => {
            frames.push(126);
            frames.extend_from_slice(&u16::try_from(line.len()).unwrap().to_be_bytes());
        }
    }
    frames.extend_from_slice(line);
}
