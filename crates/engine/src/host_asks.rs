//! Questions of a host agent's own tools: no task is behind them, but the same rules, the same program of the operator's and
//! the same people decide. Each is on disk before its owner hears of it, and stays open over the daemon's own end.

mod check;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_model::ask::Ask;
use ostler_model::task::{AskClosed, AskRecord, AskState, DecidedBy, DecisionRecord};
use ostler_model::thread::Withdrawal;
use ostler_model::{AskId, Decision, TaskId};
use ostler_store::{Attempt, Batch, Committed, HostAskRow, StoreError, Write};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::approver::Asker;
use crate::engine::{Answer, too_late};
use crate::refusal::Refusal;
use crate::runner::{AnswerError, short_id};
use crate::shared::{Shared, now};
use crate::verdict::{by_rule, remembered, row, takes, to_remember};

/// Those that may wait for somebody at once. A conversation has one or two; more than this is an owner gone wild.
const MOST_OPEN: usize = 256;

/// A person who left in the evening finds the question the next day; an owner who has not asked for the answer for so long does
/// not come back.
const UNHEARD_FOR: Duration = Duration::from_secs(24 * 3600);

/// A question of a host agent.
#[derive(Debug, Clone, PartialEq)]
pub struct HostAsk {
    /// By which the owner knows it: the same again is the same ask.
    pub key: String,
    /// The conversation that asks, as people are shown it.
    pub owner: String,
    /// Absolute; rules for folders hold here.
    pub cwd: String,
    pub content: Ask,
    /// Who opens it.
    pub by: String,
}

pub(crate) struct HostAsks {
    shared: Arc<Shared>,
    changes: watch::Sender<u64>,
    /// When the owner of an undecided one was last here, in Unix milliseconds.
    heard: Mutex<HashMap<AskId, i64>>,
    began_at: i64,
}

impl HostAsks {
    /// Takes up those that an earlier engine left undecided: rules may be other ones by now, and no program decides them any more.
    pub(crate) async fn start(shared: Arc<Shared>) -> Result<Arc<Self>, StoreError> {
        let asks = Arc::new(Self {
            shared,
            changes: watch::channel(0).0,
            heard: Mutex::default(),
            began_at: now(),
        });
        for row in asks.shared.store.undecided_host_asks().await? {
            match asks.decided_alone(&row).await? {
                Some(decision) => match asks.decide(&row.ask, decision).await {
                    // A person can still decide, and so can the next start.
                    Err(error) if error.is_passing() => {
                        tracing::warn!(%error, ask = %row.ask.id, "an ask stays open");
                    }
                    decided => decided?,
                },
                None => asks.ask_approver(row),
            }
        }
        Ok(asks)
    }

    /// Counts up whenever one is opened, decided or withdrawn.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) async fn open(self: &Arc<Self>, wish: HostAsk) -> Result<AskRecord, Refusal> {
        check::check(&wish)?;
        let HostAsk { key, owner, cwd, content, by } = wish;
        let store = &self.shared.store;
        let owner = TaskId::new(owner);
        if let Some(known) = store.host_ask_by_key(&owner, &key).await? {
            return same(known.ask, &content, key);
        }
        if store.undecided_host_asks().await?.len() >= MOST_OPEN {
            return Err(Refusal::TooManyAsks { most: MOST_OPEN });
        }
        let ask = AskRecord {
            id: self.free_id().await?,
            task: owner,
            agent: None,
            source: None,
            digest: content.digest(),
            content,
            opened_at: now(),
            state: AskState::Open,
            decision: None,
            closed: None,
        };
        let mut row = HostAskRow { ask, key, cwd, by, attempts: Vec::new() };
        let mut batch = Batch::new();
        if let Some(decision) = self.decided_alone(&row).await? {
            note_rule(&mut batch, &row.ask, &decision);
            row.ask.state = AskState::Decided;
            row.ask.decision = Some(decision);
        }
        batch.push(Write::HostAsk(Box::new(row.clone())));
        if let Some(known) = self.write(batch).await? {
            // Another request with the same key was faster.
            return same(known, &row.ask.content, row.key);
        }
        if row.ask.state.takes_a_decision() {
            self.ask_approver(row.clone());
        }
        Ok(row.ask)
    }

    /// The ask as soon as it needs nobody any more, or as it stands after this time.
    pub(crate) async fn wait(
        &self,
        ask: &AskId,
        most: Duration,
    ) -> Result<Option<AskRecord>, StoreError> {
        let deadline = Instant::now() + most;
        let mut changes = self.changes.subscribe();
        loop {
            changes.mark_unchanged();
            let Some(row) = self.shared.store.host_ask(ask).await? else { return Ok(None) };
            if !row.ask.state.takes_a_decision() {
                return Ok(Some(row.ask));
            }
            self.heard_of(ask);
            if !matches!(timeout_at(deadline, changes.changed()).await, Ok(Ok(()))) {
                return Ok(Some(row.ask));
            }
        }
    }

    /// Its owner needs no answer any more. One that is decided stays as it is.
    pub(crate) async fn withdraw(&self, ask: &AskId) -> Result<Option<AskRecord>, StoreError> {
        self.close(ask, AskClosed::Withdrawn { reason: Withdrawal::Elsewhere }).await
    }

    pub(crate) async fn answer(&self, ask: &AskId, answer: Answer) -> Result<(), AnswerError> {
        let found = self.shared.store.host_ask(ask).await?;
        let found = found.ok_or_else(|| AnswerError::NotFound(ask.clone()))?;
        if !found.ask.state.takes_a_decision() {
            return Err(too_late(&found.ask));
        }
        let Answer { decision, reason, remember, by } = answer;
        if !found.ask.content.takes(&decision) {
            return Err(AnswerError::NotOffered { offers: found.ask.content.offers });
        }
        let decision = DecisionRecord { decision, by, reason, at: now() };
        let wish = to_remember(&decision.decision, remember);
        let rule = wish.map(|wish| remembered(&found.ask, &found.cwd, &decision, wish));
        let rule = rule.transpose()?;
        let mut batch = Batch::new();
        batch.push(Write::DecideHost { ask: ask.clone(), decision: Box::new(decision) });
        if let Some(rule) = &rule {
            batch.push(Write::Rule(row(rule)));
        }
        if let Some(now) = self.write(batch).await? {
            return Err(too_late(&now));
        }
        self.forget(ask);
        if let Some(rule) = rule {
            self.shared.add_rule(rule);
        }
        Ok(())
    }

    /// Writes down that an agent tried to decide. False if there is no such ask.
    pub(crate) async fn note_attempt(
        &self,
        ask: &AskId,
        who: String,
        why: String,
    ) -> Result<bool, StoreError> {
        tracing::warn!(%ask, who, why, "an agent tried to answer a host agent's question");
        let attempt = Attempt { who, why, at: now() };
        match self.write(Write::HostAttempt { ask: ask.clone(), attempt }.into()).await {
            Ok(_) => Ok(true),
            Err(StoreError::NoAsk(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Declines those whose owners are gone.
    pub(crate) async fn expire(&self, now: i64) -> Result<(), StoreError> {
        let most = i64::try_from(UNHEARD_FOR.as_millis()).unwrap_or(i64::MAX);
        for row in self.shared.store.undecided_host_asks().await? {
            let heard = self.last_heard(&row.ask.id).max(row.ask.opened_at);
            if now.saturating_sub(heard) < most {
                continue;
            }
            let hours = UNHEARD_FOR.as_secs() / 3600;
            let reason = format!("whoever asked has not waited for the answer for {hours} h");
            self.close(&row.ask.id, AskClosed::Declined { reason }).await?;
        }
        Ok(())
    }

    /// What needs nobody: the same was allowed for the session, or a rule says so.
    async fn decided_alone(&self, row: &HostAskRow) -> Result<Option<DecisionRecord>, StoreError> {
        let ask = &row.ask;
        if let Some(earlier) =
            self.shared.store.host_ask_for_session(&ask.task, &ask.digest).await?
        {
            let by = DecidedBy::Earlier { ask: earlier.ask.id };
            if let Some(decision) = takes(ask, Decision::Session, by, None) {
                return Ok(Some(decision));
            }
        }
        Ok(by_rule(&self.shared.rules(), ask, &row.cwd))
    }

    fn ask_approver(self: &Arc<Self>, row: HostAskRow) {
        let approver = self.shared.live().approver.clone();
        let Some(approver) = approver.filter(|approver| approver.is_for(&row.ask.content)) else {
            return;
        };
        let asks = Arc::clone(self);
        tokio::spawn(async move {
            let owner = row.ask.task.as_str();
            let asker = Asker { task: owner, title: owner, cwd: &row.cwd };
            let Some(decision) = approver.decide(asker, &row.ask).await else { return };
            let decision = DecisionRecord { at: now(), ..decision };
            if let Err(error) = asks.decide(&row.ask, decision).await {
                tracing::error!(%error, ask = %row.ask.id, "the approver's decision is lost; people decide");
            }
        });
    }

    /// A decision that no person made. Whoever decided meanwhile was first.
    async fn decide(&self, ask: &AskRecord, decision: DecisionRecord) -> Result<(), StoreError> {
        let mut batch = Batch::new();
        note_rule(&mut batch, ask, &decision);
        batch.push(Write::DecideHost { ask: ask.id.clone(), decision: Box::new(decision) });
        self.write(batch).await?;
        self.forget(&ask.id);
        Ok(())
    }

    async fn close(&self, ask: &AskId, how: AskClosed) -> Result<Option<AskRecord>, StoreError> {
        match self.write(Write::CloseHost { ask: ask.clone(), how }.into()).await {
            Ok(Some(decided)) => Ok(Some(decided)),
            Ok(None) => {
                self.forget(ask);
                Ok(self.shared.store.host_ask(ask).await?.map(|row| row.ask))
            }
            Err(StoreError::NoAsk(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The ask as it stands, if somebody was first.
    async fn write(&self, batch: Batch) -> Result<Option<AskRecord>, StoreError> {
        let committed = self.shared.store.commit(batch).await?;
        self.changes.send_modify(|count| *count += 1);
        match committed {
            Committed::Lost(now) => Ok(Some(*now)),
            Committed::Written(_) | Committed::Known(_) => Ok(None),
        }
    }

    fn forget(&self, ask: &AskId) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).remove(ask);
    }

    /// One that nobody has asked for since we began may have been asked for right before.
    fn last_heard(&self, ask: &AskId) -> i64 {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.get(ask).copied().unwrap_or(self.began_at)
    }

    fn heard_of(&self, ask: &AskId) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.insert(ask.clone(), now());
    }

    /// People name asks by this alone, so no two may have it, whoever asks.
    async fn free_id(&self) -> Result<AskId, StoreError> {
        loop {
            let id = AskId::new(short_id());
            let store = &self.shared.store;
            if store.ask(&id).await?.is_none() && store.host_ask(&id).await?.is_none() {
                return Ok(id);
            }
        }
    }
}

/// What was asked under this key before, if it is the same.
fn same(known: AskRecord, content: &Ask, key: String) -> Result<AskRecord, Refusal> {
    match known.digest == content.digest() && known.content.offers == content.offers {
        true => Ok(known),
        false => Err(Refusal::AskKeyReused { key }),
    }
}

fn note_rule(batch: &mut Batch, ask: &AskRecord, decision: &DecisionRecord) {
    if let DecidedBy::Rule { rule } = &decision.by {
        let (rule, ask, task) = (rule.clone(), ask.id.clone(), ask.task.clone());
        batch.push(Write::RuleUsed { rule, ask, task, at: decision.at });
    }
}
