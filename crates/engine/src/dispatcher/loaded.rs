//! The tasks that are loaded: how a runner begins, is told something, and ends.

use std::time::Duration;

use ostler_model::TaskId;
use ostler_store::StoreError;
use tokio::sync::mpsc;

use super::Dispatcher;
use crate::refusal::Refusal;
use crate::runner::{AnswerError, Order, Runner, RunnerEnd};
use crate::shared::now;

/// Orders that wait for a runner, which takes them within milliseconds.
pub(super) const QUEUED_ORDERS: usize = 64;

/// A runner that failed is not started again at once, lest it fail in a circle.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// The runner of a task, as far as we know.
pub(super) struct Loaded {
    pub(super) orders: mpsc::Sender<Order>,
    /// It was let go and has not ended yet; these came since.
    pub(super) late: Option<Vec<Order>>,
    /// It was loaded because there is room for it.
    pub(super) is_placed: bool,
    /// The number of its newest want.
    pub(super) want: u64,
    /// It could not be told something that is written down.
    pub(super) must_look: bool,
    /// It could not be told that there is room for it.
    pub(super) must_place: bool,
}

impl Loaded {
    /// What is written down is found when the runner looks for it; who waits for an answer is told to come again.
    fn overflow(&mut self, task: TaskId, order: Order) {
        match order {
            Order::Placed { .. } => self.must_place = true,
            Order::Submit(_) | Order::Look | Order::Wake => self.must_look = true,
            // Whoever asked may have gone.
            Order::Answer(order) => drop(order.reply.send(Err(AnswerError::Overloaded))),
            Order::Remove { done } => drop(done.send(Err(Refusal::Overloaded { task }))),
            Order::Settle { done } => drop(done),
            Order::Release { done } => drop(done.send(false)),
        }
    }
}

impl Dispatcher {
    pub(super) fn load(&mut self, task: &TaskId, is_placed: bool) {
        let (orders, inbox) = mpsc::channel(QUEUED_ORDERS);
        let loaded =
            Loaded { orders, late: None, is_placed, want: 0, must_look: false, must_place: false };
        self.loaded.insert(task.clone(), loaded);
        let runner = Runner::run(self.shared.clone(), task.clone(), inbox, self.stop.clone());
        let id = self.runners.spawn(runner).id();
        self.tasks.insert(id, task.clone());
    }

    /// Never waits for a runner: one that waits for us would wait for ever.
    pub(super) fn order(&mut self, task: TaskId, order: Order) {
        let Some(loaded) = self.loaded.get_mut(&task) else {
            self.load(&task, false);
            return self.order(task, order);
        };
        if let Some(late) = &mut loaded.late {
            return late.push(order);
        }
        match loaded.orders.try_send(order) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(order)) => loaded.overflow(task, order),
            // It has just ended; it is loaded again when its end is heard.
            Err(mpsc::error::TrySendError::Closed(order)) => loaded.late = Some(vec![order]),
        }
    }

    /// Those whose queue was full look at what is written down for them.
    pub(super) fn make_look(&mut self) {
        for loaded in self.loaded.values_mut().filter(|loaded| loaded.must_look) {
            loaded.must_look = loaded.orders.try_send(Order::Look).is_err();
        }
        for loaded in self.loaded.values_mut().filter(|loaded| loaded.must_place) {
            let placed = Order::Placed { want: loaded.want };
            loaded.must_place = loaded.orders.try_send(placed).is_err();
        }
    }

    pub(super) fn ended(
        &mut self,
        id: tokio::task::Id,
        ended: Option<RunnerEnd>,
    ) -> Result<(), StoreError> {
        let Some(task) = self.tasks.remove(&id) else { return Ok(()) };
        let loaded = self.loaded.remove(&task);
        let has_left_place = loaded.as_ref().is_some_and(|loaded| loaded.is_placed);
        let late = loaded.and_then(|loaded| loaded.late).unwrap_or_default();
        self.wakes.retain(|(_, waiting)| *waiting != task);
        if has_left_place || ended.as_ref().is_some_and(|end| end.is_gone) {
            self.line.leave(&task);
        }
        let again = now().saturating_add(i64::try_from(AFTER_FAILURE.as_millis()).unwrap_or(0));
        match ended {
            None => drop(self.wakes.insert((again, task.clone()))),
            Some(RunnerEnd { result: Err(error), .. }) if error.ends_the_store() => {
                return Err(error);
            }
            Some(RunnerEnd { result: Err(error), .. }) => {
                tracing::error!(%error, %task, "a task cannot go on; it is tried again");
                self.wakes.insert((again, task.clone()));
            }
            Some(RunnerEnd { wake_at, .. }) => {
                self.wakes.extend(wake_at.map(|at| (at, task.clone())));
            }
        }
        for order in late {
            match order {
                // Nobody has taken it; whoever is loaded anew asks for a place itself.
                Order::Placed { .. } => self.line.leave(&task),
                // What ended has written all it had; nobody is loaded for that. Whoever asked may have gone.
                Order::Settle { done } if !self.loaded.contains_key(&task) => drop(done.send(())),
                Order::Release { done } if !self.loaded.contains_key(&task) => {
                    done.send(true).ok();
                }
                order => self.order(task.clone(), order),
            }
        }
        Ok(())
    }
}
