//! One answer on its way through one connection.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use hyper::body::Frame;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::fault::Cut;
use crate::player::{Action, Player};
use crate::records::{Outcome, Records};
use crate::script::{KeepAlive, Pace};
use crate::socket::Wire;
use crate::sse;

/// Ends the connection in the middle of an answer; hyper wants an error for that.
#[derive(Debug, thiserror::Error)]
#[error("the script cuts the connection here")]
pub(crate) struct CutShort;

/// Writes the outcome of one request into its record, at the latest when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    records: Arc<Records>,
    stop: CancellationToken,
    number: u64,
    settled: bool,
}

/// An answer being played on a connection.
#[derive(Debug)]
pub(crate) struct Playing {
    pub(crate) player: Player,
    pub(crate) wire: Arc<Wire>,
    pub(crate) ticket: Ticket,
    /// What the record says when all went as the script wants it.
    pub(crate) outcome: Outcome,
    pub(crate) keep_alive: Option<Signs>,
}

/// Signs of life during waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signs {
    every: Duration,
    bytes: &'static [u8],
}

impl Ticket {
    pub(crate) fn new(records: Arc<Records>, stop: CancellationToken, number: u64) -> Self {
        Self { records, stop, number, settled: false }
    }

    pub(crate) fn settle(&mut self, outcome: Outcome) {
        self.settled = true;
        self.records.finish(self.number, outcome);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let outcome = if self.stop.is_cancelled() { Outcome::Stopped } else { Outcome::ClientLeft };
        self.records.finish(self.number, outcome);
    }
}

impl Signs {
    pub(crate) fn of(pace: &Pace) -> Option<Self> {
        (pace.keep_alive_ms > 0).then(|| Self {
            every: Duration::from_millis(pace.keep_alive_ms),
            bytes: match pace.keep_alive {
                KeepAlive::Comment => sse::KEEP_ALIVE_COMMENT,
                KeepAlive::Ping => sse::KEEP_ALIVE_PING,
            },
        })
    }
}

impl Playing {
    /// The body of the response.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Frame<Bytes>, CutShort>> {
        stream::unfold((self, Wait::Over), |(playing, wait)| playing.next(wait))
    }

    async fn next(mut self, mut wait: Wait) -> Option<(Part, (Self, Wait))> {
        loop {
            if let Some(sign) = wait.pass(self.keep_alive).await {
                let frame = Frame::data(Bytes::from_static(sign));
                return Some((Ok(frame), (self, wait)));
            }
            match self.player.next() {
                Some(Action::Send(bytes)) => return Some((Ok(Frame::data(bytes)), (self, wait))),
                Some(Action::Flush) => self.wire.flushed().await,
                Some(Action::Wait(Some(time))) => wait = Wait::Until(Instant::now() + time),
                Some(Action::Wait(None)) => wait = Wait::ForEver,
                Some(Action::Cut(how)) => {
                    cut(&self.wire, how);
                    self.ticket.settle(self.outcome.clone());
                    return Some((Err(CutShort), (self, wait)));
                }
                None => {
                    self.ticket.settle(self.outcome.clone());
                    return None;
                }
            }
        }
    }
}

/// Prepares the end of the connection; it comes when hyper gets its error.
pub(crate) fn cut(wire: &Wire, how: Cut) {
    let Cut::Reset = how else { return };
    if let Err(error) = wire.reset_on_close() {
        tracing::warn!(%error, "the connection will end in order instead of being reset");
    }
}

type Part = Result<Frame<Bytes>, CutShort>;

#[derive(Debug)]
enum Wait {
    Over,
    Until(Instant),
    ForEver,
}

impl Wait {
    /// Returns when the wait is over, or earlier with a sign of life that is due.
    async fn pass(&mut self, signs: Option<Signs>) -> Option<&'static [u8]> {
        let end = match self {
            Self::Over => return None,
            Self::Until(end) => Some(*end),
            Self::ForEver => None,
        };
        let sign = signs.map(|signs| (Instant::now() + signs.every, signs.bytes));
        match (end, sign) {
            (Some(end), Some((due, bytes))) if due < end => {
                sleep_until(due).await;
                Some(bytes)
            }
            (Some(end), _) => {
                sleep_until(end).await;
                *self = Self::Over;
                None
            }
            (None, Some((due, bytes))) => {
                sleep_until(due).await;
                Some(bytes)
            }
            (None, None) => pending().await,
        }
    }
}
