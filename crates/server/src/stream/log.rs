//! The logs of all tasks as one: what was written, then what comes, each event with its place among all.
//!
//! Each viewer reads for itself, as fast as it is read from; that something was written is all it is told.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::{Stream, stream};
use ostler_engine::{Engine, PlacedEvent, Seqs};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::frame::Frame;
use super::relay::{PAGE, PAGE_BYTES};
use crate::api::BoardLine;
use crate::problem::Problem;

struct Reading {
    engine: Engine,
    written: broadcast::Receiver<Arc<[Seqs]>>,
    /// The place of the last event that was told.
    after: u64,
    ready: VecDeque<Frame>,
    has_more: bool,
}

/// All events behind this place. Listens first, then looks: what is written in between is heard.
pub(crate) async fn all_logs(
    engine: &Engine,
    after: u64,
) -> Result<impl Stream<Item = Frame> + use<>, Problem> {
    let written = engine.store().news();
    let last = engine.store().last_place().await?;
    let mut reading =
        Reading { engine: engine.clone(), written, after, ready: VecDeque::new(), has_more: true };
    if after > last {
        // It has read another database than this one.
        let why = "the log is another one; it is told from its beginning".to_owned();
        reading.gap(last + 1, after, why);
        reading.after = 0;
    }
    Ok(stream::unfold(reading, Reading::next))
}

impl Reading {
    async fn next(mut self) -> Option<(Frame, Self)> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some((frame, self));
            }
            if self.has_more {
                self.read().await?;
                continue;
            }
            match self.written.recv().await {
                // Whoever is behind has more to read, and that is all there is to know.
                Ok(_) | Err(RecvError::Lagged(_)) => self.has_more = true,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    async fn read(&mut self) -> Option<()> {
        let page = match self.engine.store().events_of_all(self.after, PAGE, PAGE_BYTES).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "the logs cannot be read on");
                return None;
            }
        };
        self.has_more = !page.is_last;
        for PlacedEvent { place, task, logged } in page.events {
            if place > self.after + 1 {
                let why = "these events went with their tasks".to_owned();
                self.gap(self.after + 1, place - 1, why);
            }
            self.after = place;
            let (seq, at, event) = (logged.seq, logged.at, Box::new(logged.event));
            let line = BoardLine::Event { place, task, seq, at, event };
            self.ready.push_back(Frame::at(place, "event", &line));
        }
        Some(())
    }

    fn gap(&mut self, from: u64, to: u64, why: String) {
        self.ready.push_back(Frame::new("gap", &BoardLine::Gap { from, to, why }));
    }
}
