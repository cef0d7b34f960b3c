//! The one task that writes.

use std::io;
use std::time::Duration;

use futures_util::{Sink, SinkExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Write;
use super::error::Closed;
use crate::wire::Outgoing;
use crate::wire_log::{Body, Side, Tap};

/// A flush is made at the latest after this much, so that no answer waits for its proof behind a long row of others.
const BATCH_BYTES: usize = 64 * 1024;

/// Writes what the queue holds, in order, until the queue closes. Short messages that wait together go out in one
/// flush; whoever waits for a message is told after that flush. Each step has the deadline for itself: a Codex that
/// reads slowly but reads is not given up.
pub(crate) async fn write_all(
    mut sink: impl Sink<Outgoing, Error = io::Error> + Unpin,
    mut queue: mpsc::Receiver<Write>,
    deadline: Duration,
    tap: Option<Tap>,
) -> Result<(), Closed> {
    let mut written = Vec::new();
    while let Some(first) = queue.recv().await {
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some((item, waiter)) = next {
            bytes += size_of(&item);
            // Before it can be answered, so that no answer is recorded ahead of its request.
            if let (Some(tap), Outgoing::Message(message)) = (&tap, &item) {
                tap.note(Side::Us, Body::Message(message.clone())).await;
            }
            within(deadline, sink.feed(item)).await?;
            written.extend(waiter);
            next = if bytes < BATCH_BYTES { queue.try_recv().ok() } else { None };
        }
        within(deadline, sink.flush()).await?;
        for waiter in written.drain(..) {
            // A caller that no longer waits for the proof does not need it.
            let _told: Result<(), ()> = waiter.send(());
        }
    }
    within(deadline, sink.close()).await
}

async fn within(
    deadline: Duration,
    step: impl Future<Output = io::Result<()>>,
) -> Result<(), Closed> {
    match timeout(deadline, step).await {
        Ok(outcome) => outcome.map_err(|error| Closed::WriteFailed(error.to_string())),
        Err(_) => Err(Closed::WriteStalled(deadline)),
    }
}

fn size_of(item: &Outgoing) -> usize {
    match item {
        Outgoing::Message(bytes) | Outgoing::Pong(bytes) => bytes.len(),
        Outgoing::Goodbye => 0,
    }
}
