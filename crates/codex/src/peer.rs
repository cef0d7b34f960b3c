//! One JSON-RPC conversation with one app-server.
//!
//! What it promises:
//! * Each request ends: with its answer, with an error, at its deadline, or when the connection ends, whichever is first.
//! * At most 64 requests are under way; Codex drops requests, and even its refusals, when it is flooded. A request whose
//!   caller has left still counts for a minute, because Codex may still be at it.
//! * `-32001` (overloaded) is retried with growing, jittered pauses until the request's deadline.
//! * Notifications and server requests come in one queue in the order of the wire. It is bounded in number and in
//!   bytes; when it is full we stop reading and Codex waits. Nothing is ever dropped. So whoever holds [`Events`] keeps
//!   reading while others await answers; a request that times out behind a full queue says so.
//! * What cannot be understood is an [`Event::Oddity`] in that queue and ends nothing.
//! * Writes are made by one task in the order they were asked for, each with a deadline; a write that stalls ends the
//!   connection, because half a message cannot be taken back.
//! * When the connection ends, pending requests and answers learn it at once, also while nobody reads events.
//! * Every future here may be dropped at any point. A request dropped before it was handed to the writer is never written.

mod actor;
mod error;
mod hang_up;
mod matcher;
mod room;
mod writer;

pub use error::{AnswerError, Closed, RequestError, RpcError};

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use hang_up::HangUp;
use matcher::{Answer, Matcher};
use room::Room;

use crate::transport::Transport;
use crate::wire::{Again, Call, Oddity, Outgoing, RequestId};
use crate::wire_log::Tap;

/// JSON-RPC's code for a method that we do not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// Bounds of one connection. The defaults are right for Codex; tests make them small.
#[derive(Debug, Clone)]
pub struct PeerSettings {
    /// Requests under way at once. Codex takes 128 before it refuses, for all its clients together.
    pub requests_in_flight: usize,
    /// Events waiting to be read.
    pub queued_events: usize,
    /// Bytes of events waiting to be read. One message longer than this is let through alone.
    pub queued_bytes: usize,
    /// How long one write may take before the connection is given up. A healthy Codex reads at once; one that is busy
    /// parsing a 30 MB message was seen to need 0.7 s.
    pub write_deadline: Duration,
    /// Records every message of this connection; see [`crate::wire_log`].
    pub tap: Option<Tap>,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            requests_in_flight: 64,
            queued_events: 1024,
            queued_bytes: 8 * 1024 * 1024,
            write_deadline: Duration::from_secs(30),
            tap: None,
        }
    }
}

/// Something Codex said on its own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Notification(Call),
    /// Must be answered with [`Peer::answer`] or [`Peer::refuse`], with this id as it is.
    Request {
        id: RequestId,
        call: Call,
    },
    Oddity(Oddity),
    /// Always the last one.
    Closed(Closed),
}

/// An event, or one that is like the event right before it but for its text.
#[derive(Debug)]
pub(crate) enum Heard {
    New(Event),
    Again(Again),
}

/// The speaking side; cheap to clone, one connection behind all clones.
#[derive(Debug, Clone)]
pub struct Peer {
    commands: mpsc::Sender<Command>,
    slots: Arc<Semaphore>,
    next_id: Arc<AtomicI64>,
    /// Written by the actor once, when the connection ends.
    closed: watch::Receiver<Option<Closed>>,
    /// Written by the actor: whether the event queue is full at this moment.
    stalled: watch::Receiver<bool>,
}

/// The listening side. It owns the connection: dropping it ends the connection.
#[derive(Debug)]
pub struct Events {
    queue: mpsc::Receiver<Queued>,
    /// What was taken from the queue last, as far as it is not read.
    current: std::vec::IntoIter<Heard>,
    share: Option<OwnedSemaphorePermit>,
    cancel: CancellationToken,
    actor: Option<JoinHandle<()>>,
}

/// What callers ask the actor to do.
#[derive(Debug)]
pub(crate) enum Command {
    Request { id: i64, message: Bytes, reply: oneshot::Sender<Answer>, place: OwnedSemaphorePermit },
    Say { message: Bytes, written: oneshot::Sender<()>, answers: Option<RequestId> },
}

/// Events that came together, with the share of the bounds that they hold until the last of them is read.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) events: Vec<Heard>,
    pub(crate) share: Option<OwnedSemaphorePermit>,
}

/// Starts the conversation. The app-server expects `initialize` first.
pub fn open(transport: impl Transport, settings: &PeerSettings) -> (Peer, Events) {
    let hang_up = HangUp::new(transport.hang_up());
    let (frames, sink) = transport.split();
    let (commands, command_queue) = mpsc::channel(settings.requests_in_flight.max(1));
    let (events, queue) = mpsc::channel(settings.queued_events.max(1));
    let (closed_sender, closed) = watch::channel(None);
    let (stalled_sender, stalled) = watch::channel(false);
    let cancel = CancellationToken::new();
    let actor = actor::Actor {
        commands: command_queue,
        events,
        room: Room::new(settings.queued_events.max(1), settings.queued_bytes),
        matcher: Matcher::new(),
        closed: closed_sender,
        stalled: stalled_sender,
        cancel: cancel.clone(),
        write_deadline: settings.write_deadline,
        tap: settings.tap.clone(),
        pattern: None,
    };
    let peer = Peer {
        commands,
        slots: Arc::new(Semaphore::new(settings.requests_in_flight.max(1))),
        next_id: Arc::new(AtomicI64::new(1)),
        closed,
        stalled,
    };
    let actor = tokio::spawn(actor.run(frames, sink, hang_up));
    let current = Vec::new().into_iter();
    (peer, Events { queue, current, share: None, cancel, actor: Some(actor) })
}

impl Peer {
    /// Sends a request and waits for its answer, as JSON text, for at most `timeout` in all: waiting for a free place,
    /// pauses after an overload and the answer together.
    pub async fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        timeout: Duration,
    ) -> Result<Box<RawValue>, RequestError> {
        let params = to_raw(method, params)?;
        let deadline = Instant::now() + timeout;
        // Whether Codex may have seen it decides if the caller may send it again without looking.
        let mut may_have_arrived = false;
        match tokio::time::timeout_at(
            deadline,
            self.try_until_taken(method, &params, &mut may_have_arrived),
        )
        .await
        {
            Ok(outcome) => outcome,
            Err(_) => Err(RequestError::TimedOut {
                method: method.to_owned(),
                timeout,
                may_have_arrived,
                events_unread: *self.stalled.borrow(),
            }),
        }
    }

    /// Answers a server request. Returns when the answer is written.
    pub async fn answer(&self, id: &RequestId, result: &impl Serialize) -> Result<(), AnswerError> {
        #[derive(Serialize)]
        struct Wire<'a, T> {
            id: &'a RequestId,
            result: &'a T,
        }
        self.say(&Wire { id, result }, Some(id.clone())).await
    }

    /// Answers a server request with an error, as JSON-RPC asks for methods that we do not know.
    pub async fn refuse(
        &self,
        id: &RequestId,
        code: i64,
        message: &str,
    ) -> Result<(), AnswerError> {
        let message = refusal(id, code, message).map_err(AnswerError::NotJson)?;
        self.say_bytes(message, Some(id.clone())).await
    }

    /// Answers a server request that we have no handler for, so that its turn can go on.
    pub async fn refuse_unknown(&self, id: &RequestId, method: &str) -> Result<(), AnswerError> {
        let message = format!("this client does not handle {method}");
        self.refuse(id, METHOD_NOT_FOUND, &message).await
    }

    /// Sends a notification. Returns when it is written.
    pub async fn notify(&self, method: &str) -> Result<(), AnswerError> {
        #[derive(Serialize)]
        struct Wire<'a> {
            method: &'a str,
        }
        self.say(&Wire { method }, None).await
    }

    /// Why the connection ended, if it has.
    pub fn closed(&self) -> Option<Closed> {
        self.closed.borrow().clone()
    }

    async fn try_until_taken(
        &self,
        method: &str,
        params: &RawValue,
        may_have_arrived: &mut bool,
    ) -> Result<Box<RawValue>, RequestError> {
        // 50 ms lets a burst of 128 drain on a loaded machine; beyond 2 s waiting longer gains nothing.
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(50))
            .with_max_delay(Duration::from_secs(2))
            .with_jitter()
            .without_max_times()
            .build();
        loop {
            match self.try_once(method, params, may_have_arrived).await {
                Err(RequestError::Rpc(error)) if error.is_overload() => {
                    // A refusal at the door: Codex has not looked at the request.
                    *may_have_arrived = false;
                    let pause = pauses.next().unwrap_or(Duration::from_secs(2));
                    tracing::debug!(
                        method,
                        pause_ms = pause.as_millis(),
                        "app-server is overloaded"
                    );
                    tokio::time::sleep(pause).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn try_once(
        &self,
        method: &str,
        params: &RawValue,
        may_have_arrived: &mut bool,
    ) -> Result<Box<RawValue>, RequestError> {
        #[derive(Serialize)]
        struct Wire<'a> {
            id: i64,
            method: &'a str,
            params: &'a RawValue,
        }
        let gone = |reason, may_have_arrived| RequestError::Closed { reason, may_have_arrived };
        let place = self.slots.clone().acquire_owned().await;
        let Ok(place) = place else { return Err(gone(Closed::ByUs, false)) };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let message = to_message(method, &Wire { id, method, params })?;
        let (reply, answer) = oneshot::channel();
        let Ok(room) = self.commands.reserve().await else {
            return Err(gone(self.until_closed().await, false));
        };
        *may_have_arrived = true;
        room.send(Command::Request { id, message, reply, place });
        // The answer first: one that came with the last bytes of a connection still counts.
        let answer = tokio::select! {
            biased;
            Ok(answer) = answer => answer,
            reason = self.until_closed() => return Err(gone(reason, true)),
        };
        match answer {
            Answer::Result(result) => serde_json::from_slice(&result)
                .map_err(|error| RequestError::Unreadable { method: method.to_owned(), error }),
            Answer::Error(error) => Err(RequestError::Rpc(error)),
            Answer::TooLong { bytes } => {
                Err(RequestError::AnswerTooLong { method: method.to_owned(), bytes })
            }
        }
    }

    /// Waits until the connection has ended, and says why.
    async fn until_closed(&self) -> Closed {
        let mut closed = self.closed.clone();
        match closed.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or(Closed::ByUs),
            // The actor is gone without a word: it was ended with its runtime.
            Err(_) => Closed::ByUs,
        }
    }

    async fn say(
        &self,
        message: &impl Serialize,
        answers: Option<RequestId>,
    ) -> Result<(), AnswerError> {
        let message = serde_json::to_vec(message).map_err(AnswerError::NotJson)?;
        self.say_bytes(message.into(), answers).await
    }

    async fn say_bytes(
        &self,
        message: Bytes,
        answers: Option<RequestId>,
    ) -> Result<(), AnswerError> {
        let (written, done) = oneshot::channel();
        let Ok(room) = self.commands.reserve().await else {
            return Err(AnswerError::Closed(self.until_closed().await));
        };
        room.send(Command::Say { message, written, answers });
        tokio::select! {
            biased;
            Ok(()) = done => Ok(()),
            reason = self.until_closed() => Err(AnswerError::Closed(reason)),
        }
    }
}

impl Events {
    /// The next event; `None` after [`Event::Closed`]. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<Event> {
        self.next_heard().await.map(Event::from)
    }

    /// The next event if it is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.try_next_heard().map(Event::from)
    }

    /// Like `next`, for whoever adds the pieces of a text together.
    pub(crate) async fn next_heard(&mut self) -> Option<Heard> {
        if let Some(heard) = self.pop() {
            return Some(heard);
        }
        let queued = self.queue.recv().await?;
        self.take_up(queued);
        self.pop()
    }

    pub(crate) fn try_next_heard(&mut self) -> Option<Heard> {
        if let Some(heard) = self.pop() {
            return Some(heard);
        }
        let queued = self.queue.try_recv().ok()?;
        self.take_up(queued);
        self.pop()
    }

    fn take_up(&mut self, queued: Queued) {
        (self.current, self.share) = (queued.events.into_iter(), queued.share);
    }

    fn pop(&mut self) -> Option<Heard> {
        let heard = self.current.next();
        if self.current.as_slice().is_empty() {
            self.share = None;
        }
        heard
    }

    /// Says goodbye and waits until the connection's tasks have ended.
    pub async fn close(mut self) {
        self.cancel.cancel();
        // Nobody reads any more: without this the actor could wait for room in the queue.
        self.queue.close();
        if let Some(actor) = self.actor.take()
            && let Err(error) = actor.await
        {
            tracing::error!(%error, "the connection's task failed");
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl From<Heard> for Event {
    fn from(heard: Heard) -> Self {
        match heard {
            Heard::New(event) => event,
            Heard::Again(again) => again.read().map_or_else(Self::Oddity, Self::Notification),
        }
    }
}

impl Command {
    /// What to write, unless the caller has gone: then it must not be written at all.
    pub(crate) fn is_abandoned(&self) -> bool {
        match self {
            Self::Request { reply, .. } => reply.is_closed(),
            // An answer counts as given once it was handed over; a caller that left does not take it back.
            Self::Say { .. } => false,
        }
    }
}

/// What the writer task takes: bytes, and whom to tell when they are out.
pub(crate) type Write = (Outgoing, Option<oneshot::Sender<()>>);

/// The bytes that refuse a server request.
pub(crate) fn refusal(
    id: &RequestId,
    code: i64,
    message: &str,
) -> Result<Bytes, serde_json::Error> {
    #[derive(Serialize)]
    struct Wire<'a> {
        id: &'a RequestId,
        error: ErrorWire<'a>,
    }
    #[derive(Serialize)]
    struct ErrorWire<'a> {
        code: i64,
        message: &'a str,
    }
    serde_json::to_vec(&Wire { id, error: ErrorWire { code, message } }).map(Bytes::from)
}

fn to_raw(method: &str, params: &impl Serialize) -> Result<Box<RawValue>, RequestError> {
    serde_json::value::to_raw_value(params)
        .map_err(|error| RequestError::NotJson { method: method.to_owned(), error })
}

fn to_message(method: &str, message: &impl Serialize) -> Result<Bytes, RequestError> {
    serde_json::to_vec(message)
        .map(Bytes::from)
        .map_err(|error| RequestError::NotJson { method: method.to_owned(), error })
}
