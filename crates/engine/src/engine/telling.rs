//! Whom tasks tell what, for doors: sending again, looking at what would be sent, and what was looked at.

use ostler_model::notification::{
    Addressee, Content, Kind, LOCAL, Occasion, addressees, kind_of_ask, kind_of_move,
};
use ostler_model::{DeliveryId, Notification, Task, TaskId};
use ostler_store::{Batch, StoreError, Write};

use super::Engine;
use crate::notify::{NotifySettings, Preview, Sending, Via, payload};
use crate::refusal::Refusal;
use crate::runner::asked_of;
use crate::shared::now;

impl Engine {
    /// Whoever started these tasks was told that they ended then.
    pub async fn ends_told(&self, by: &str, ends: Vec<(TaskId, i64)>) -> Result<(), StoreError> {
        let told = ends.into_iter().map(|(task, ended_at)| {
            let started_by = by.to_owned();
            Write::EndTold { task, started_by, ended_at }
        });
        self.shared.store.commit(Batch(told.collect())).await.map(drop)
    }

    /// Sends it again, under the same name. One that is about to be sent stays as it is.
    pub async fn replay(&self, id: &DeliveryId) -> Result<Notification, Refusal> {
        let store = &self.shared.store;
        store.commit(Write::ReplayNotification { id: id.clone(), at: now() }.into()).await?;
        self.shared.mail.notify_one();
        let found = store.notification(id).await?;
        Ok(found.ok_or_else(|| StoreError::NoNotification(id.clone()))?)
    }

    /// Whom a task can name: the one that is always there, and those of the operator's file.
    pub fn targets(&self) -> Vec<String> {
        let live = self.shared.live();
        let named = live.notify.targets.keys().filter(|name| *name != LOCAL);
        std::iter::once(LOCAL.to_owned()).chain(named.cloned()).collect()
    }

    /// Somebody has looked at all up to this place, or at those of one task.
    pub async fn read_notifications(
        &self,
        up_to: i64,
        task: Option<TaskId>,
    ) -> Result<(), StoreError> {
        let write = Write::NotificationsRead { up_to, task };
        self.shared.store.commit(write.into()).await.map(drop)
    }

    /// What the task would tell its targets as it stands, without telling them. A task that is at work is shown as if it had
    /// finished so.
    pub async fn preview(&self, task: &TaskId) -> Result<Vec<Preview>, Refusal> {
        let task = self.find(task).await?;
        let live = self.shared.live();
        let page = live.notify.page.as_deref();
        let asks = self.shared.store.undecided_asks_of(&task.id).await?;
        let (kind, content) = match (kind_of_move(task.state, &task.cause), asks.first()) {
            (None, Some(ask)) => {
                let kind = kind_of_ask(asked_of(&ask.content));
                (kind, Content::of_ask(&task, &ask.id, &ask.content, false, page))
            }
            (kind, _) => {
                let kind = kind.unwrap_or(Kind::Finished);
                (kind, Content::of_state(&task, kind, page))
            }
        };
        let named = task.settings.notify.iter();
        Ok(named.map(|target| preview(&live.notify, &task, target, kind, &content)).collect())
    }
}

fn preview(
    settings: &NotifySettings,
    task: &Task,
    target: &str,
    kind: Kind,
    content: &Content,
) -> Preview {
    let occasion = Occasion::Moved { nonce: "preview".to_owned() };
    let addressee = Addressee::To(target.to_owned());
    let row = Notification::new(&occasion, &task.id, kind, addressee, content.clone(), now());
    let wanted = addressees(&[target.to_owned()], kind, |name| settings.kinds_of(name));
    let sending = match settings.target(target).map(|target| target.via) {
        None => Err("the configuration has no such target".to_owned()),
        Some(Via::Local) => {
            Ok(Sending { to: "whoever looks here".to_owned(), body: payload(&row) })
        }
        Some(Via::Command(command)) => {
            let to = command.first().cloned().unwrap_or_default();
            Ok(Sending { to, body: payload(&row) })
        }
        Some(Via::Courier) => settings.courier.preview(&row),
    };
    let (sending, problem) = match sending {
        Ok(sending) => (Some(sending), None),
        Err(problem) => (None, Some(problem)),
    };
    Preview { target: target.to_owned(), kind, is_unwanted: wanted.is_empty(), sending, problem }
}
