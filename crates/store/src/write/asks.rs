//! Asks, decisions, intents.

use ostler_model::task::{AskRecord, AskState, DecisionRecord, Intent, Wish};
use ostler_model::{AskId, AuditEntry, Decision, QuestionId};
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::{Stop, Writer, audit};
use crate::StoreError;
use crate::job::text;
use crate::queries::prepare;
use crate::secrets::{asks_for_any, erasing};

pub(crate) const SQL: &[&str] = &[ASK, PUT, PUT_INTENT, HAD_SECRET];

const ASK: &str = "SELECT body FROM asks WHERE id = ?1";
// Written again as others may see it, an ask keeps the secret that it has.
const PUT: &str = "INSERT INTO asks (id, task, is_undecided, body, secret) \
     VALUES (:id, :task, :is_undecided, :body, :secret) \
     ON CONFLICT (id) DO UPDATE SET is_undecided = :is_undecided, body = :body, \
     secret = CASE WHEN :is_closed THEN NULL ELSE coalesce(:secret, secret) END WHERE task = :task";
const PUT_INTENT: &str = "INSERT INTO intents (id, task, is_open, body, secret) \
     VALUES (:id, :task, :is_open, :body, :secret) \
     ON CONFLICT (id) DO UPDATE SET is_open = :is_open, body = :body, \
     secret = CASE WHEN :is_open THEN coalesce(:secret, secret) END";
const HAD_SECRET: &str = "SELECT secret IS NOT NULL FROM intents WHERE id = ?1";

/// The decision as others may see it. Of an ask that is not there every answer counts as secret.
pub(super) fn hidden(
    connection: &Connection,
    ask: &AskId,
    decision: &Decision,
) -> Result<Decision, StoreError> {
    let Decision::Answers(answers) = decision else { return Ok(decision.clone()) };
    match find(connection, ask)? {
        Some(record) => Ok(record.content.shown(decision.clone())),
        None => {
            let nothing = |id: &QuestionId| (id.clone(), vec!["(hidden)".to_owned()]);
            Ok(Decision::Answers(answers.keys().map(nothing).collect()))
        }
    }
}

impl Writer<'_> {
    pub(super) fn put_ask(&mut self, ask: &AskRecord) -> Result<(), StoreError> {
        let number = self.number(&ask.task)?;
        let mut shown = ask.clone();
        let mut secret = None;
        if let Some(record) = &mut shown.decision {
            let real = record.decision.clone();
            record.decision = ask.content.shown(real.clone());
            let is_owed = ask.state != AskState::Closed && record.decision != real;
            secret = is_owed.then(|| text(&real, "decision")).transpose()?;
        }
        if ask.decision.is_some() && !self.is_decided(&ask.id)? {
            self.audit_decision(ask)?;
        }
        let clears = ask.state == AskState::Closed && asks_for_any(&ask.content);
        let connection = self.connection;
        let put = || -> Result<usize, StoreError> {
            Ok(prepare(connection, PUT)?.execute(named_params! {
                ":id": ask.id.as_str(),
                ":task": number,
                ":is_undecided": ask.state.takes_a_decision(),
                ":is_closed": ask.state == AskState::Closed,
                ":body": text(&shown, "ask")?,
                ":secret": secret,
            })?)
        };
        let written = if clears { erasing(connection, put)? } else { put()? };
        self.cleared_a_secret |= clears;
        if written == 0 {
            return Err(StoreError::AskIdTaken(ask.id.clone()));
        }
        Ok(())
    }

    fn is_decided(&self, ask: &AskId) -> Result<bool, StoreError> {
        Ok(find(self.connection, ask)?.is_some_and(|known| known.decision.is_some()))
    }

    /// In the transaction of the decision itself: none is there without its entry.
    pub(super) fn audit_decision(&self, ask: &AskRecord) -> Result<(), StoreError> {
        match AuditEntry::of_decision(ask) {
            Some(entry) => audit::add(self.connection, &entry),
            None => Ok(()),
        }
    }

    pub(super) fn decide(
        &mut self,
        ask: &AskId,
        decision: &DecisionRecord,
        then: AskState,
    ) -> Result<(), Stop> {
        let Some(mut record) = find(self.connection, ask)? else {
            return Err(StoreError::NoAsk(ask.clone()).into());
        };
        if !record.state.takes_a_decision() {
            return Err(Stop::Lost(Box::new(record)));
        }
        record.state = then;
        record.decision = Some(decision.clone());
        Ok(self.put_ask(&record)?)
    }

    pub(super) fn put_intent(&mut self, intent: &Intent) -> Result<(), StoreError> {
        let number = self.number(&intent.task)?;
        let connection = self.connection;
        let mut shown = intent.clone();
        let (mut secret, mut clears) = (None, false);
        if let Wish::Answer { ask, decision, .. } = &mut shown.wish {
            let real = decision.clone();
            *decision = hidden(connection, ask, &real)?;
            let is_open = intent.state.is_open();
            let is_owed = is_open && *decision != real;
            secret = is_owed.then(|| text(&real, "decision")).transpose()?;
            clears = !is_open && had_secret(connection, intent)?;
        }
        let put = || -> Result<(), StoreError> {
            prepare(connection, PUT_INTENT)?.execute(named_params! {
                ":id": intent.id.as_str(),
                ":task": number,
                ":is_open": intent.state.is_open(),
                ":body": text(&shown, "intent")?,
                ":secret": secret,
            })?;
            Ok(())
        };
        if clears {
            erasing(connection, put)?;
        } else {
            put()?;
        }
        self.cleared_a_secret |= clears;
        Ok(())
    }
}

fn had_secret(connection: &Connection, intent: &Intent) -> Result<bool, StoreError> {
    let had = prepare(connection, HAD_SECRET)?
        .query_row([intent.id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(had.unwrap_or(false))
}

fn find(connection: &Connection, ask: &AskId) -> Result<Option<AskRecord>, StoreError> {
    let body = |row: &Row<'_>| row.get::<_, String>(0);
    let body = prepare(connection, ASK)?.query_row([ask.as_str()], body).optional()?;
    body.map(|body| serde_json::from_str(&body).map_err(StoreError::unreadable("ask"))).transpose()
}
