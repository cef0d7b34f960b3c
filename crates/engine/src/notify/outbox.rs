//! The loop that sends what was written down. It is woken when something was, and when something is due; otherwise it sleeps.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ostler_model::notification::{Outcome, Persistence};
use ostler_model::{DeliveryId, Notification};
use ostler_store::{StoreError, Write};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Via, payload};
use crate::program;
use crate::shared::{Shared, instant_of, now};

/// Attempts at once, in all and to one target: one that hangs takes no more than its part.
const AT_ONCE: usize = 16;
const AT_ONCE_PER_TARGET: usize = 4;

/// From one try to read or write to the next, while the disk does not let us.
const AGAIN: Duration = Duration::from_secs(1);

/// What is under way may end when the daemon does; what does not is sent again by the next one, under the same name.
const GRACE: Duration = Duration::from_secs(2);

/// What a program says is in its receipt as far as it is a line.
const MOST_OUTPUT: u64 = 4096;
const MOST_ANSWER: usize = 200;

pub(crate) struct Outbox {
    shared: Arc<Shared>,
    works: JoinSet<Noted>,
    under_way: HashMap<tokio::task::Id, (DeliveryId, String)>,
    /// Those that were tried without what became of it on disk. They still look due, and are left to the next daemon: nobody
    /// is told the same thing over and over.
    unwritten: HashSet<DeliveryId>,
}

/// Whether what became of an attempt is on disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Noted {
    Written,
    Lost,
}

impl Outbox {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let (works, under_way) = (JoinSet::new(), HashMap::new());
        Self { shared, works, under_way, unwritten: HashSet::new() }
    }

    pub(crate) async fn run(mut self, stop: CancellationToken) {
        loop {
            let next = match self.hand_out().await {
                Ok(due_at) => due_at.map(instant_of),
                Err(StoreError::Closed) => break,
                Err(error) => {
                    tracing::error!(%error, "what is to be told cannot be read");
                    Some(Instant::now() + AGAIN)
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.shared.mail.notified() => {}
                Some(ended) = self.works.join_next_with_id() => {
                    let (id, noted) = match ended {
                        Ok(ended) => ended,
                        Err(error) => {
                            tracing::error!(%error, "an attempt to tell somebody failed");
                            (error.id(), Noted::Lost)
                        }
                    };
                    let ended = self.under_way.remove(&id);
                    self.unwritten.extend(ended.filter(|_| noted == Noted::Lost).map(|(id, _)| id));
                }
                () = until(next) => {}
            }
        }
        let ending = async { while self.works.join_next().await.is_some() {} };
        if timeout(GRACE, ending).await.is_err() {
            tracing::info!("what is being told is given up, and told again by the next daemon");
        }
    }

    /// Begins with what is due, as far as there is room. Gives when the next is.
    async fn hand_out(&mut self) -> Result<Option<i64>, StoreError> {
        let at = now();
        let store = &self.shared.store;
        // As many more as are under way or were lost: those are due, too.
        let most = 2 * AT_ONCE_PER_TARGET + self.unwritten.len();
        let due = store.due_notifications(at, most).await?;
        for notification in due.into_iter().filter(|it| !self.unwritten.contains(&it.id)) {
            if self.under_way.len() >= AT_ONCE {
                break;
            }
            let mut under_way = self.under_way.values();
            let is_under_way = under_way.any(|(id, _)| *id == notification.id);
            let same = |(_, target): &&(DeliveryId, String)| *target == notification.target;
            let has_room = self.under_way.values().filter(same).count() < AT_ONCE_PER_TARGET;
            if is_under_way || !has_room {
                continue;
            }
            let key = (notification.id.clone(), notification.target.clone());
            let handle = self.works.spawn(deliver(self.shared.clone(), notification));
            self.under_way.insert(handle.id(), key);
        }
        self.shared.store.next_due_notification(at).await
    }
}

/// One attempt, and what became of it on disk.
async fn deliver(shared: Arc<Shared>, mut notification: Notification) -> Noted {
    let began = Instant::now();
    let target = shared.live().notify.target(&notification.target);
    let persistence =
        target.as_ref().map_or_else(Persistence::default, |target| target.persistence);
    notification.is_unread = matches!(&target, Some(target) if target.via == Via::Local);
    let outcome = match target {
        None => {
            let why = format!("the configuration has no target {} any more", notification.target);
            Outcome::NoTarget { why }
        }
        Some(target) => {
            let attempt = attempt(&shared, &target.via, &notification);
            timeout(target.timeout, attempt).await.unwrap_or_else(|_| Outcome::Failed {
                why: format!("no answer within {:?}", target.timeout),
                retry_after_ms: None,
            })
        }
    };
    if let Outcome::Failed { why, .. } | Outcome::Refused { why } = &outcome {
        tracing::warn!(delivery = %notification.id, task = %notification.task, why, "a target could not be told");
    }
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    notification.tried(now(), took, outcome, &persistence, draw());
    note(&shared, notification).await
}

async fn attempt(shared: &Shared, via: &Via, notification: &Notification) -> Outcome {
    match via {
        Via::Local => Outcome::Delivered { answer: "shown here".to_owned() },
        Via::Command(command) => tell_program(command, notification).await,
        Via::Courier => shared.live().notify.courier.carry(notification.clone()).await,
    }
}

async fn tell_program(command: &[String], notification: &Notification) -> Outcome {
    let input = payload(notification).to_string();
    let failed = |why| Outcome::Failed { why, retry_after_ms: None };
    match program::run(command, input.as_bytes(), MOST_OUTPUT).await {
        Err(why) => failed(why),
        Ok(ran) if !ran.status.success() => {
            failed(format!("the program ended with {}", ran.status))
        }
        Ok(ran) => {
            let said = String::from_utf8_lossy(&ran.output);
            let said: String =
                said.lines().next().unwrap_or_default().chars().take(MOST_ANSWER).collect();
            let said = said.trim();
            let answer = match said.is_empty() {
                true => "exit 0".to_owned(),
                false => format!("exit 0: {said}"),
            };
            Outcome::Delivered { answer }
        }
    }
}

/// While nothing can be written it is not sent again: it counts as under way.
async fn note(shared: &Shared, notification: Notification) -> Noted {
    let write = Write::NotificationTried(Box::new(notification));
    while let Err(error) = shared.store.commit(write.clone().into()).await {
        if !error.is_passing() {
            tracing::error!(%error, "what became of an attempt cannot be written; the next daemon tries it again");
            return Noted::Lost;
        }
        sleep(AGAIN).await;
    }
    Noted::Written
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Some random bits; the random part of an id has more than enough.
fn draw() -> u32 {
    u32::try_from(Uuid::now_v7().as_u128() & u128::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
