//! The one task that writes.

use std::io;
use std::time::Duration;

use futures_util::{Sink, SinkExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Write;
use super::error::Closed;
use crate::wire::Outgoing;

/// Writes what the queue holds, in order, until the queue closes. Messages that wait together go out in one flush;
/// whoever waits for a message is told after that flush.
pub(crate) async fn write_all(
    mut sink: impl Sink<Outgoing, Error = io::Error> + Unpin,
    mut queue: mpsc::Receiver<Write>,
    deadline: Duration,
) -> Result<(), Closed> {
    let failed = |error: io::Error| Closed::WriteFailed(error.to_string());
    let mut written = Vec::new();
    while let Some(first) = queue.recv().await {
        let batch = async {
            let mut next = Some(first);
            while let Some((item, waiter)) = next {
                sink.feed(item).await?;
                written.extend(waiter);
                next = queue.try_recv().ok();
            }
            sink.flush().await
        };
        match timeout(deadline, batch).await {
            Ok(outcome) => outcome.map_err(failed)?,
            Err(_) => return Err(Closed::WriteStalled(deadline)),
        }
        for waiter in written.drain(..) {
            // A caller that no longer waits for the proof does not need it.
            let _told: Result<(), ()> = waiter.send(());
        }
    }
    match timeout(deadline, sink.close()).await {
        Ok(outcome) => outcome.map_err(failed),
        Err(_) => Err(Closed::WriteStalled(deadline)),
    }
}
