//! Asks are decided, by whoever may; and whoever may not is written down.

use ostler_model::task::{AskRecord, AskState, DecidedBy};
use ostler_model::{AskId, Decision, Event};
use ostler_store::{Batch, Committed, StoreError};
use tokio::sync::oneshot;

use super::Engine;
use crate::dispatcher::FromDoor;
use crate::hub::News;
use crate::runner::{AnswerError, AnswerOrder, Order, Remembering};
use crate::shared::now;

/// An answer of a person, or of a program that may decide.
#[derive(Debug, Clone)]
pub struct Answer {
    pub decision: Decision,
    pub reason: Option<String>,
    /// Also make a rule of it. Of a decision for good one is made in any case, for the task's folder.
    pub remember: Option<Remembering>,
    pub by: DecidedBy,
}

impl Engine {
    /// Decides an ask. The first decision counts.
    pub async fn answer(&self, ask: &AskId, answer: Answer) -> Result<(), AnswerError> {
        let Some(record) = self.shared.store.ask(ask).await? else {
            return self.host_asks.answer(ask, answer).await;
        };
        if record.state == AskState::Closed || record.state == AskState::Decided {
            return Err(too_late(&record));
        }
        let Answer { decision, reason, remember, by } = answer;
        let (reply, answered) = oneshot::channel();
        let order = AnswerOrder { ask: ask.clone(), decision, by, reason, remember, reply };
        self.tell(FromDoor::Do {
            task: record.task.clone(),
            order: Order::Answer(Box::new(order)),
        })
        .await;
        match answered.await {
            Ok(Err(AnswerError::Closed)) => match self.shared.store.ask(ask).await? {
                Some(record) => Err(too_late(&record)),
                None => Err(AnswerError::Closed),
            },
            Ok(answered) => answered,
            Err(_) => Err(AnswerError::Ending),
        }
    }

    /// Writes down that a program under an app-server tried to decide.
    pub async fn note_self_approval(
        &self,
        ask: &AskRecord,
        who: String,
        why: String,
    ) -> Result<(), StoreError> {
        if ask.source.is_none()
            && self.host_asks.note_attempt(&ask.id, who.clone(), why.clone()).await?
        {
            return Ok(());
        }
        let mut batch = Batch::new();
        batch.event(
            &ask.task,
            now(),
            Event::SelfApprovalRefused { ask: Some(ask.id.clone()), who, why },
        );
        let committed = self.shared.store.commit(batch).await?;
        if let Committed::Written(seqs) = committed
            && let Some(seqs) = seqs.first()
        {
            self.shared.hub.tell(&ask.task, || News::Logged { seq: seqs.last });
        }
        Ok(())
    }
}

pub(crate) fn too_late(record: &AskRecord) -> AnswerError {
    match &record.decision {
        Some(decided) => AnswerError::Decided { by: decided.by.describe() },
        None => AnswerError::Closed,
    }
}
