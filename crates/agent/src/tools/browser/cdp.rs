//! The line to Chromium: JSON messages with a zero byte behind each, over one socket.
//!
//! One task reads. It hands answers to who waits for them and events to one function, so nothing piles up: what cannot be told at
//! once is kept by that function, within its own bounds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// The longest is a picture of a page; one of 8 megapixels has some 20 MB.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Commands on their way; whoever has more waits.
const QUEUE: usize = 64;

const PIECE: usize = 64 * 1024;

/// Why Chromium did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CdpError {
    #[error("the browser has ended; `browser_navigate` starts another")]
    Gone,
    #[error("the page did not answer within {} s", .0.as_secs())]
    TooSlow(Duration),
    #[error("{0}")]
    Refused(String),
}

/// What Chromium tells by itself.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) method: String,
    /// Whose it is; none for the browser's own.
    pub(super) session: Option<String>,
    pub(super) params: Value,
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Result<Value, CdpError>>>>>;

/// Sends commands. Many may at once.
#[derive(Clone)]
pub(super) struct Line {
    next: Arc<AtomicU64>,
    waiting: Waiting,
    outgoing: mpsc::Sender<Vec<u8>>,
    timeout: Duration,
}

/// The tasks of a line; with them it ends.
pub(super) struct LineTasks {
    /// Ends when Chromium does.
    pub(super) reading: AbortOnDropHandle<()>,
    _writing: AbortOnDropHandle<()>,
}

impl Line {
    /// It closes at `ended`, and Chromium ends when it does.
    pub(super) fn open(
        stream: UnixStream,
        timeout: Duration,
        ended: &CancellationToken,
        hear: impl Fn(&Line, Event) + Send + 'static,
    ) -> (Self, LineTasks) {
        let (reader, writer) = stream.into_split();
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let line = Self { next: Arc::default(), waiting: Waiting::default(), outgoing, timeout };
        let writing = ended.clone().run_until_cancelled_owned(write(writer, queue));
        let writing = AbortOnDropHandle::new(tokio::spawn(async {
            writing.await;
        }));
        let reading = Reading { line: line.clone(), hear, ended: ended.clone() };
        let reading = tokio::spawn(reading.run(reader));
        (line, LineTasks { reading: AbortOnDropHandle::new(reading), _writing: writing })
    }

    /// A command to the browser itself.
    pub(super) async fn browser(&self, method: &str, params: Value) -> Result<Value, CdpError> {
        self.call(None, method, params, self.timeout).await
    }

    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        timeout: Duration,
    ) -> Result<Value, CdpError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        self.lock().insert(id, answer);
        let forget = Forget { line: self, id };
        let sent = self.outgoing.send(message(id, session, method, &params)).await;
        sent.map_err(|_| CdpError::Gone)?;
        let answer = tokio::time::timeout(timeout, answered).await;
        drop(forget);
        answer.map_err(|_| CdpError::TooSlow(timeout))?.map_err(|_| CdpError::Gone)?
    }

    /// A command whose answer nobody needs. One too many is left out: the page that wants more than that has lost its right to it.
    pub(super) fn tell(&self, session: Option<&str>, method: &str, params: &Value) {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        if self.outgoing.try_send(message(id, session, method, params)).is_err() {
            tracing::debug!(method, "a command to the browser was left out");
        }
    }

    fn lock(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, CdpError>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who has stopped waiting is not kept.
struct Forget<'l> {
    line: &'l Line,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.line.lock().remove(&self.id);
    }
}

fn message(id: u64, session: Option<&str>, method: &str, params: &Value) -> Vec<u8> {
    let mut message = json!({ "id": id, "method": method, "params": params });
    if let (Some(session), Some(fields)) = (session, message.as_object_mut()) {
        fields.insert("sessionId".to_owned(), json!(session));
    }
    let mut bytes = message.to_string().into_bytes();
    bytes.push(0);
    bytes
}

async fn write(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(bytes) = queue.recv().await {
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

struct Reading<H> {
    line: Line,
    hear: H,
    ended: CancellationToken,
}

impl<H: Fn(&Line, Event)> Reading<H> {
    async fn run(self, mut reader: OwnedReadHalf) {
        let mut kept: Vec<u8> = Vec::new();
        let mut piece = vec![0; PIECE];
        while let Some(Ok(count @ 1..)) =
            self.ended.run_until_cancelled(reader.read(&mut piece)).await
        {
            let mut rest = piece.get(..count).unwrap_or_default();
            while let Some(end) = memchr::memchr(0, rest) {
                let (message, later) = rest.split_at(end);
                kept.extend_from_slice(message);
                self.take(&kept);
                kept.clear();
                rest = later.get(1..).unwrap_or_default();
            }
            kept.extend_from_slice(rest);
            if kept.len() > MOST_BYTES {
                tracing::warn!(
                    "the browser said more than {MOST_BYTES} bytes at once and is ended"
                );
                break;
            }
        }
        // Dropped, they tell who waits that nobody answers any more.
        self.line.lock().clear();
    }

    fn take(&self, bytes: &[u8]) {
        let Ok(mut message) = serde_json::from_slice::<Value>(bytes) else { return };
        let mut part = |name: &str| message.get_mut(name).map(Value::take);
        if let Some(id) = part("id").and_then(|id| id.as_u64()) {
            let answer = match part("error") {
                Some(error) => Err(CdpError::Refused(refusal(&error))),
                None => Ok(part("result").unwrap_or_default()),
            };
            if let Some(waiting) = self.line.lock().remove(&id) {
                // Who waited may have gone.
                drop(waiting.send(answer));
            }
            return;
        }
        let text = |value: Option<Value>| value.and_then(|it| it.as_str().map(str::to_owned));
        let Some(method) = text(part("method")) else { return };
        let session = text(part("sessionId"));
        let params = part("params").unwrap_or_default();
        (self.hear)(&self.line, Event { method, session, params });
    }
}

fn refusal(error: &Value) -> String {
    let text = error.get("message").and_then(Value::as_str).unwrap_or("it was refused");
    format!("the browser says: {text}")
}
