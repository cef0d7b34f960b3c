//! Where a connection hands over what it hears and says.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Messages that wait for the log's thread, in number and in bytes. As many as events may wait for their reader.
const QUEUED_MESSAGES: usize = 1024;
const QUEUED_BYTES: usize = 8 * 1024 * 1024;

/// How long a conversation waits for a log whose disk does not answer, once. A disk that spins up takes some seconds.
const STALL_DEADLINE: Duration = Duration::from_secs(5);

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Codex,
    Us,
}

/// Given to one connection with [`crate::peer::PeerSettings`]; cheap to clone.
///
/// When the log cannot keep up, the conversation waits for it: an incident log with holes is worthless. When the log
/// has ended, be it by a failure, nothing is handed over any more and nothing waits.
#[derive(Clone)]
pub struct Tap {
    queue: mpsc::Sender<Input>,
    budget: Arc<Semaphore>,
    outcome: Arc<Outcome>,
}

/// Why a log ended before its connection did.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireLogFailure {
    #[error("the wire log ended: {path}: {reason}")]
    File { path: String, reason: String },
    #[error("the wire log ended: its disk took nothing for {} s", STALL_DEADLINE.as_secs())]
    Stalled,
    #[error("the wire log ended: its thread failed")]
    Panicked,
}

/// How the log fares, seen from both sides of the queue.
#[derive(Debug, Default)]
pub(crate) struct Outcome(OnceLock<WireLogFailure>);

/// What the log's thread is given, in order.
pub(crate) enum Input {
    Message { at: Instant, from: Side, body: Body, share: Option<OwnedSemaphorePermit> },
    Adopt { child: String, parent: String },
    Flush(oneshot::Sender<()>),
    Close,
}

pub(crate) enum Body {
    Message(Bytes),
    /// Not read because it was too long: how long, and how it began.
    TooLong {
        bytes: u64,
        head: Bytes,
    },
}

impl Side {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Us => "us",
        }
    }
}

impl Outcome {
    pub(crate) fn failure(&self) -> Option<&WireLogFailure> {
        self.0.get()
    }

    /// The first failure counts and is told once.
    pub(crate) fn fail(&self, failure: WireLogFailure) {
        if self.0.set(failure).is_ok()
            && let Some(failure) = self.0.get()
        {
            tracing::warn!(%failure, "no more messages are recorded; the conversation goes on");
        }
    }
}

pub(crate) fn tap() -> (Tap, mpsc::Receiver<Input>) {
    let (sender, queue) = mpsc::channel(QUEUED_MESSAGES);
    let budget = Arc::new(Semaphore::new(QUEUED_BYTES));
    (Tap { queue: sender, budget, outcome: Arc::default() }, queue)
}

impl Tap {
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        &self.outcome
    }

    /// Hands over one message. Returns when the queue has taken it, or when there is no log any more.
    pub(crate) async fn note(&self, from: Side, body: Body) {
        let size = match &body {
            Body::Message(bytes) => bytes.len(),
            Body::TooLong { head, .. } => head.len(),
        };
        let share = u32::try_from(size.min(QUEUED_BYTES)).unwrap_or(u32::MAX);
        self.hand_over(
            async {
                // Never closed; a message over the whole bound takes all of it and so waits alone.
                let share = self.budget.clone().acquire_many_owned(share).await.ok();
                (share, body)
            },
            |(share, body)| Input::Message { at: Instant::now(), from, body, share },
        )
        .await;
    }

    pub(crate) async fn command(&self, input: Input) {
        self.hand_over(async { input }, |input| input).await;
    }

    async fn hand_over<T>(
        &self,
        prepared: impl Future<Output = T>,
        input: impl FnOnce(T) -> Input,
    ) {
        if self.queue.is_closed() || self.outcome.failure().is_some() {
            return;
        }
        let handed_over = async {
            let prepared = prepared.await;
            if let Ok(place) = self.queue.reserve().await {
                place.send(input(prepared));
            }
        };
        if tokio::time::timeout(STALL_DEADLINE, handed_over).await.is_err() {
            self.outcome.fail(WireLogFailure::Stalled);
        }
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tap").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_log_that_takes_nothing_is_waited_for_once() {
        let (tap, queue) = tap();
        let begin = tokio::time::Instant::now();
        let large = Bytes::from(vec![b'x'; QUEUED_BYTES]);
        tap.note(Side::Codex, Body::Message(large.clone())).await;
        assert_eq!((begin.elapsed(), tap.outcome.failure()), (Duration::ZERO, None));
        for _ in 0..3 {
            tap.note(Side::Us, Body::Message(large.clone())).await;
        }
        assert_eq!(begin.elapsed(), STALL_DEADLINE);
        assert_eq!(tap.outcome.failure(), Some(&WireLogFailure::Stalled));
        drop(queue);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_goes_on_when_the_log_ends() {
        let (tap, queue) = tap();
        let large = Bytes::from(vec![b'x'; QUEUED_BYTES]);
        tap.note(Side::Codex, Body::Message(large.clone())).await;
        let begin = tokio::time::Instant::now();
        let waits = tap.note(Side::Us, Body::Message(large));
        let ends = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(queue);
        };
        tokio::join!(waits, ends);
        assert_eq!((begin.elapsed(), tap.outcome.failure()), (Duration::from_secs(1), None));
    }
}
