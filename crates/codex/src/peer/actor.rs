//! The one loop that owns a connection: select, step, effects.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use futures_util::{FutureExt, Sink, Stream, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::error::Closed;
use super::hang_up::HangUp;
use super::matcher::{Answer, Matcher};
use super::room::Room;
use super::{Command, Event, Heard, Queued, Write, refusal, writer};
use crate::wire::{
    Frame, FrameError, Message, Oddity, OddityKind, Outgoing, Pattern, glimpse, read_message,
};
use crate::wire_log::{Body, Side, Tap};

/// Writes that wait for the writer task. Callers wait behind it, within their own deadlines.
const QUEUED_WRITES: usize = 64;

/// How often places of requests that nobody waits for are looked through, and only while requests are under way.
const PRUNE_EVERY: Duration = Duration::from_secs(5);

/// Frames that are taken before anything else is looked at. They come in bursts, and to look at everything that could
/// happen costs more than a frame does; this many take a fraction of a millisecond.
const TAKEN_AT_ONCE: usize = 256;

/// JSON-RPC's code for a request that cannot be handled as it is.
const INVALID_REQUEST: i64 = -32600;

pub(crate) struct Actor {
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) events: mpsc::Sender<Queued>,
    /// For events that wait to be read.
    pub(crate) room: Room,
    pub(crate) matcher: Matcher,
    pub(crate) closed: watch::Sender<Option<Closed>>,
    pub(crate) stalled: watch::Sender<bool>,
    pub(crate) cancel: CancellationToken,
    pub(crate) write_deadline: Duration,
    pub(crate) tap: Option<Tap>,
    /// Of the last event, if another may be like it.
    pub(crate) pattern: Option<Pattern>,
}

/// Everything that can wake the loop.
enum Input {
    Command(Command),
    Frame(Option<Result<Frame, FrameError>>),
    /// The event that waited has found room in the queue.
    Delivered,
    /// The other side is gone while we do not read.
    HungUp,
    Prune,
    WriterEnded(Closed),
    Cancelled,
}

/// Events with their sizes that wait for room: those that came together, and of those without room at most two, a message
/// and the note that something is odd about it. After a hang-up also what was still on its way, which is no more than a
/// socket's buffer holds.
type Waiting = VecDeque<(Heard, usize)>;

impl Actor {
    pub(crate) async fn run(
        mut self,
        mut frames: impl Stream<Item = Result<Frame, FrameError>> + Unpin,
        sink: impl Sink<Outgoing, Error = io::Error> + Send + Unpin + 'static,
        mut hang_up: HangUp,
    ) {
        let (writes, write_queue) = mpsc::channel(QUEUED_WRITES);
        let mut writer = tokio::spawn(writer::write_all(
            sink,
            write_queue,
            self.write_deadline,
            self.tap.clone(),
        ));
        let mut waiting = Waiting::new();
        let mut hung_up = false;
        let mut prune_at = Instant::now() + PRUNE_EVERY;
        let reason = loop {
            let input = tokio::select! {
                () = self.cancel.cancelled() => Input::Cancelled,
                ended = &mut writer => Input::WriterEnded(match ended {
                    Ok(Ok(())) => Closed::ByUs,
                    Ok(Err(closed)) => closed,
                    Err(error) => Closed::WriteFailed(error.to_string()),
                }),
                // A command is taken only when the writer has room for it; both waits may be dropped without loss.
                Some(command) = async {
                    let _room = writes.reserve().await.ok()?;
                    self.commands.recv().await
                } => Input::Command(command),
                () = deliver(&self.room, &self.events, &mut waiting),
                    if !waiting.is_empty() => Input::Delivered,
                // Reading stops while an event waits: this is the back-pressure that Codex feels. Once Codex is gone
                // there is nobody to hold back, and pending requests must learn of it.
                frame = frames.next(), if waiting.is_empty() || hung_up => Input::Frame(frame),
                () = hang_up.seen(), if !waiting.is_empty() && !hung_up => Input::HungUp,
                () = sleep_until(prune_at), if self.matcher.is_waiting() => Input::Prune,
            };
            match input {
                Input::Command(command) => self.command(command, &writes),
                Input::Frame(frame) => {
                    let taken = self.take(frame, &mut frames, &writes, &mut waiting).await;
                    if let Some(closed) = taken {
                        break closed;
                    }
                }
                Input::Delivered => {
                    self.stalled.send_replace(false);
                }
                Input::HungUp => hung_up = true,
                Input::Prune => {
                    self.matcher.prune();
                    prune_at = Instant::now() + PRUNE_EVERY;
                }
                Input::WriterEnded(closed) => break closed,
                Input::Cancelled => break Closed::ByUs,
            }
        };
        self.end(reason, waiting, writes, writer).await;
    }

    /// Tells everybody that it is over: callers at once, the reader of the events behind the last of them.
    async fn end(
        self,
        reason: Closed,
        mut waiting: Waiting,
        writes: mpsc::Sender<Write>,
        mut writer: JoinHandle<Result<(), Closed>>,
    ) {
        self.closed.send_replace(Some(reason.clone()));
        drop(self.commands);
        drop(self.matcher);
        if reason == Closed::ByUs {
            // The writer has room or is stuck; a goodbye is a courtesy either way.
            drop(writes.try_send((Outgoing::Goodbye, None)));
        }
        drop(writes);
        let grace = self.write_deadline.min(Duration::from_secs(2));
        if !writer.is_finished() && tokio::time::timeout(grace, &mut writer).await.is_err() {
            writer.abort();
        }
        waiting.push_back((Heard::New(Event::Closed(reason)), 0));
        while !waiting.is_empty() && !self.events.is_closed() {
            tokio::select! {
                () = self.events.closed() => break,
                () = deliver(&self.room, &self.events, &mut waiting) => {}
            }
        }
    }

    fn command(&mut self, command: Command, writes: &mpsc::Sender<Write>) {
        if command.is_abandoned() {
            return;
        }
        let write = match command {
            Command::Request { id, message, reply, place } => {
                self.matcher.sent(id, reply, place);
                (Outgoing::Message(message), None)
            }
            Command::Say { message, written, answers } => {
                if let Some(id) = &answers {
                    self.matcher.answering(id);
                }
                (Outgoing::Message(message), Some(written))
            }
        };
        // Room was there when the command was taken, and this loop is the only one that fills it. If the writer has
        // ended meanwhile, the waiter is dropped with the write and the next turn of the loop ends the connection.
        drop(writes.try_send(write));
    }

    /// Takes a frame, and those that came with it. Gives the reason when one ends the connection.
    async fn take(
        &mut self,
        mut frame: Option<Result<Frame, FrameError>>,
        frames: &mut (impl Stream<Item = Result<Frame, FrameError>> + Unpin),
        writes: &mpsc::Sender<Write>,
        waiting: &mut Waiting,
    ) -> Option<Closed> {
        let (mut left, mut share, mut counted) = (TAKEN_AT_ONCE, 0_usize, 0);
        let ended = loop {
            // Before anybody can act on it, so that no answer is recorded ahead of its question.
            if let Some(tap) = &self.tap {
                hear(tap, &frame).await;
            }
            if let Some(closed) = self.frame(frame, writes, waiting) {
                break Some(closed);
            }
            for (_, size) in waiting.iter().skip(counted) {
                share = share.saturating_add(self.room.share_of(*size));
            }
            counted = waiting.len();
            left -= 1;
            if left == 0 || !self.room.has(share) {
                break None;
            }
            match frames.next().now_or_never() {
                Some(next) => frame = next,
                None => break None,
            }
        };
        self.deliver_at_once(waiting);
        ended
    }

    /// Sorts one frame. Gives the reason when it ends the connection.
    fn frame(
        &mut self,
        frame: Option<Result<Frame, FrameError>>,
        writes: &mpsc::Sender<Write>,
        waiting: &mut Waiting,
    ) -> Option<Closed> {
        let line = match frame {
            None => return Some(Closed::Eof),
            Some(Err(error)) => return Some(Closed::ReadFailed(error.to_string())),
            Some(Ok(Frame::Goodbye(reason))) => return Some(Closed::Goodbye(reason)),
            Some(Ok(Frame::Ping(payload))) => {
                // Dropped when the writer is full: it proves on its own that we are alive.
                drop(writes.try_send((Outgoing::Pong(payload), None)));
                return None;
            }
            Some(Ok(Frame::TooLong { bytes, head })) => {
                self.too_long(bytes, &head, writes);
                odd(waiting, Oddity { kind: OddityKind::TooLong, bytes, head });
                return None;
            }
            Some(Ok(Frame::Message(line))) => line,
        };
        let size = line.len();
        if let Some(again) = self.pattern.as_ref().and_then(|pattern| pattern.again(&line)) {
            waiting.push_back((Heard::Again(again), size));
            return None;
        }
        match read_message(&line) {
            Err(oddity) => odd(waiting, oddity),
            Ok(Message::Reply(reply)) => {
                if let Err(kind) = self.matcher.answered(reply) {
                    odd(waiting, Oddity::of(kind, &line));
                }
            }
            Ok(Message::Notification(call)) => {
                self.pattern = Pattern::of(&line);
                waiting.push_back((Heard::New(Event::Notification(call)), size));
            }
            Ok(Message::Request { id, call }) => {
                if !self.matcher.asked(&id) {
                    odd(waiting, Oddity::of(OddityKind::RepeatedRequest, &line));
                }
                // What comes next is not like it, nor like what was before it.
                self.pattern = None;
                waiting.push_back((Heard::New(Event::Request { id, call }), size));
            }
        }
        None
    }

    /// Somebody waits at the other end of a message that was skipped: our caller for its answer, or Codex for ours.
    fn too_long(&mut self, bytes: u64, head: &[u8], writes: &mpsc::Sender<Write>) {
        let glimpse = glimpse(head);
        match (glimpse.id, glimpse.method) {
            (Some(id), None) => {
                // An answer that nobody waits for needs no second note beside the one on its length.
                let _nobody: Result<(), OddityKind> =
                    self.matcher.settle(&id, Answer::TooLong { bytes });
            }
            (Some(id), Some(method)) => {
                let text = format!("{method} has {bytes} bytes, more than this client reads");
                if let Ok(message) = refusal(&id, INVALID_REQUEST, &text) {
                    // A writer that is full has a Codex that does not read; the request would not get through to it.
                    drop(writes.try_send((Outgoing::Message(message), None)));
                }
            }
            (None, _) => {}
        }
    }

    /// The usual case: there is room for all of them. What finds none stays in `waiting`, and the loop stops reading.
    fn deliver_at_once(&mut self, waiting: &mut Waiting) {
        let (mut share, mut fitting) = (0_usize, 0);
        for (_, size) in waiting.iter() {
            let more = share.saturating_add(self.room.share_of(*size));
            if !self.room.has(more) {
                break;
            }
            (share, fitting) = (more, fitting + 1);
        }
        if fitting > 0
            && let (Some(share), Ok(place)) = (self.room.take(share), self.events.try_reserve())
        {
            let events = waiting.drain(..fitting).map(|(event, _)| event).collect();
            place.send(Queued { events, share: Some(share) });
        }
        if !waiting.is_empty() {
            self.stalled.send_replace(true);
        }
    }
}

/// Records what came. Control frames of the transport are no messages.
async fn hear(tap: &Tap, frame: &Option<Result<Frame, FrameError>>) {
    let body = match frame {
        Some(Ok(Frame::Message(line))) => Body::Message(line.clone()),
        Some(Ok(Frame::TooLong { bytes, head })) => {
            Body::TooLong { bytes: *bytes, head: head.clone() }
        }
        _ => return,
    };
    tap.note(Side::Codex, body).await;
}

/// Waits for room and moves all waiting events into the queue. When dropped half-way, what was not moved still waits.
async fn deliver(room: &Room, events: &mpsc::Sender<Queued>, waiting: &mut Waiting) {
    while let Some((_, size)) = waiting.front() {
        let share = room.wait(room.share_of(*size)).await;
        let Ok(place) = events.reserve().await else {
            waiting.clear();
            return;
        };
        if let Some((event, _)) = waiting.pop_front() {
            place.send(Queued { events: vec![event], share });
        }
    }
}

fn odd(waiting: &mut Waiting, oddity: Oddity) {
    // Only what is odd about it: the message itself may hold anything, also a secret.
    tracing::warn!(kind = %oddity.kind, bytes = oddity.bytes, "unusable message from the app-server");
    let size = oddity.head.len();
    waiting.push_back((Heard::New(Event::Oddity(oddity)), size));
}
