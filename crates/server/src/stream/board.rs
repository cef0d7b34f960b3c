//! The stream of all tasks: who stands where, and what waits for a person.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{Stream, stream};
use ostler_engine::{Cursor, Engine, StoreError, TaskFilter};
use ostler_model::{Task, TaskId, TaskState};
use serde::Serialize;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval};

use super::frame::Frame;
use crate::api::{AskShown, BoardLine};
use crate::asks::undecided;
use crate::problem::Problem;

/// News that a viewer may be behind; after that it is told how things stand.
const BEHIND: usize = 256;

/// Those of a first look that are over; older ones are in the list.
const OVER: usize = 200;

/// Those that are not over: all of them, unless somebody has put thousands in line.
const NOT_OVER: usize = 1000;

/// How soon an ask that changes no task's state is seen. Looking costs a millisecond.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// One relay for all who look, while anybody does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board(Arc<Mutex<Option<broadcast::Sender<Passed>>>>);

#[derive(Debug, Clone)]
enum Passed {
    Frame(Frame),
    /// So much has changed that it was not told one by one.
    Many,
}

#[derive(Serialize)]
struct Gone<'t> {
    line: &'static str,
    task: &'t TaskId,
}

struct Looking {
    engine: Engine,
    news: broadcast::Receiver<Passed>,
    ready: Vec<Frame>,
}

impl Board {
    pub(crate) async fn look(
        &self,
        engine: &Engine,
    ) -> Result<impl Stream<Item = Frame> + use<>, Problem> {
        let news = self.listen(engine);
        let looking = Looking { ready: vec![now(engine).await?], engine: engine.clone(), news };
        Ok(stream::unfold(looking, Looking::next))
    }

    fn listen(&self, engine: &Engine) -> broadcast::Receiver<Passed> {
        let mut relay = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(viewers) = &*relay {
            return viewers.subscribe();
        }
        let (viewers, first) = broadcast::channel(BEHIND);
        *relay = Some(viewers.clone());
        tokio::spawn(run(engine.clone(), viewers, self.clone()));
        first
    }

    /// Whether nobody looks any more; then nobody is told any more either.
    fn ends(&self, viewers: &broadcast::Sender<Passed>) -> bool {
        let mut relay = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = viewers.receiver_count() == 0;
        if is_over {
            *relay = None;
        }
        is_over
    }
}

impl Looking {
    async fn next(mut self) -> Option<(Frame, Self)> {
        if let Some(frame) = self.ready.pop() {
            return Some((frame, self));
        }
        match self.news.recv().await {
            Ok(Passed::Frame(frame)) => Some((frame, self)),
            Ok(Passed::Many) | Err(RecvError::Lagged(_)) => {
                // What waits is older than what is read now.
                self.news = self.news.resubscribe();
                self.ready.push(now(&self.engine).await.ok()?);
                Some((Frame::new("many", &BoardLine::Many), self))
            }
            Err(RecvError::Closed) => None,
        }
    }
}

/// How everything stands.
async fn now(engine: &Engine) -> Result<Frame, Problem> {
    let store = engine.store();
    let mut tasks = Vec::new();
    for (is_over, most) in [(false, NOT_OVER), (true, OVER)] {
        let states = TaskState::ALL.into_iter().filter(|state| state.is_over() == is_over);
        let filter = TaskFilter { states: states.collect(), ..TaskFilter::default() };
        let page = store.tasks(&filter, Cursor::FIRST, most).await?;
        tasks.extend(page.tasks.into_iter().map(Task::without_diff));
    }
    // One that changed its side in between is there twice, as it stood before and after.
    tasks.sort_by_key(|task| std::cmp::Reverse(task.updated_at));
    let mut known = HashSet::new();
    tasks.retain(|task| known.insert(task.id.clone()));
    let (counts, asks) = (store.counts().await?, undecided(store).await?);
    Ok(Frame::new("now", &BoardLine::Now { tasks, counts, asks }))
}

/// Tells all who look, for as long as somebody does.
async fn run(engine: Engine, viewers: broadcast::Sender<Passed>, board: Board) {
    let (mut changes, mut written) = (engine.watch_all(), engine.store().news());
    let mut host_asks = engine.watch_host_asks();
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asks: Option<Vec<AskShown>> = undecided(engine.store()).await.ok();
    let mut is_touched = false;
    loop {
        tokio::select! {
            () = viewers.closed() => {
                if board.ends(&viewers) {
                    return;
                }
            }
            changed = changes.recv() => match changed {
                Ok(changed) => {
                    is_touched = true;
                    match task(&engine, &changed.task).await {
                        Ok(frame) => drop(viewers.send(Passed::Frame(frame))),
                        Err(error) => tracing::warn!(%error, "a task that has changed cannot be read"),
                    }
                }
                Err(RecvError::Lagged(_)) => drop(viewers.send(Passed::Many)),
                Err(RecvError::Closed) => break,
            },
            grown = written.recv() => match grown {
                Ok(_) | Err(RecvError::Lagged(_)) => is_touched = true,
                Err(RecvError::Closed) => break,
            },
            Ok(()) = host_asks.changed() => is_touched = true,
            _ = looks.tick(), if is_touched => {
                is_touched = false;
                let found = undecided(engine.store()).await.ok();
                if let Some(now) = found.filter(|now| asks.as_ref() != Some(now)) {
                    let line = BoardLine::Asks { asks: now.clone() };
                    drop(viewers.send(Passed::Frame(Frame::new("asks", &line))));
                    asks = Some(now);
                }
            }
        }
    }
    *board.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

async fn task(engine: &Engine, id: &TaskId) -> Result<Frame, StoreError> {
    Ok(match engine.store().task(id).await? {
        Some(task) => Frame::new("task", &BoardLine::Task { task: Box::new(task.without_diff()) }),
        None => Frame::new("task_gone", &Gone { line: "task_gone", task: id }),
    })
}
