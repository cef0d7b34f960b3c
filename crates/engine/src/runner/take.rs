//! The first phase: takes what has happened.

use std::time::Duration;

use futures_util::FutureExt;
use ostler_codex::thread::ThreadUpdate;
use ostler_model::task::machine::Signal;
use ostler_model::task::{Intent, Wish};
use ostler_store::StoreError;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::clock::until;
use super::perform::Todo;
use super::{Order, Runner, Work};

/// News that are taken before they are written down together. As many as a driver lets wait.
const TAKEN_AT_ONCE: usize = 1024;

/// What nothing follows from waits so long for more of it; people do not see the difference, and the disk does.
const LINGER: Duration = Duration::from_millis(20);

/// One thing that happened.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and most are the large one")]
pub(super) enum Happened {
    Order(Order),
    Update(Option<ThreadUpdate>),
    Work(Work),
    Time,
    /// The dispatcher has let go of us.
    LetGo,
}

impl Runner {
    pub(super) async fn next(&mut self, inbox: &mut mpsc::Receiver<Order>) -> Happened {
        let wake = self.wake_at();
        let update = async {
            match &mut self.stage {
                Some(stage) if !self.log.is_full() => stage.updates.next().await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            order = inbox.recv() => order.map_or(Happened::LetGo, Happened::Order),
            update = update => Happened::Update(update),
            Some(work) = self.works.join_next() => Happened::Work(work.unwrap_or_else(|error| {
                tracing::error!(%error, "work beside a task failed");
                Work::Done
            })),
            () = until(wake) => Happened::Time,
        }
    }

    pub(super) async fn take(&mut self, happened: Happened) -> Result<(), StoreError> {
        match happened {
            Happened::Order(order) => self.obey(order).await?,
            Happened::Update(Some(update)) => self.hear(update),
            Happened::Update(None) => self.lose_thread(),
            Happened::Work(Work::Opened(opened)) => self.opened(*opened),
            Happened::Work(Work::Approved { ask, decision }) => self.approved(&ask, decision),
            Happened::Work(Work::Verified { driver, genuine }) => self.verified(driver, genuine),
            Happened::Work(Work::Goal { intent, outcome }) => {
                self.step(Signal::GoalChanged { intent, outcome: *outcome });
            }
            Happened::Work(Work::Done) | Happened::LetGo => {}
            Happened::Time => self.on_time(),
        }
        Ok(())
    }

    /// Takes what else is there. What nothing follows from waits a moment for more of it: a commit costs about as much for
    /// one step as for a hundred. Gives what else happened meanwhile.
    pub(super) async fn gather(&mut self, inbox: &mut mpsc::Receiver<Order>) -> Option<Happened> {
        let linger = sleep(LINGER);
        tokio::pin!(linger);
        for _ in 0..TAKEN_AT_ONCE {
            let stage = self.stage.as_mut().filter(|_| !self.log.is_full())?;
            let update = match stage.updates.next().now_or_never() {
                Some(update) => update,
                None if self.log.is_empty() || !self.todo.is_empty() => return None,
                None if self.log.only_streams() && self.log.is_worth_writing() => return None,
                None => {
                    tokio::select! {
                        update = stage.updates.next() => update,
                        order = inbox.recv() => {
                            return Some(order.map_or(Happened::LetGo, Happened::Order));
                        }
                        () = &mut linger => return None,
                    }
                }
            };
            match update {
                Some(update) => self.hear(update),
                None => {
                    self.lose_thread();
                    return None;
                }
            }
        }
        None
    }

    async fn obey(&mut self, order: Order) -> Result<(), StoreError> {
        match order {
            Order::Submit(intent) => self.submit(*intent),
            Order::Answer(order) => self.answer(*order).await?,
            Order::Placed { want } => self.step(Signal::Placed { want }),
            Order::Wake => self.on_time(),
            Order::Look => {
                for intent in self.shared.store.open_intents_of(&self.id).await? {
                    self.submit(intent);
                }
            }
            Order::Settle { done } => self.waiting.push(done),
            Order::Release { done } => self.todo.push(Todo::Release { done }),
            Order::Remove { done } => {
                self.remove().await;
                if done.send(Ok(())).is_err() {
                    tracing::debug!(task = %self.id, "whoever removed it has gone");
                }
            }
        }
        Ok(())
    }

    /// One that is heard of twice is taken once: whoever wrote it tells it, and it is also found by who looks.
    fn submit(&mut self, intent: Intent) {
        if self.known.contains(&intent.id) || self.intents.contains_key(&intent.id) {
            return;
        }
        let signal = match &intent.wish {
            Wish::Send { if_busy, .. } => {
                Signal::Submit { intent: intent.id.clone(), if_busy: *if_busy }
            }
            Wish::Interrupt => {
                Signal::Interrupt { intent: intent.id.clone(), by: intent.by.clone() }
            }
            Wish::Goal { goal } => {
                Signal::ChangeGoal { intent: intent.id.clone(), change: goal.clone() }
            }
            Wish::Answer { .. } => return,
        };
        self.intents.insert(intent.id.clone(), intent);
        self.step(signal);
        self.look_at_login();
    }
}
