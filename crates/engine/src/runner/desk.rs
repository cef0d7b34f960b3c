//! The asks of a task that are not closed, by the names that outlive the process that asked.
//!
//! An ask has a name of ours. The name that the driver gives it means nothing in another process, so it is only kept in
//! memory. A question that comes again is known by where it came from and by the digest of what is asked.

use std::collections::{BTreeMap, HashMap, HashSet};

use ostler_model::ask::{Ask, AskKind};
use ostler_model::patience::{Action, Patience, Waiting};
use ostler_model::task::machine::AskedOf;
use ostler_model::task::{
    Agent, AskRecord, AskSource, AskState, DecidedBy, DecisionRecord, Task, Wish,
};
use ostler_model::{AskId, Decision, Event, IntentId, TaskId};
use ostler_store::{Store, StoreError};

use crate::shared::now;

/// Events that are read at once.
const PAGE: usize = 512;

/// The asks that are not closed.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) records: BTreeMap<AskId, AskRecord>,
    /// Our name to the driver's, for those that Codex waits for on this connection.
    pub(super) live: HashMap<AskId, AskId>,
    /// Codex has the answer; the step that it is for has not ended.
    pub(super) delivered: HashSet<AskId>,
    /// The intents that answer them.
    pub(super) answers: HashMap<AskId, IntentId>,
    /// What was allowed for the session: Codex forgets it with its process.
    pub(super) sessions: HashMap<String, AskId>,
    /// When people were told again.
    pub(super) escalated: HashMap<AskId, i64>,
    /// By the driver's name: those that may need nobody. They are asks when that is known.
    pub(super) unverified: HashMap<AskId, Unverified>,
    /// Those that hold a secret, as Codex put them: rules must judge all of it. Never written down.
    pub(super) originals: HashMap<AskId, Ask>,
}

/// What a server asks that has the name of ours.
#[derive(Debug)]
pub(super) struct Unverified {
    pub(super) agent: Option<Agent>,
    pub(super) source: AskSource,
    pub(super) content: Ask,
    pub(super) original: Option<Box<Ask>>,
    pub(super) digest: String,
}

impl Desk {
    pub(super) async fn load(store: &Store, task: &TaskId) -> Result<Self, StoreError> {
        let mut desk = Self::default();
        for mut ask in store.asks_of(task).await? {
            desk.note_session(&ask);
            if ask.state == AskState::Closed {
                continue;
            }
            // What is stored for all to see has no secrets in it; what is owed to Codex has.
            if let Some(decided) = &mut ask.decision
                && let Some(owed) = store.owed_decision(&ask.id).await?
            {
                decided.decision = owed;
            }
            desk.records.insert(ask.id.clone(), ask);
        }
        for intent in store.open_intents_of(task).await? {
            if let Wish::Answer { ask, .. } = &intent.wish {
                desk.answers.insert(ask.clone(), intent.id.clone());
            }
        }
        Ok(desk)
    }

    /// Who was told again must not be told a third time: that is only in the log.
    pub(super) async fn recall_escalations(
        &mut self,
        store: &Store,
        task: &Task,
    ) -> Result<(), StoreError> {
        if self.escalates_at(task).is_none() {
            return Ok(());
        }
        let mut after = 0;
        loop {
            let page = store.events(&task.id, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            for logged in &page {
                if let Event::AskEscalated { ask } = &logged.event {
                    self.escalated.insert(ask.clone(), logged.at);
                }
            }
        }
    }

    /// Those that Codex waits for a person with.
    pub(super) fn for_people(&self) -> BTreeMap<AskId, AskedOf> {
        let open =
            self.records.values().filter(|ask| ask.state == AskState::Open && ask.source.is_some());
        open.map(|ask| (ask.id.clone(), asked_of(&ask.content))).collect()
    }

    pub(super) fn get(&self, ask: &AskId) -> Option<&AskRecord> {
        self.records.get(ask)
    }

    pub(super) fn note_original(&mut self, ask: &AskId, original: Option<Box<Ask>>) {
        if let Some(original) = original {
            self.originals.insert(ask.clone(), *original);
        }
    }

    /// What is asked, with its secrets.
    pub(super) fn whole(&self, record: &AskRecord) -> AskRecord {
        let mut whole = record.clone();
        if let Some(original) = self.originals.get(&record.id) {
            whole.content.kind = original.kind.clone();
        }
        whole
    }

    pub(super) fn live(&self, ask: &AskId) -> Option<&AskId> {
        self.live.get(ask)
    }

    /// Unix milliseconds at which people should be told again.
    pub(super) fn escalates_at(&self, task: &Task) -> Option<i64> {
        let patience = Patience::from(&task.settings);
        let waits =
            self.waiting().filter_map(|(_, waiting)| match patience.next(&waiting, now()) {
                Action::Wait { until } => until,
                Action::Escalate => Some(now()),
                Action::Decline => None,
            });
        waits.min()
    }

    /// Those that wait for a person.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&AskId, Waiting)> {
        let open = self.records.values().filter(|ask| ask.state == AskState::Open);
        open.map(|ask| {
            let escalated_at = self.escalated.get(&ask.id).copied();
            (&ask.id, Waiting { opened_at: ask.opened_at, escalated_at })
        })
    }

    pub(super) fn decided(&mut self, ask: &AskId, decision: DecisionRecord) {
        if let Some(record) = self.records.get_mut(ask) {
            record.state = AskState::Decided;
            record.decision = Some(decision);
            let record = record.clone();
            self.note_session(&record);
        }
    }

    fn note_session(&mut self, ask: &AskRecord) {
        let decision = ask.decision.as_ref().map(|record| &record.decision);
        if decision == Some(&Decision::Session) {
            self.sessions.insert(ask.digest.clone(), ask.id.clone());
        }
    }

    /// The same question, asked before and not closed.
    pub(super) fn find(&self, source: &AskSource, digest: &str) -> Option<AskId> {
        let place =
            |ask: &AskRecord| ask.source.as_ref().is_some_and(|known| known.item == source.item);
        // An answer that Codex has is for its own step: another step that wants the same is asked for by itself.
        let is_used = |ask: &AskRecord| self.delivered.contains(&ask.id) && !place(ask);
        let same = |ask: &&AskRecord| {
            ask.digest == digest
                && ask.source.is_some()
                && !self.live.contains_key(&ask.id)
                && !is_used(ask)
        };
        let candidates: Vec<&AskRecord> = self.records.values().filter(same).collect();
        let found = candidates.iter().find(|ask| place(ask)).or(candidates.first());
        found.map(|ask| ask.id.clone())
    }

    /// Whether Codex has a person's answer: it is proven, and so owed no more. That outlives our process.
    pub(super) fn has_given(&self, ask: &AskRecord) -> bool {
        let decided_by = ask.decision.as_ref().map(|decision| &decision.by);
        matches!(decided_by, Some(DecidedBy::Person { .. })) && !self.answers.contains_key(&ask.id)
    }

    /// Our own questions that are decided and not closed.
    pub(super) fn own_decided(&self) -> Vec<(AskId, DecisionRecord)> {
        let own = self.records.values().filter(|ask| ask.source.is_none());
        own.filter_map(|ask| Some((ask.id.clone(), ask.decision.clone()?))).collect()
    }

    /// Nothing that was asked can be answered before it is asked again.
    pub(super) fn disconnected(&mut self) {
        self.live.clear();
    }

    pub(super) fn by_driver(&self, driver: &AskId) -> Option<AskId> {
        self.live.iter().find(|(_, live)| *live == driver).map(|(ask, _)| ask.clone())
    }
}

/// Whether a person allows something, or tells something.
pub(crate) fn asked_of(content: &Ask) -> AskedOf {
    match content.kind {
        AskKind::UserInput(_) | AskKind::Elicitation(_) => AskedOf::UserInput,
        _ => AskedOf::Approval,
    }
}
