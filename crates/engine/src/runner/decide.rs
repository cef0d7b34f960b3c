//! Who answers an ask: what was decided before, a rule, the operator's program, or people.

use ostler_codex::thread::Notice;
use ostler_model::item::{ItemBody, ItemEnd};
use ostler_model::task::machine::Signal;
use ostler_model::task::{AskRecord, AskState, DecidedBy, DecisionRecord, Unattended};
use ostler_model::{AskId, AskKind, AuditEntry, AuditKind, Decision, Event, Item, RuleId};
use ostler_store::Write;

use super::asks::Delivery;
use super::desk::asked_of;
use super::perform::Todo;
use super::{Runner, Work};
use crate::approver::Asker;
use crate::places::{Led, folders_on_the_way, on_disk};
use crate::shared::now;
use crate::verdict::{by_rule, takes};

impl Runner {
    /// An ask is open; `own` is the program of ours that asks, if it is one. What needs nobody is decided at once: the task does
    /// not wait, and the question and its answer are written together.
    pub(super) fn consider(&mut self, ask: &AskId, own: Option<String>) {
        let Some(record) = self.desk.get(ask) else { return };
        let of = asked_of(&record.content);
        let has_approver = self.has_approver_for(record);
        let decided = self.decided_before(record).or_else(|| self.decided_by_rule(record));
        let by_us = |program| takes(record, Decision::Once, DecidedBy::Approver { program }, None);
        let unwatched = || self.declined_unwatched(record).filter(|_| !has_approver);
        match decided.or_else(|| own.and_then(by_us)).or_else(unwatched) {
            Some(decision) => self.decide_alone(ask, decision),
            None => {
                self.write_ask(ask);
                self.step(Signal::Asked { ask: ask.clone(), of });
                match has_approver {
                    true => self.todo.push(Todo::Approve { ask: ask.clone() }),
                    false => self.tell_asked(ask),
                }
            }
        }
    }

    pub(super) fn has_approver_for(&self, record: &AskRecord) -> bool {
        let live = self.shared.live();
        live.approver.as_ref().is_some_and(|approver| approver.is_for(&record.content))
    }

    /// The same was allowed for the session.
    fn decided_before(&self, record: &AskRecord) -> Option<DecisionRecord> {
        let earlier = self.desk.sessions.get(&record.digest)?;
        let by = DecidedBy::Earlier { ask: earlier.clone() };
        takes(record, Decision::Session, by, None)
    }

    fn decided_by_rule(&self, record: &AskRecord) -> Option<DecisionRecord> {
        let cwd = &self.machine.task().settings.cwd;
        let mut record = self.desk.whole(record);
        let mut folders = Vec::new();
        if let AskKind::FileChange(change) = &mut record.content.kind {
            folders = folders_on_the_way(change, cwd);
            on_disk(change, cwd);
        }
        let decided = by_rule(&self.shared.rules(), &record, cwd)?;
        let is_sure = !decided.decision.allows()
            || self.shared.writers.who_may_write(&self.id, &folders).is_none();
        is_sure.then_some(decided)
    }

    /// Why a person is asked though a rule would allow this change of files.
    pub(super) fn why_not_by_rule(&self, record: &AskRecord) -> Option<String> {
        let AskKind::FileChange(change) = &record.content.kind else { return None };
        let cwd = &self.machine.task().settings.cwd;
        let folders = folders_on_the_way(change, cwd);
        let who = self.shared.writers.who_may_write(&self.id, &folders)?;
        let mut followed = record.clone();
        if let AskKind::FileChange(change) = &mut followed.content.kind {
            on_disk(change, cwd);
        }
        by_rule(&self.shared.rules(), &followed, cwd).filter(|it| it.decision.allows())?;
        Some(format!("a rule for files is not enough: {who}, so a link could lead elsewhere"))
    }

    /// Where the change leads that a rule allows.
    fn note_where_it_leads(&mut self, ask: &AskId, rule: &RuleId) {
        let Some(record) = self.desk.get(ask) else { return };
        let item = record.source.as_ref().and_then(|source| source.item.clone());
        if let (AskKind::FileChange(change), Some(item)) = (&record.content.kind, item) {
            let led = Led::now(change, &self.machine.task().settings.cwd);
            self.led.insert(item, (rule.clone(), led));
        }
    }

    pub(super) fn step_began(&mut self, item: &Item) {
        if matches!(item.body, ItemBody::Command(_)) {
            self.shared.writers.command_began(&self.id, &item.id);
        }
    }

    /// A change that landed elsewhere is told: Codex opens its path anew, and nothing here can keep it from that.
    pub(super) fn step_ended(&mut self, item: &Item, how: ItemEnd) {
        // One of which Codex has not told the end may go on in the background.
        if how == ItemEnd::Reported {
            self.shared.writers.command_ended(&self.id, &item.id);
        }
        let Some((rule, led)) = self.led.remove(&item.id) else { return };
        for elsewhere in led.elsewhere() {
            let text = format!("rule {rule} allowed a change of files, and {elsewhere}");
            let entry = AuditEntry::new(
                AuditKind::Decision,
                now(),
                &format!("rule {rule}"),
                "policy",
                &text,
            );
            let entry = AuditEntry { task: Some(self.id.clone()), ..entry };
            self.log.push(Write::Audit(Box::new(entry)));
            self.hear_notice(None, &Notice::Warning { text });
        }
    }

    fn declined_unwatched(&self, record: &AskRecord) -> Option<DecisionRecord> {
        if self.machine.task().settings.unattended != Unattended::Decline {
            return None;
        }
        let reason = "nobody watches this task, and it does not wait for people";
        takes(record, Decision::Deny, DecidedBy::Nobody, Some(reason))
    }

    pub(super) fn leave_to_people(&mut self, ask: &AskId) {
        let Some(record) = self.desk.get(ask) else { return };
        match self.declined_unwatched(record) {
            Some(decision) => self.decide_alone(ask, decision),
            None => self.tell_asked(ask),
        }
    }

    pub(super) fn ask_approver(&mut self, ask: &AskId) {
        let Some(record) = self.desk.get(ask).cloned() else { return };
        let Some(approver) = self.shared.live().approver.clone() else {
            // There is none any more.
            return self.leave_to_people(ask);
        };
        let task = self.machine.task().clone();
        let ask = ask.clone();
        self.works.spawn(async move {
            let (id, cwd) = (task.id.as_str(), task.settings.cwd.as_str());
            let asker = Asker { task: id, title: &task.title, cwd };
            let decision = approver.decide(asker, &record).await.map(Box::new);
            Work::Approved { ask, decision }
        });
    }

    pub(super) fn approved(&mut self, ask: &AskId, decision: Option<Box<DecisionRecord>>) {
        let is_open = self.desk.get(ask).is_some_and(|record| record.state == AskState::Open);
        match decision {
            _ if !is_open => {}
            Some(decision) => self.decide_alone(ask, DecisionRecord { at: now(), ..*decision }),
            None => self.leave_to_people(ask),
        }
    }

    /// A decision that no person made.
    pub(super) fn decide_alone(&mut self, ask: &AskId, decision: DecisionRecord) {
        if let DecidedBy::Rule { rule } = &decision.by {
            self.note_where_it_leads(ask, rule);
            let (rule, ask, task) = (rule.clone(), ask.clone(), self.id.clone());
            self.log.push(Write::RuleUsed { rule, ask, task, at: decision.at });
        }
        self.desk.decided(ask, decision.clone());
        self.write_ask(ask);
        let at = decision.at;
        let decision = Box::new(decision);
        self.log.event(at, Event::AskDecided { ask: ask.clone(), decision });
        self.step(Signal::AskGone { ask: ask.clone() });
        self.todo.push(Todo::Deliver(Box::new(Delivery { ask: ask.clone() })));
    }
}
