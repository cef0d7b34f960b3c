//! The reading half of a socket, on a thread of its own.
//!
//! An event loop wakes up for every write of the other side, also while nobody wants to read. A thread can rest.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};
use tokio::sync::mpsc;
use tokio_util::codec::Decoder;

use super::READ_BYTES;
use super::pace::{Pace, REST};
use crate::wire::{Frame, FrameError, WebSocketDecoder};

/// Reads that wait to be taken: while one is taken the next is made. Then the thread waits, and Codex with it.
const WAITING: usize = 2;

/// It calls little and keeps nothing on its stack.
const STACK_BYTES: usize = 256 * 1024;

/// What one read brought.
type Brought = Vec<Result<Frame, FrameError>>;

/// The frames of a socket. When it is dropped the thread ends.
pub(super) struct Frames {
    reads: mpsc::Receiver<Brought>,
    current: std::vec::IntoIter<Result<Frame, FrameError>>,
    socket: OwnedFd,
}

impl Frames {
    /// `early` is what was read before.
    pub(super) fn read(socket: OwnedFd, early: Bytes) -> Self {
        let (sender, reads) = mpsc::channel(WAITING);
        let failed = sender.clone();
        let started = socket.try_clone().and_then(|socket| {
            let reader = Reader { socket, buffer: BytesMut::from(early), reads: sender };
            let thread = std::thread::Builder::new().name("codex-reader".to_owned());
            thread.stack_size(STACK_BYTES).spawn(move || reader.run())
        });
        if let Err(error) = started {
            // There is room: nothing was sent before.
            drop(failed.try_send(vec![Err(error.into())]));
        }
        Self { reads, current: Vec::new().into_iter(), socket }
    }
}

impl Stream for Frames {
    type Item = Result<Frame, FrameError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(frame) = self.current.next() {
                return Poll::Ready(Some(frame));
            }
            match self.reads.poll_recv(context) {
                Poll::Ready(Some(brought)) => self.current = brought.into_iter(),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // Wakes the thread. If the other side is gone already, so is the thread.
        let _gone = shutdown(&self.socket, Shutdown::Read);
    }
}

struct Reader {
    socket: OwnedFd,
    buffer: BytesMut,
    reads: mpsc::Sender<Brought>,
}

impl Reader {
    /// Until the stream ends, or nobody wants to hear more.
    fn run(mut self) {
        let mut decoder = WebSocketDecoder::default();
        let mut space = vec![0; READ_BYTES];
        let mut pace = Pace::new(Instant::now());
        loop {
            let mut brought = Brought::new();
            let goes_on = self.decode(&mut decoder, &mut brought);
            let frames = brought.len();
            if frames > 0 && self.reads.blocking_send(brought).is_err() || !goes_on {
                return;
            }
            if pace.rests_after(frames, Instant::now()) {
                std::thread::sleep(REST);
            }
            match self.more(&mut space) {
                Ok(0) => return self.end(&mut decoder),
                Ok(length) => {
                    self.buffer.extend_from_slice(space.get(..length).unwrap_or_default());
                }
                // Nobody waits for it if this does not arrive.
                Err(error) => return drop(self.reads.blocking_send(vec![Err(error.into())])),
            }
        }
    }

    /// All frames that are there. False if none can follow.
    fn decode(&mut self, decoder: &mut WebSocketDecoder, brought: &mut Brought) -> bool {
        loop {
            match decoder.decode(&mut self.buffer) {
                Ok(Some(frame)) => brought.push(Ok(frame)),
                Ok(None) => return true,
                Err(error) => {
                    brought.push(Err(error));
                    return false;
                }
            }
        }
    }

    fn more(&self, space: &mut [u8]) -> io::Result<usize> {
        loop {
            // The socket does not block, because its writing half must not.
            match recv(&self.socket, &mut *space, RecvFlags::empty()) {
                Ok((length, _)) => return Ok(length),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let mut waited = [PollFd::new(&self.socket, PollFlags::IN)];
                    match poll(&mut waited, None) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What the last bytes come to.
    fn end(mut self, decoder: &mut WebSocketDecoder) {
        let mut last = Brought::new();
        loop {
            match decoder.decode_eof(&mut self.buffer) {
                Ok(Some(frame)) => last.push(Ok(frame)),
                Ok(None) => break,
                Err(error) => {
                    last.push(Err(error));
                    break;
                }
            }
        }
        // Nobody waits for it if this does not arrive.
        drop(self.reads.blocking_send(last));
    }
}
