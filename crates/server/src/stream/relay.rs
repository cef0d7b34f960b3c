//! Per task that somebody looks at: one who reads its log as it grows, keeps the text that grows, and tells all viewers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ostler_engine::{Engine, LoggedEvent, News, StoreError};
use ostler_model::task::Partial;
use ostler_model::{ItemId, TaskId};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::frame::Frame;
use super::growth::{Growing, ended_item};
use super::shelf::{Shelf, Written, is_large, is_much};
use crate::api::Line;

/// News that a viewer may be behind. They are shared: what waits is there once, however many wait for it. What is large waits on
/// the shelf, so the news of a task have 16 MiB at most.
const BEHIND: usize = 512;

/// Events that are read at once, and their bytes: what one viewer who does not read holds, and one event that is larger by itself.
pub(super) const PAGE: usize = 64;
pub(super) const PAGE_BYTES: usize = 128 * 1024;

/// All who have fallen behind are told together how it stands, so that what they are told is there once.
const TOGETHER: Duration = Duration::from_millis(250);

/// Viewers that wait for a word of the relay; further ones wait for those.
const WAITING: usize = 64;

/// What all viewers of a task are told.
#[derive(Debug, Clone)]
pub(crate) enum Passed {
    Event(Written),
    /// An event that is too large to be kept for everybody.
    Large {
        seq: u64,
    },
    Grown {
        item: ItemId,
        frame: Frame,
    },
    /// Pieces of text were missed.
    Missed,
}

/// The text that grows as it stands, and all that comes after it.
pub(super) struct Joined {
    /// Absent if it is much: then it is told to several together, as to those who were too slow.
    pub(super) partials: Option<Vec<Partial>>,
    pub(super) news: broadcast::Receiver<Passed>,
}

/// The same for whoever was too slow.
pub(super) struct Rejoined {
    pub(super) frame: Frame,
    pub(super) news: broadcast::Receiver<Passed>,
}

enum Want {
    Join(oneshot::Sender<Joined>),
    Rejoin(oneshot::Sender<Rejoined>),
}

/// Those that are at work.
#[derive(Clone, Default)]
pub(crate) struct Relays(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    relays: HashMap<TaskId, mpsc::Sender<Want>>,
    shelves: HashMap<TaskId, Weak<Shelf>>,
}

impl Relays {
    /// From now on, whatever is written is either read or told.
    pub(super) async fn join(&self, engine: &Engine, task: &TaskId) -> Option<Joined> {
        self.ask(engine, task, Want::Join).await
    }

    pub(super) async fn rejoin(&self, engine: &Engine, task: &TaskId) -> Option<Rejoined> {
        self.ask(engine, task, Want::Rejoin).await
    }

    /// A relay may be just about to end; then there is another one. Two that end have a reason.
    async fn ask<T>(
        &self,
        engine: &Engine,
        task: &TaskId,
        want: impl Fn(oneshot::Sender<T>) -> Want,
    ) -> Option<T> {
        for _ in 0..3 {
            let relay = self.relay(engine, task);
            let (reply, answered) = oneshot::channel();
            if relay.send(want(reply)).await.is_ok()
                && let Ok(answer) = answered.await
            {
                return Some(answer);
            }
        }
        None
    }

    fn relay(&self, engine: &Engine, task: &TaskId) -> mpsc::Sender<Want> {
        let shelf = self.shelf(task);
        let relays = &mut self.lock().relays;
        if let Some(known) = relays.get(task).filter(|known| !known.is_closed()) {
            return known.clone();
        }
        let (wants, wanted) = mpsc::channel(WAITING);
        relays.insert(task.clone(), wants.clone());
        let relay = Relay {
            shelf,
            engine: engine.clone(),
            task: task.clone(),
            viewers: broadcast::channel(BEHIND).0,
            growing: Growing::default(),
            after: 0,
            behind: Vec::new(),
            told_at: Instant::now(),
        };
        tokio::spawn(relay.run(wanted, self.clone()));
        wants
    }

    /// The one that all who look at this task share.
    pub(super) fn shelf(&self, task: &TaskId) -> Arc<Shelf> {
        let shelves = &mut self.lock().shelves;
        if let Some(known) = shelves.get(task).and_then(Weak::upgrade) {
            return known;
        }
        shelves.retain(|_, shelf| shelf.strong_count() > 0);
        let shelf = Arc::new(Shelf::default());
        shelves.insert(task.clone(), Arc::downgrade(&shelf));
        shelf
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Relay {
    engine: Engine,
    task: TaskId,
    viewers: broadcast::Sender<Passed>,
    growing: Growing,
    after: u64,
    behind: Vec<oneshot::Sender<Rejoined>>,
    shelf: Arc<Shelf>,
    /// When those who are behind are told.
    told_at: Instant,
}

/// Why a relay is no longer needed.
enum Ended {
    NobodyLooks,
    TaskGone,
}

impl Relay {
    async fn run(mut self, mut wanted: mpsc::Receiver<Want>, relays: Relays) {
        match self.serve(&mut wanted, &relays).await {
            Ok(Ended::NobodyLooks) => return,
            Ok(Ended::TaskGone) => {}
            Err(error) => {
                tracing::warn!(%error, task = %self.task, "a log cannot be followed");
            }
        }
        // Viewers hear the end of it. Their pages come again, and find the task or that it is gone.
        relays.lock().relays.remove(&self.task);
    }

    async fn serve(
        &mut self,
        wanted: &mut mpsc::Receiver<Want>,
        relays: &Relays,
    ) -> Result<Ended, StoreError> {
        let Some(mut news) = self.listen().await? else { return Ok(Ended::TaskGone) };
        loop {
            tokio::select! {
                biased;
                want = wanted.recv() => match want {
                    Some(Want::Join(reply)) => {
                        let is_little = !is_much(self.growing.size());
                        let joined = Joined {
                            partials: is_little.then(|| self.growing.all()),
                            news: self.viewers.subscribe(),
                        };
                        // Who has left in the meantime needs no answer.
                        drop(reply.send(joined));
                    }
                    Some(Want::Rejoin(reply)) => {
                        if self.behind.is_empty() {
                            self.told_at = Instant::now() + TOGETHER;
                        }
                        self.behind.push(reply);
                    }
                    None => return Ok(Ended::NobodyLooks),
                },
                heard = news.recv() => match heard {
                    Ok(News::Logged { seq }) if seq <= self.after => {}
                    Ok(News::Logged { .. }) => self.read().await?,
                    Ok(News::Grown { begins, partial }) => {
                        self.growing.grow(begins, &partial);
                        let frame = Frame::new("grown", &Line::Grown(Partial::clone(&partial)));
                        self.pass(match is_large(&frame) {
                            true => Passed::Missed,
                            false => Passed::Grown { item: partial.item.clone(), frame },
                        });
                    }
                    Ok(News::Gone) => return Ok(Ended::TaskGone),
                    Err(RecvError::Lagged(_)) => {
                        let Some(anew) = self.listen().await? else { return Ok(Ended::TaskGone) };
                        news = anew;
                        self.pass(Passed::Missed);
                        self.read().await?;
                    }
                    Err(RecvError::Closed) => return Err(StoreError::Closed),
                },
                () = sleep_until(self.told_at), if !self.behind.is_empty() => self.tell_behind(),
                () = self.viewers.closed(), if self.behind.is_empty() => {
                    let relays = &mut relays.lock().relays;
                    // Whoever wants something from now on finds another relay.
                    if self.viewers.receiver_count() == 0 && wanted.is_empty() {
                        wanted.close();
                        relays.remove(&self.task);
                        return Ok(Ended::NobodyLooks);
                    }
                }
            }
        }
    }

    /// Begins to listen, and knows the text that grows as it stands at that moment. None if the task is gone.
    async fn listen(&mut self) -> Result<Option<broadcast::Receiver<News>>, StoreError> {
        let store = self.engine.store();
        let found = store.task(&self.task).await?;
        if self.after == 0 {
            // Before the listening begins, so that the end of whatever is heard of is in what is read after it.
            self.after = found.as_ref().map_or(0, |task| task.last_seq);
        }
        let mut news = self.engine.watch(&self.task);
        // Only now: had it been removed in between, nobody would say so any more.
        if store.task(&self.task).await?.is_none() {
            return Ok(None);
        }
        // What was told before is in what is read; what is told from now on is heard. Where they overlap, each piece knows its place.
        self.engine.settled(&self.task).await;
        let stored = store.partials(&self.task).await?;
        let mut heard: Vec<(u64, Arc<Partial>)> = Vec::new();
        loop {
            match news.try_recv() {
                Ok(News::Grown { begins, partial }) => heard.push((begins, partial)),
                // They are in the log, which is read when the next one comes.
                Ok(News::Logged { .. }) => {}
                Ok(News::Gone) => return Ok(None),
                // Too much at once: what was written is all that can be said.
                Err(TryRecvError::Lagged(_)) => heard.clear(),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        self.growing = Growing::of(stored);
        for (begins, partial) in &heard {
            self.growing.grow(*begins, partial);
        }
        self.read().await?;
        Ok(Some(news))
    }

    /// All that has been written since.
    async fn read(&mut self) -> Result<(), StoreError> {
        loop {
            let store = self.engine.store();
            // Until what it reads is on the shelf.
            let shelf = self.shelf.clone();
            let _turn = shelf.turn().await;
            let page = store.log_page(&self.task, self.after, PAGE, PAGE_BYTES).await?;
            for logged in page.events {
                self.after = logged.seq;
                self.growing.end(&logged.event);
                let written = written(logged);
                self.pass(match self.shelf.keep(&written) {
                    true => Passed::Large { seq: written.seq },
                    false => Passed::Event(written),
                });
            }
            if page.is_last {
                return Ok(());
            }
        }
    }

    fn tell_behind(&mut self) {
        let partials = self.growing.all();
        let frame = Frame::new("partials", &Line::Partials { partials });
        for reply in self.behind.drain(..) {
            let news = self.viewers.subscribe();
            // Who has left in the meantime needs no answer.
            drop(reply.send(Rejoined { frame: frame.clone(), news }));
        }
    }

    fn pass(&self, passed: Passed) {
        // Nobody may be there any more: then it is noticed in a moment.
        drop(self.viewers.send(passed));
    }
}

pub(super) fn written(logged: LoggedEvent) -> Written {
    let LoggedEvent { seq, at, event } = logged;
    let ended = ended_item(&event).cloned();
    let frame = Frame::at(seq, "event", &Line::Event { seq, at, event: Box::new(event) });
    Written { seq, frame, ended }
}
