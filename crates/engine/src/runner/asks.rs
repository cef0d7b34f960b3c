//! What Codex asks, and when an answer is used up.
//!
//! An answer is good for the one step that it was asked for. If the app-server dies before that step has ended, the answer
//! is not used up, and is given again if Codex asks the very same.

use ostler_model::ask::Ask;
use ostler_model::patience::{Action, Patience};
use ostler_model::task::machine::Signal;
use ostler_model::task::{
    Agent, AskClosed, AskRecord, AskSource, AskState, IntentState, NotDone, Receipt,
};
use ostler_model::thread::{AskEnd, Update, Withdrawal};
use ostler_model::{AskId, Event, FailureClass, ItemId, TaskState, TurnResult};
use ostler_store::Write;
use uuid::Uuid;

use super::Runner;
use super::desk::Unverified;
use super::perform::Todo;
use crate::shared::now;
use crate::verdict::keepable;

/// What goes to Codex.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) ask: AskId,
}

impl Runner {
    /// Codex asks.
    ///
    /// What is kept and shown of an ask has no secrets; `original` is the ask as it is, if that is not the same.
    pub(super) fn asked(
        &mut self,
        agent: Option<Agent>,
        driver: AskId,
        content: Ask,
        original: Option<Box<Ask>>,
    ) {
        if !content.kind.is_for_people() {
            let update = Box::new(Update::AskOpened { ask: driver, content: Box::new(content) });
            return self.log.event(now(), Event::Thread { agent, update });
        }
        let digest = original.as_deref().unwrap_or(&content).digest();
        let source = self.source(agent.as_ref(), &driver, &content);
        match self.desk.find(&source, &digest) {
            Some(ask) => {
                self.desk.note_original(&ask, original);
                self.ask_returned(ask, driver, source);
            }
            None => {
                let new = Unverified { agent, source, content, original, digest };
                match self.may_be_own_tool(&new.content) {
                    // Nobody is told of it before it is known whether anybody is needed: who looks might answer first.
                    true => {
                        self.desk.unverified.insert(driver.clone(), new);
                        self.todo.push(Todo::Verify { driver });
                    }
                    false => self.new_ask(driver, new, None),
                }
            }
        }
    }

    fn source(&self, agent: Option<&Agent>, driver: &AskId, content: &Ask) -> AskSource {
        let task = self.machine.task();
        let thread = agent.map(|agent| agent.thread.clone()).or_else(|| content.thread.clone());
        let thread = thread.or_else(|| task.thread.clone());
        // The driver's name is that of the connection and that of the request.
        let request =
            driver.as_str().split_once('.').map_or(driver.as_str(), |(_, request)| request);
        AskSource {
            keeper: self.stage.as_ref().and_then(|stage| stage.seat.keeper()).unwrap_or_default(),
            thread: thread.unwrap_or_else(|| "".into()),
            turn: content.turn.clone(),
            item: content.item.clone(),
            request: request.to_owned(),
        }
    }

    fn ask_returned(&mut self, ask: AskId, driver: AskId, source: AskSource) {
        self.desk.live.insert(ask.clone(), driver);
        self.desk.delivered.remove(&ask);
        self.log.event(now(), Event::AskReturned { ask: ask.clone() });
        let Some(record) = self.desk.records.get_mut(&ask) else { return };
        record.source = Some(source);
        if record.state == AskState::Decided {
            self.log.push(Write::Ask(Box::new(record.clone())));
            if let Some(intent) = self.desk.answers.get(&ask).cloned() {
                self.move_intent(&intent, IntentState::Sent { after: None });
            }
            return self.todo.push(Todo::Deliver(Box::new(Delivery { ask })));
        }
        record.state = AskState::Open;
        self.consider(&ask, None);
    }

    /// With the program of ours that asks, if it is known to be ours.
    pub(super) fn new_ask(&mut self, driver: AskId, new: Unverified, own: Option<String>) {
        let ask = self.open_ask(new.agent, Some(new.source), new.content, new.digest);
        self.desk.note_original(&ask, new.original);
        self.desk.live.insert(ask.clone(), driver);
        self.consider(&ask, own);
    }

    /// A question of our own.
    pub(super) fn open_own_ask(&mut self, content: Ask) {
        let digest = content.digest();
        let ask = self.open_ask(None, None, content, digest);
        self.write_ask(&ask);
        self.tell_asked(&ask);
    }

    fn open_ask(
        &mut self,
        agent: Option<Agent>,
        source: Option<AskSource>,
        content: Ask,
        digest: String,
    ) -> AskId {
        let id = AskId::new(short_id());
        let mut record = AskRecord {
            id: id.clone(),
            task: self.id.clone(),
            agent: agent.clone(),
            source,
            content,
            digest: digest.clone(),
            opened_at: now(),
            state: AskState::Open,
            decision: None,
            closed: None,
        };
        record.content.offers = keepable(&record, &self.machine.task().settings.cwd);
        if let Some(why) = self.why_not_by_rule(&record) {
            record.content.reason = Some(match &record.content.reason {
                Some(reason) => format!("{reason} ({why})"),
                None => why,
            });
        }
        let content = Box::new(record.content.clone());
        self.log
            .event(record.opened_at, Event::AskOpened { agent, ask: id.clone(), content, digest });
        self.desk.records.insert(id.clone(), record);
        id
    }

    /// As it stands now.
    pub(super) fn write_ask(&mut self, ask: &AskId) {
        if let Some(record) = self.desk.get(ask) {
            self.log.push(Write::Ask(Box::new(record.clone())));
        }
    }

    pub(super) fn ask_closed(&mut self, agent: Option<Agent>, driver: AskId, how: AskEnd) {
        if self.desk.unverified.remove(&driver).is_some() {
            return;
        }
        let Some(ask) = self.desk.by_driver(&driver) else {
            let update = Box::new(Update::AskClosed { ask: driver, how });
            return self.log.event(now(), Event::Thread { agent, update });
        };
        self.desk.live.remove(&ask);
        let has_item = self
            .desk
            .get(&ask)
            .and_then(|record| record.source.as_ref())
            .is_some_and(|source| source.item.is_some());
        match how {
            AskEnd::Decided { .. } => {
                self.settle_answer(&ask, IntentState::Done { receipt: Receipt::Answered });
                match has_item {
                    true => drop(self.desk.delivered.insert(ask)),
                    false => self.close_ask(&ask, AskClosed::Answered),
                }
            }
            // It is asked again when the thread is open again, or its turn ends.
            AskEnd::Withdrawn { reason: Withdrawal::Disconnected } | AskEnd::Lost { .. } => {}
            AskEnd::Withdrawn { reason } => self.close_ask(&ask, AskClosed::Withdrawn { reason }),
            AskEnd::Declined { reason } => self.close_ask(&ask, AskClosed::Declined { reason }),
            AskEnd::Refused => self.close_ask(&ask, AskClosed::Refused),
            AskEnd::Served => self.close_ask(&ask, AskClosed::Served),
        }
    }

    /// The step that an answer was for has ended: the answer is used up.
    pub(super) fn asks_after_item(&mut self, item: &ItemId) {
        let is_used = |record: &&AskRecord| {
            let source = record.source.as_ref().and_then(|source| source.item.as_ref());
            record.state == AskState::Decided && source == Some(item)
        };
        let used = self.desk.records.values().filter(is_used);
        let used: Vec<AskId> = used.map(|record| record.id.clone()).collect();
        for ask in used {
            // Codex went on, so it has the answer; we may not have heard so, if our process ended in between.
            self.settle_answer(&ask, IntentState::Done { receipt: Receipt::Answered });
            self.close_ask(&ask, AskClosed::Answered);
        }
    }

    /// A turn has ended. If it died, what was asked waits for the same question.
    pub(super) fn asks_after_turn(&mut self, result: &TurnResult) {
        let died =
            result.failure().is_some_and(|failure| failure.class == FailureClass::ServerGone);
        let goes_on = died && !self.machine.task().state.is_over();
        let asks: Vec<AskRecord> = self.desk.records.values().cloned().collect();
        for mut record in asks {
            let is_live = self.desk.live.contains_key(&record.id);
            let is_ours = record.source.is_none();
            if is_ours || (is_live && record.content.turn.is_none()) {
                continue;
            }
            let was_delivered = self.desk.delivered.remove(&record.id);
            match record.state {
                AskState::Open if goes_on => {
                    record.state = AskState::Parked;
                    self.log.event(now(), Event::AskParked { ask: record.id.clone() });
                    self.log.push(Write::Ask(Box::new(record.clone())));
                    self.desk.records.insert(record.id.clone(), record);
                }
                AskState::Decided | AskState::Parked if goes_on => {}
                AskState::Decided if was_delivered || self.desk.has_given(&record) => {
                    self.close_ask(&record.id, AskClosed::Answered);
                }
                AskState::Parked => self.close_ask(&record.id, AskClosed::Overtaken),
                _ => {
                    let reason = Withdrawal::TurnEnded;
                    self.close_ask(&record.id, AskClosed::Withdrawn { reason });
                }
            }
        }
    }

    /// A task that is over asks nobody, and one that has gone on does not ask whether it may.
    pub(super) fn tidy_asks(&mut self) {
        let state = self.machine.task().state;
        let is_left = |record: &&AskRecord| match record.source {
            None => state != TaskState::Parked,
            Some(_) => state.is_over() && !self.desk.live.contains_key(&record.id),
        };
        let left = self.desk.records.values().filter(is_left);
        let left: Vec<AskId> = left.map(|record| record.id.clone()).collect();
        for ask in left {
            self.close_ask(&ask, AskClosed::Overtaken);
        }
    }

    pub(super) fn close_ask(&mut self, ask: &AskId, how: AskClosed) {
        self.desk.live.remove(ask);
        self.desk.delivered.remove(ask);
        self.desk.escalated.remove(ask);
        self.desk.originals.remove(ask);
        let Some(mut record) = self.desk.records.remove(ask) else { return };
        self.settle_answer(ask, self.unproven(ask));
        record.state = AskState::Closed;
        record.closed = Some(how.clone());
        self.log.push(Write::Ask(Box::new(record)));
        self.log.event(now(), Event::AskClosed { ask: ask.clone(), how });
        self.step(Signal::AskGone { ask: ask.clone() });
    }

    /// What became of an answer of which nothing was heard: one that was handed over may have arrived.
    fn unproven(&self, ask: &AskId) -> IntentState {
        let intent = self.desk.answers.get(ask).and_then(|intent| self.intents.get(intent));
        match intent.map(|intent| &intent.state) {
            Some(IntentState::Sent { .. }) => {
                let why = "the app-server died before it said whether it has the answer";
                IntentState::Unknown { why: why.to_owned() }
            }
            _ => IntentState::NotDone { why: NotDone::TooLate },
        }
    }

    fn settle_answer(&mut self, ask: &AskId, to: IntentState) {
        if let Some(intent) = self.desk.answers.remove(ask) {
            self.settle_intent(&intent, to);
        }
    }

    pub(super) fn escalate(&mut self) {
        let patience = Patience::from(&self.machine.task().settings);
        let due = self
            .desk
            .waiting()
            .filter(|(_, waiting)| patience.next(waiting, now()) == Action::Escalate);
        let due: Vec<AskId> = due.map(|(ask, _)| ask.clone()).collect();
        for ask in due {
            self.desk.escalated.insert(ask.clone(), now());
            self.tell_asked_again(&ask);
            self.log.event(now(), Event::AskEscalated { ask });
        }
    }
}

/// Short enough to be typed; the store refuses one that is taken.
pub(crate) fn short_id() -> String {
    let random = Uuid::now_v7().simple().to_string();
    random.get(24..).unwrap_or_default().to_owned()
}
