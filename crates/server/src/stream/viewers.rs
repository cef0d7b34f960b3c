//! Who looks at which task, so that two who could answer know of each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{Stream, stream};
use ostler_model::TaskId;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Duration, Instant, sleep_until};

use super::frame::Frame;
use crate::api::{BoardLine, Line};

/// Those who are named. Nobody reads more names than these, and each who comes would tell all of them to all.
const NAMED: usize = 50;

/// Who comes and goes is told at this distance at least: five hundred who come at once are told in a few frames.
const APART: Duration = Duration::from_millis(250);

/// Somebody who looks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Viewer {
    pub name: String,
    /// The door that they use.
    pub surface: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Viewers(Arc<House>);

#[derive(Debug, Default)]
struct House {
    tasks: Mutex<HashMap<TaskId, Lookers>>,
    /// Those who look at all tasks at once.
    board: Mutex<Vec<Viewer>>,
    /// Somebody has come or gone, anywhere.
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct Lookers {
    all: Vec<Viewer>,
    /// Written out once for all of them.
    frame: watch::Sender<Frame>,
}

/// Goes when it is dropped.
pub(crate) struct Presence {
    viewers: Viewers,
    task: TaskId,
    viewer: Viewer,
    all: watch::Receiver<Frame>,
    told_at: Instant,
}

/// The same for the board.
pub(crate) struct BoardPresence {
    viewers: Viewers,
    viewer: Viewer,
}

impl Viewers {
    pub(crate) fn come_to_board(&self, viewer: Viewer) -> BoardPresence {
        self.board().push(viewer.clone());
        self.0.changed.send_replace(());
        BoardPresence { viewers: self.clone(), viewer }
    }

    /// Who looks at what, now and whenever it is another. It has no end.
    pub(crate) fn everywhere(&self) -> impl Stream<Item = Frame> + use<> {
        let (viewers, mut changed) = (self.clone(), self.0.changed.subscribe());
        changed.mark_changed();
        let told_at: Option<Instant> = None;
        stream::unfold((viewers, changed, told_at), |(viewers, mut changed, told_at)| async move {
            changed.changed().await.ok()?;
            if let Some(told_at) = told_at {
                sleep_until(told_at + APART).await;
            }
            changed.mark_unchanged();
            let frame = viewers.frame();
            Some((frame, (viewers, changed, Some(Instant::now()))))
        })
    }

    fn frame(&self) -> Frame {
        let named = |all: &[Viewer]| all.iter().take(NAMED).cloned().collect();
        let board = named(&self.board());
        let tasks = self.tasks();
        let tasks = tasks.iter().map(|(task, lookers)| (task.clone(), named(&lookers.all)));
        Frame::new("lookers", &BoardLine::Lookers { board, tasks: tasks.collect() })
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<TaskId, Lookers>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn board(&self) -> MutexGuard<'_, Vec<Viewer>> {
        self.0.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn come(&self, task: &TaskId, viewer: Viewer) -> Presence {
        let mut tasks = self.tasks();
        let lookers = tasks.entry(task.clone()).or_insert_with(Lookers::nobody);
        let all = lookers.frame.subscribe();
        let place = lookers.all.partition_point(|other| *other <= viewer);
        lookers.all.insert(place, viewer.clone());
        lookers.tell();
        self.0.changed.send_replace(());
        let told_at = Instant::now();
        Presence { viewers: self.clone(), task: task.clone(), viewer, all, told_at }
    }
}

impl Lookers {
    fn nobody() -> Self {
        Self { all: Vec::new(), frame: watch::channel(frame(&[])).0 }
    }

    fn tell(&self) {
        self.frame.send_replace(frame(&self.all));
    }
}

fn frame(all: &[Viewer]) -> Frame {
    let viewers: Vec<Viewer> = all.iter().take(NAMED).cloned().collect();
    let others = all.len() - viewers.len();
    Frame::new("viewers", &Line::Viewers { viewers, others })
}

impl Presence {
    /// Who looks now.
    pub(super) fn now(&mut self) -> Frame {
        self.told_at = Instant::now();
        self.all.borrow_and_update().clone()
    }

    /// Waits until that is another. Safe to drop and call again.
    pub(super) async fn changed(&mut self) -> Option<Frame> {
        self.all.changed().await.ok()?;
        // Not seen before it is taken, so that whoever is dropped here hears of it again.
        self.all.mark_changed();
        sleep_until(self.told_at + APART).await;
        Some(self.now())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut tasks = self.viewers.tasks();
        let Some(lookers) = tasks.get_mut(&self.task) else { return };
        if let Some(own) = lookers.all.iter().position(|viewer| viewer == &self.viewer) {
            lookers.all.remove(own);
        }
        match lookers.all.is_empty() {
            true => drop(tasks.remove(&self.task)),
            false => lookers.tell(),
        }
        self.viewers.0.changed.send_replace(());
    }
}

impl Drop for BoardPresence {
    fn drop(&mut self) {
        let mut board = self.viewers.board();
        if let Some(own) = board.iter().position(|viewer| viewer == &self.viewer) {
            board.remove(own);
        }
        self.viewers.0.changed.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use futures_util::{FutureExt, StreamExt};

    use super::*;

    fn viewer(name: &str) -> Viewer {
        Viewer { name: name.to_owned(), surface: "web".to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn everybody_knows_who_is_there() {
        let (viewers, task) = (Viewers::default(), TaskId::new("t"));
        let all =
            |names: &[&str]| frame(&names.iter().map(|name| viewer(name)).collect::<Vec<_>>());
        let mut first = viewers.come(&task, viewer("bea"));
        assert_eq!(first.now(), all(&["bea"]));
        let second = viewers.come(&task, viewer("ada"));
        // Dropped in between, it is heard all the same, and not at once.
        assert_eq!(first.changed().now_or_never(), None);
        let begin = Instant::now();
        let third = viewers.come(&task, viewer("ada"));
        assert_eq!(first.changed().await, Some(all(&["ada", "ada", "bea"])));
        assert_eq!(begin.elapsed(), APART);
        assert_eq!(first.changed().now_or_never(), None);
        drop((second, third));
        assert_eq!(first.changed().await, Some(all(&["bea"])));
        drop(first);
        assert!(viewers.tasks().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_looks_at_the_board_is_told_who_looks_at_what() {
        let (viewers, task) = (Viewers::default(), TaskId::new("t"));
        let lookers = |board: &[&str], named: &[&str]| {
            let all =
                |names: &[&str]| names.iter().map(|name| viewer(name)).collect::<Vec<Viewer>>();
            let tasks = BTreeMap::from([(task.clone(), all(named))]);
            let tasks = if named.is_empty() { BTreeMap::new() } else { tasks };
            Some(Frame::new("lookers", &BoardLine::Lookers { board: all(board), tasks }))
        };
        let ada = viewers.come_to_board(viewer("ada"));
        let mut told = Box::pin(viewers.everywhere());
        assert_eq!(told.next().await, lookers(&["ada"], &[]));
        assert_eq!(told.next().now_or_never(), None);
        let begin = Instant::now();
        let (bea, cay) = (viewers.come(&task, viewer("bea")), viewers.come(&task, viewer("cay")));
        assert_eq!(told.next().await, lookers(&["ada"], &["bea", "cay"]));
        assert_eq!(begin.elapsed(), APART);
        drop((ada, bea, cay));
        assert_eq!(told.next().await, lookers(&[], &[]));
    }

    #[tokio::test(start_paused = true)]
    async fn many_are_counted_and_some_of_them_named() {
        let (viewers, task) = (Viewers::default(), TaskId::new("t"));
        let mut all: Vec<Presence> = (0..NAMED + 7)
            .map(|number| viewers.come(&task, viewer(&format!("{number:03}"))))
            .collect();
        let named = (0..NAMED).map(|number| viewer(&format!("{number:03}"))).collect();
        let line = Line::Viewers { viewers: named, others: 7 };
        assert_eq!(all[0].changed().await, Some(Frame::new("viewers", &line)));
    }
}
