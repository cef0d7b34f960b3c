//! A person's answer to an ask: the first that is written down counts.

use ostler_codex::thread::Decided;
use ostler_model::task::machine::{MayContinue, Signal};
use ostler_model::task::{
    AskClosed, AskRecord, AskState, DecidedBy, DecisionRecord, Intent, IntentState, Receipt, Wish,
};
use ostler_model::{AskId, Decision, Event, IntentId};
use ostler_store::{Batch, Committed, StoreError, Write};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::asks::Delivery;
use super::perform::Todo;
use super::{Runner, now};
use crate::dispatcher::FromRunner;
use crate::verdict::{remembered, row, to_remember, told};

/// What shall be remembered of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembering {
    pub reach: Reach,
    /// Unix milliseconds; for good without it.
    #[serde(default)]
    pub expires_at: Option<i64>,
}

/// Where it shall hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    Task,
    /// In this folder and below; in the task's own without one.
    Directory(Option<String>),
    Everywhere,
}

#[derive(Debug)]
pub(crate) struct AnswerOrder {
    pub(crate) ask: AskId,
    pub(crate) decision: Decision,
    pub(crate) by: DecidedBy,
    pub(crate) reason: Option<String>,
    /// What is to be remembered beyond this ask, where the decision does not say so already.
    pub(crate) remember: Option<Remembering>,
    pub(crate) reply: oneshot::Sender<Result<(), AnswerError>>,
}

/// Why an answer does not count.
#[derive(Debug, Clone, Error)]
pub enum AnswerError {
    #[error("there is no ask {0}; `ostler asks` lists those that are open")]
    NotFound(AskId),
    #[error("{by} decided it before")]
    Decided { by: String },
    #[error("it needs no answer any more")]
    Closed,
    #[error("the ask does not take this answer")]
    NotOffered { offers: Vec<Decision> },
    #[error("{0}")]
    NoRule(String),
    /// Whoever asked cannot answer.
    #[error("an agent may not answer: {0}")]
    Agent(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("its task has more to take in than it can at once; try again in a moment")]
    Overloaded,
    #[error("the daemon is ending; try again")]
    Ending,
}

impl Runner {
    pub(super) async fn answer(&mut self, order: AnswerOrder) -> Result<(), StoreError> {
        // What happened before the answer is written before it.
        if !self.write().await? {
            drop(order.reply.send(Err(AnswerError::Store(StoreError::Full))));
            return Ok(());
        }
        let AnswerOrder { ask, decision, by, reason, remember, reply } = order;
        let answered = self.take_answer(&ask, decision, by, reason, remember).await;
        let fatal = match &answered {
            Err(AnswerError::Store(error)) if error.ends_the_store() => Some(error.clone()),
            _ => None,
        };
        // Whoever answered may have gone.
        drop(reply.send(answered));
        self.deliver_what_is_written().await;
        fatal.map_or(Ok(()), Err)
    }

    async fn take_answer(
        &mut self,
        ask: &AskId,
        decision: Decision,
        by: DecidedBy,
        reason: Option<String>,
        remember: Option<Remembering>,
    ) -> Result<(), AnswerError> {
        let record = self.desk.get(ask).cloned().ok_or(AnswerError::Closed)?;
        if let (false, Some(decided)) = (record.state.takes_a_decision(), &record.decision) {
            return Err(AnswerError::Decided { by: decided.by.describe() });
        }
        if !record.content.takes(&decision) {
            return Err(AnswerError::NotOffered { offers: record.content.offers });
        }
        let at = now();
        let decision = DecisionRecord { decision, by, reason, at };
        let (mut batch, intent) = self.answer_batch(&record, &decision);
        let cwd = &self.machine.task().settings.cwd;
        let wish = to_remember(&decision.decision, remember);
        let rule = wish.map(|wish| remembered(&record, cwd, &decision, wish)).transpose()?;
        if let Some(rule) = &rule {
            batch.push(Write::Rule(row(rule)));
            let made = Event::RuleMade {
                rule: rule.id.clone(),
                text: rule.describe(),
                by: decision.by.describe(),
            };
            batch.event(&self.id, at, made);
        }
        match self.shared.store.commit(batch).await? {
            Committed::Lost(now) => Err(match now.decision {
                Some(decided) => AnswerError::Decided { by: decided.by.describe() },
                None => AnswerError::Closed,
            }),
            Committed::Written(seqs) => {
                self.tell_logged(&seqs);
                if let Some(rule) = rule {
                    self.todo.push(Todo::Tell(FromRunner::NewRule(Box::new(rule))));
                }
                self.answered(&record, &decision, intent);
                Ok(())
            }
            Committed::Known(_) => Err(AnswerError::Closed),
        }
    }

    fn answer_batch(&self, record: &AskRecord, decision: &DecisionRecord) -> (Batch, Intent) {
        let shown = record.content.shown(decision.decision.clone());
        let is_live = self.desk.live(&record.id).is_some();
        let state = if is_live { IntentState::Sent { after: None } } else { IntentState::Pending };
        let intent = Intent {
            id: IntentId::new(Uuid::now_v7().to_string()),
            task: self.id.clone(),
            wish: Wish::Answer {
                ask: record.id.clone(),
                decision: shown.clone(),
                reason: decision.reason.clone(),
            },
            by: decision.by.describe(),
            at: decision.at,
            state,
        };
        let mut batch = Batch::new();
        let then = AskState::Decided;
        batch.push(Write::Decide {
            ask: record.id.clone(),
            decision: Box::new(decision.clone()),
            then,
        });
        batch.push(Write::Intent(Box::new(intent.clone())));
        batch.event(&self.id, decision.at, Event::Intended { intent: Box::new(intent.clone()) });
        let told = DecisionRecord { decision: shown, ..decision.clone() };
        batch.event(
            &self.id,
            decision.at,
            Event::AskDecided { ask: record.id.clone(), decision: Box::new(told) },
        );
        (batch, intent)
    }

    fn answered(&mut self, record: &AskRecord, decision: &DecisionRecord, intent: Intent) {
        let ask = &record.id;
        self.desk.answers.insert(ask.clone(), intent.id.clone());
        self.intents.insert(intent.id.clone(), intent);
        self.desk.decided(ask, decision.clone());
        if record.source.is_none() {
            return self.may_continue(ask, decision);
        }
        self.step(Signal::AskGone { ask: ask.clone() });
        self.todo.push(Todo::Deliver(Box::new(Delivery { ask: ask.clone() })));
    }

    fn may_continue(&mut self, ask: &AskId, decision: &DecisionRecord) {
        let answer = match decision.decision {
            Decision::Deny | Decision::Cancel => MayContinue::No,
            _ => MayContinue::Yes,
        };
        if let Some(intent) = self.desk.answers.remove(ask) {
            self.settle_intent(&intent, IntentState::Done { receipt: Receipt::Answered });
        }
        self.close_ask(ask, AskClosed::Answered);
        self.step(Signal::MayContinue { answer, by: decision.by.describe() });
    }

    /// What was decided of our own questions right before our process ended, and never heard.
    pub(super) fn hear_decided(&mut self) {
        for (ask, decision) in self.desk.own_decided() {
            self.may_continue(&ask, &decision);
        }
    }

    /// The answer itself is on disk. What else follows from it is written later; Codex need not wait for that.
    async fn deliver_what_is_written(&mut self) {
        let (deliveries, rest) = std::mem::take(&mut self.todo)
            .into_iter()
            .partition(|todo| matches!(todo, Todo::Deliver(_)));
        self.todo = rest;
        let deliveries: Vec<Todo> = deliveries;
        for delivery in deliveries {
            self.perform(delivery).await;
        }
    }

    /// Gives Codex what was decided, if it waits for it now. Otherwise the decision waits for the question.
    pub(super) async fn deliver(&mut self, delivery: Delivery) {
        let Delivery { ask } = delivery;
        let (Some(driver), Some(record)) = (self.desk.live(&ask).cloned(), self.desk.get(&ask))
        else {
            return;
        };
        let Some(DecisionRecord { decision, by, reason, .. }) = record.decision.clone() else {
            return;
        };
        let decision = told(&record.content, decision);
        let reason = reason.and_then(|reason| said_to_codex(&by, reason));
        let Some(stage) = &self.stage else { return };
        stage.thread.answer(driver, Decided { decision, by: by.describe(), reason }).await;
    }
}

/// The reason of a refusal stands in the conversation as a message of the user. Only a person's is one; a program's says whose
/// it is, and where nobody decided nothing is said.
fn said_to_codex(by: &DecidedBy, reason: String) -> Option<String> {
    match by {
        DecidedBy::Person { .. } => Some(reason),
        DecidedBy::Approver { .. } => {
            Some(format!("The operator's approval program, not the user, refused this: {reason}"))
        }
        DecidedBy::Rule { .. } | DecidedBy::Nobody | DecidedBy::Earlier { .. } => None,
    }
}
