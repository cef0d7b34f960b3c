//! The one thread that writes: sorts, redacts, files.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Instant;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::files::{FileError, Files};
use super::filing::{Filing, Sorted, Thread};
use super::redact::{Context, Redactor};
use super::tap::{Body, Input, Outcome, Side, WireLogFailure};
use crate::secrets::Secrets;

/// The format that this code writes; the reader refuses what is newer.
pub(crate) const FORMAT: u64 = 1;

/// Taken at once, because a conversation that waits is woken for each place that gets free. After these a flush is made.
const MAX_BATCH: usize = 256;

/// What the thread starts with.
pub(crate) struct Writer {
    pub(crate) folder: PathBuf,
    pub(crate) known: Secrets,
    pub(crate) codex_version: Option<String>,
    pub(crate) max_file_bytes: u64,
    pub(crate) started: Instant,
    pub(crate) started_at: Timestamp,
}

/// The state of the thread.
struct Log {
    files: Files,
    filing: Filing,
    redactor: Redactor,
    known: Secrets,
    codex_version: Option<String>,
    max_file_bytes: u64,
    started: Instant,
    started_at: Timestamp,
    /// Never less than that of the line before, so that a file can be played by its times.
    at_ms: u64,
}

enum Then {
    GoOn,
    End,
}

impl Writer {
    /// Runs until the queue ends, the log is closed, or a file cannot be written.
    pub(crate) fn run(self, mut queue: mpsc::Receiver<Input>, outcome: &Outcome) {
        let mut log = Log {
            files: Files::new(self.folder, self.max_file_bytes),
            filing: Filing::new(),
            redactor: Redactor::new(self.known.clone()),
            known: self.known,
            codex_version: self.codex_version,
            max_file_bytes: self.max_file_bytes,
            started: self.started,
            started_at: self.started_at,
            at_ms: 0,
        };
        let mut batch = Vec::with_capacity(MAX_BATCH);
        while queue.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
            // Let go of only after a failure is on record: whoever waits for a flush then looks for one.
            let waiters = take_flushes(&mut batch);
            match log.batch(&mut batch) {
                Ok(Then::GoOn) if outcome.failure().is_none() => {
                    for waiter in waiters {
                        // Whoever no longer waits need not be told.
                        let _told: Result<(), ()> = waiter.send(());
                    }
                }
                Ok(_) => return,
                Err(FileError { path, error }) => {
                    let path = path.display().to_string();
                    return outcome.fail(WireLogFailure::File { path, reason: error.to_string() });
                }
            }
        }
    }
}

/// Those who wait for a flush.
fn take_flushes(batch: &mut Vec<Input>) -> Vec<oneshot::Sender<()>> {
    if !batch.iter().any(|input| matches!(input, Input::Flush(_))) {
        return Vec::new();
    }
    let mut waiters = Vec::new();
    for input in std::mem::take(batch) {
        match input {
            Input::Flush(waiter) => waiters.push(waiter),
            input => batch.push(input),
        }
    }
    waiters
}

impl Log {
    /// Takes what waits, then flushes.
    fn batch(&mut self, batch: &mut Vec<Input>) -> Result<Then, FileError> {
        let mut then = Then::GoOn;
        for input in batch.drain(..) {
            match input {
                Input::Message { at, from, body, share } => {
                    self.message(at, from, &body)?;
                    drop(share);
                }
                Input::Adopt { child, parent } => self.filing.adopt(&child, &parent),
                Input::Flush(_) => {}
                Input::Close => {
                    then = Then::End;
                    break;
                }
            }
        }
        self.files.flush()?;
        Ok(then)
    }

    fn message(&mut self, at: Instant, from: Side, body: &Body) -> Result<(), FileError> {
        let at_ms = at.saturating_duration_since(self.started).as_millis();
        self.at_ms = self.at_ms.max(u64::try_from(at_ms).unwrap_or(u64::MAX));
        let bytes = match body {
            Body::Message(bytes) => bytes,
            Body::TooLong { bytes, head } => {
                let thread = self.filing.sort_head(head);
                let text = String::from_utf8_lossy(head);
                let line = self.text_line(from, &text, Some(*bytes));
                return self.append(thread, &line);
            }
        };
        let text = String::from_utf8_lossy(bytes);
        // Only text that came as it is counts as JSON.
        let json = match &text {
            Cow::Borrowed(text) => serde_json::from_str::<&RawValue>(text).ok(),
            Cow::Owned(_) => None,
        };
        match json {
            Some(json) => {
                let sorted = self.filing.sort(from, json);
                if sorted.is_typed_secret {
                    self.learn(json);
                }
                let context = Context { result: sorted.result, stream: sorted.stream.as_deref() };
                let redacted = self.redactor.json(json.get(), context);
                let line = json_line(self.at_ms, from, &redacted);
                self.file(sorted, &line)
            }
            None => {
                let line = self.text_line(from, &text, None);
                self.append(None, &line)
            }
        }
    }

    fn file(&mut self, sorted: Sorted, line: &[u8]) -> Result<(), FileError> {
        if let Some(id) = &sorted.opener {
            self.filing.hold(id, line);
        }
        if let Some(version) = sorted.version {
            self.codex_version.get_or_insert(version);
        }
        self.append(sorted.thread, line)?;
        if let Some((thread, request)) = sorted.opens {
            if let Some(request) = request {
                self.append(Some(thread.clone()), &request)?;
            }
            self.append(Some(thread), line)?;
        }
        Ok(())
    }

    fn append(&mut self, thread: Thread, line: &[u8]) -> Result<(), FileError> {
        let (at_ms, limit_bytes) = (self.at_ms, self.max_file_bytes);
        for thread in self.filing.with_ancestors(thread) {
            let header = |thread: &Thread| {
                written(&Header {
                    ostler_wire_log: FORMAT,
                    codex_version: self.codex_version.as_deref(),
                    thread: thread.as_deref(),
                    started_at: self.started_at,
                })
            };
            let cut = || written(&Cut { cut: true, at_ms, limit_bytes });
            self.files.append(&thread, line, header, cut)?;
        }
        Ok(())
    }

    fn text_line(&mut self, from: Side, text: &str, too_long_bytes: Option<u64>) -> Vec<u8> {
        let text = self.redactor.text(text);
        written(&TextLine { at_ms: self.at_ms, from: from.as_str(), text: &text, too_long_bytes })
    }

    /// What a person typed as a secret is one wherever it comes up again.
    fn learn(&self, json: &RawValue) {
        let Ok(Value::Object(message)) = serde_json::from_str(json.get()) else { return };
        let mut left: Vec<&Value> = message.get("result").into_iter().collect();
        while let Some(value) = left.pop() {
            match value {
                Value::String(text) => {
                    // Too short a secret is hidden in the answer alone.
                    let _is_long_enough: bool = self.known.add(text);
                }
                Value::Array(list) => left.extend(list),
                Value::Object(map) => left.extend(map.values()),
                _ => {}
            }
        }
    }
}

#[derive(Serialize)]
struct Header<'a> {
    ostler_wire_log: u64,
    codex_version: Option<&'a str>,
    thread: Option<&'a str>,
    started_at: Timestamp,
}

#[derive(Serialize)]
struct TextLine<'a> {
    at_ms: u64,
    from: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_long_bytes: Option<u64>,
}

#[derive(Serialize)]
struct Cut {
    cut: bool,
    at_ms: u64,
    limit_bytes: u64,
}

/// The message stands in the line as it is; only a line end between its tokens becomes a space.
fn json_line(at_ms: u64, from: Side, json: &str) -> Vec<u8> {
    let mut line = format!("{{\"at_ms\":{at_ms},\"from\":\"{}\",\"line\":", from.as_str());
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        line.push_str(&json.replace(['\n', '\r'], " "));
    } else {
        line.push_str(json);
    }
    line.push_str("}\n");
    line.into_bytes()
}

fn written(line: &impl Serialize) -> Vec<u8> {
    // These structs hold text and numbers alone, which can always be written.
    let mut line = serde_json::to_vec(line).unwrap_or_default();
    line.push(b'\n');
    line
}
