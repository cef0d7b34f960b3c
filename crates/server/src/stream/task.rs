//! The stream of one task for one viewer: how it stands, what is written, what comes. No gap, no repetition.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use futures_util::{Stream, stream};
use ostler_engine::{Engine, Listener, Overheard};
use ostler_model::TaskId;
use ostler_model::task::Partial;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::frame::Frame;
use super::growth::Ended;
use super::relay::{PAGE, PAGE_BYTES, Passed, Relays, written};
use super::shelf::{Shelf, Written, is_large};
use super::viewers::Presence;
use crate::api::Line;
use crate::problem::{Problem, Trouble};
use crate::tasks::detail;

/// What somebody wants to see of a task.
pub(crate) struct Wanted {
    /// The last event that was seen.
    pub(crate) after: u64,
    /// Codex's own lines, too, as they come.
    pub(crate) wire: bool,
    /// Who looks, if others are to know; then they are told who else does.
    pub(crate) presence: Option<Presence>,
    pub(crate) goes_on: GoesOn,
}

/// What is done at the end of what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoesOn {
    Yes,
    No,
}

/// One viewer's place.
pub(crate) struct Told {
    engine: Engine,
    relays: Relays,
    shelf: Arc<Shelf>,
    task: TaskId,
    news: Option<broadcast::Receiver<Passed>>,
    presence: Option<Presence>,
    after: u64,
    wire: Option<Listener>,
    ready: VecDeque<Frame>,
    ended: Ended,
    /// The log may have more than was read.
    has_more: bool,
    /// The text that grows was not told yet.
    lacks_text: bool,
}

#[derive(Serialize)]
struct WireLine<'l> {
    line: &'static str,
    seq: u64,
    json: &'l RawValue,
}

impl Told {
    /// Listens first, then looks: what is written in between is heard.
    pub(crate) async fn begin(
        engine: &Engine,
        relays: &Relays,
        task: &TaskId,
        wanted: Wanted,
    ) -> Result<impl Stream<Item = Frame> + use<>, Problem> {
        let mut told = Self {
            engine: engine.clone(),
            relays: relays.clone(),
            shelf: relays.shelf(task),
            task: task.clone(),
            news: None,
            presence: wanted.presence,
            after: wanted.after,
            wire: None,
            ready: VecDeque::new(),
            ended: Ended::default(),
            has_more: true,
            lacks_text: false,
        };
        let mut grown = None;
        if wanted.goes_on == GoesOn::Yes {
            told.wire = wanted.wire.then(|| engine.overhear(task));
            let joined = relays.join(engine, task).await.ok_or_else(unheard)?;
            told.news = Some(joined.news);
            told.lacks_text = joined.partials.is_none();
            grown = joined.partials;
        }
        let last = told.show_now(grown).await?;
        if told.after > last {
            // It has seen another log than this one.
            let why = "the log is another one; it is told from its beginning".to_owned();
            told.gap(last + 1, wanted.after, why);
            told.after = 0;
        }
        told.show_viewers();
        Ok(stream::unfold(told, Self::next))
    }

    /// How the task stands. Gives back the last event of its log.
    async fn show_now(&mut self, grown: Option<Vec<Partial>>) -> Result<u64, Problem> {
        let shelf = self.shelf.clone();
        let _turn = shelf.turn().await;
        let mut now = detail(&self.engine, self.task.as_str()).await?;
        if self.news.is_some() {
            now.partials = grown.unwrap_or_default();
        }
        now.task = now.task.without_diff();
        let last = now.task.last_seq;
        let mut line = Line::Now(Box::new(now));
        let mut frame = Frame::new("now", &line);
        // Text that grows is another for each who comes: what is large is told without it, and is there once.
        if let (true, true, Line::Now(now)) = (is_large(&frame), self.news.is_some(), &mut line)
            && !std::mem::take(&mut now.partials).is_empty()
        {
            self.lacks_text = true;
            frame = Frame::new("now", &line);
        }
        self.ready.push_back(shelf.now(frame));
        Ok(last)
    }

    async fn next(mut self) -> Option<(Frame, Self)> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some((frame, self));
            }
            if std::mem::take(&mut self.lacks_text) {
                self.rejoin().await?;
                continue;
            }
            if self.has_more {
                self.read().await?;
                continue;
            }
            self.hear().await?;
        }
    }

    async fn hear(&mut self) -> Option<()> {
        let news = self.news.as_mut()?;
        let presence = &mut self.presence;
        let came = async {
            match presence {
                Some(presence) => presence.changed().await,
                None => pending().await,
            }
        };
        let wire = &mut self.wire;
        let overheard = async {
            match wire {
                Some(listener) => listener.next().await,
                None => pending().await,
            }
        };
        let heard = tokio::select! {
            heard = news.recv() => heard,
            viewers = came => {
                self.ready.push_back(viewers?);
                return Some(());
            }
            overheard = overheard => {
                self.ready.push_back(wire_frame(self.after, &overheard));
                return Some(());
            }
        };
        match heard {
            Ok(Passed::Event(Written { seq, .. }) | Passed::Large { seq }) if seq <= self.after => {
            }
            Ok(Passed::Event(written)) if written.seq == self.after + 1 => self.take(written),
            // It is looked for on the shelf first.
            Ok(Passed::Event { .. } | Passed::Large { .. }) => self.has_more = true,
            Ok(Passed::Grown { item, frame }) => {
                if !self.ended.has(&item) {
                    self.ready.push_back(frame);
                }
            }
            // Too slow for text that grows: all of it at once, and the log from where it was.
            Ok(Passed::Missed) | Err(RecvError::Lagged(_)) => self.rejoin().await?,
            Err(RecvError::Closed) => return None,
        }
        Some(())
    }

    async fn rejoin(&mut self) -> Option<()> {
        let rejoined = self.relays.rejoin(&self.engine, &self.task).await?;
        self.news = Some(rejoined.news);
        self.has_more = true;
        self.ready.push_back(rejoined.frame);
        Some(())
    }

    fn take(&mut self, written: Written) {
        self.after = written.seq;
        written.ended.into_iter().for_each(|item| self.ended.note(item));
        self.ready.push_back(written.frame);
    }

    async fn read(&mut self) -> Option<()> {
        let shelf = self.shelf.clone();
        let _turn = shelf.turn().await;
        if let Some(written) = shelf.event(self.after + 1) {
            self.take(written);
            return Some(());
        }
        let store = self.engine.store();
        let page = match store.log_page(&self.task, self.after, PAGE, PAGE_BYTES).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, task = %self.task, "a log cannot be read on");
                return None;
            }
        };
        self.has_more = !page.is_last;
        for logged in page.events {
            if logged.seq > self.after + 1 {
                // Nothing of ours takes events out of a log: somebody has repaired the database.
                let why = "these events are not in the log".to_owned();
                self.gap(self.after + 1, logged.seq - 1, why);
            }
            let written = written(logged);
            shelf.keep(&written);
            self.take(written);
        }
        Some(())
    }

    fn show_viewers(&mut self) {
        if let Some(presence) = &mut self.presence {
            self.ready.push_back(presence.now());
        }
    }

    fn gap(&mut self, from: u64, to: u64, why: String) {
        self.ready.push_back(Frame::new("gap", &Line::Gap { from, to, why }));
    }
}

/// As [`Line`] has it, without a copy of the text.
fn wire_frame(seq: u64, overheard: &Overheard) -> Frame {
    match overheard {
        Overheard::Line(json) => Frame::new("wire", &WireLine { line: "wire", seq, json }),
        Overheard::Lost(lines) => Frame::new("wire_lost", &Line::WireLost { seq, lines: *lines }),
    }
}

fn unheard() -> Problem {
    Problem::new(Trouble::Unavailable, "the log of this task cannot be followed")
}
