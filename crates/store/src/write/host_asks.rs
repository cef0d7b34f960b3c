//! Questions of host agents' own tools.

use ostler_model::task::{AskClosed, AskState, DecisionRecord};
use ostler_model::{AskId, Decision};
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::{Stop, Writer};
use crate::job::text;
use crate::queries::prepare;
use crate::{Attempt, HostAskRow, StoreError};

pub(crate) const SQL: &[&str] = &[ASK, BY_KEY, ADD, PUT];

/// Agents that tried to decide one ask: who comes later is only in the daemon's log.
const MOST_ATTEMPTS: usize = 16;

const ASK: &str = "SELECT body FROM host_asks WHERE id = ?1";
const BY_KEY: &str = "SELECT body FROM host_asks WHERE owner = ?1 AND key = ?2";
const ADD: &str = "INSERT INTO host_asks \
     (id, owner, key, digest, is_undecided, is_for_session, opened_at, body) \
     VALUES (:id, :owner, :key, :digest, :is_undecided, :is_for_session, :opened_at, :body) \
     ON CONFLICT (id) DO NOTHING";
const PUT: &str = "UPDATE host_asks SET \
     is_undecided = :is_undecided, is_for_session = :is_for_session, body = :body WHERE id = :id";

impl Writer<'_> {
    pub(super) fn add_host_ask(&self, row: &HostAskRow) -> Result<(), Stop> {
        let ask = &row.ask;
        let key = [ask.task.as_str(), &row.key];
        if let Some(known) = find(self.connection, BY_KEY, key)? {
            return Err(Stop::Lost(Box::new(known.ask)));
        }
        let added = prepare(self.connection, ADD)?.execute(named_params! {
            ":id": ask.id.as_str(),
            ":owner": ask.task.as_str(),
            ":key": row.key,
            ":digest": ask.digest,
            ":is_undecided": ask.state.takes_a_decision(),
            ":is_for_session": is_for_session(row),
            ":opened_at": ask.opened_at,
            ":body": text(row, "host ask")?,
        })?;
        match added {
            0 => Err(StoreError::AskIdTaken(ask.id.clone()).into()),
            _ => Ok(self.audit_decision(ask)?),
        }
    }

    pub(super) fn decide_host(&self, ask: &AskId, decision: &DecisionRecord) -> Result<(), Stop> {
        let mut row = self.undecided_host_ask(ask)?;
        row.ask.state = AskState::Decided;
        row.ask.decision = Some(decision.clone());
        self.audit_decision(&row.ask)?;
        Ok(self.put_host_ask(&row)?)
    }

    pub(super) fn close_host(&self, ask: &AskId, how: &AskClosed) -> Result<(), Stop> {
        let mut row = self.undecided_host_ask(ask)?;
        row.ask.state = AskState::Closed;
        row.ask.closed = Some(how.clone());
        Ok(self.put_host_ask(&row)?)
    }

    pub(super) fn add_attempt(&self, ask: &AskId, attempt: &Attempt) -> Result<(), StoreError> {
        let mut row = self.host_ask(ask)?;
        if row.attempts.len() < MOST_ATTEMPTS {
            row.attempts.push(attempt.clone());
            self.put_host_ask(&row)?;
        }
        Ok(())
    }

    fn undecided_host_ask(&self, ask: &AskId) -> Result<HostAskRow, Stop> {
        let row = self.host_ask(ask)?;
        match row.ask.state.takes_a_decision() {
            true => Ok(row),
            false => Err(Stop::Lost(Box::new(row.ask))),
        }
    }

    fn host_ask(&self, ask: &AskId) -> Result<HostAskRow, StoreError> {
        let found = find(self.connection, ASK, [ask.as_str()])?;
        found.ok_or_else(|| StoreError::NoAsk(ask.clone()))
    }

    fn put_host_ask(&self, row: &HostAskRow) -> Result<(), StoreError> {
        prepare(self.connection, PUT)?.execute(named_params! {
            ":id": row.ask.id.as_str(),
            ":is_undecided": row.ask.state.takes_a_decision(),
            ":is_for_session": is_for_session(row),
            ":body": text(row, "host ask")?,
        })?;
        Ok(())
    }
}

fn is_for_session(row: &HostAskRow) -> bool {
    let decision = row.ask.decision.as_ref().map(|record| &record.decision);
    decision == Some(&Decision::Session)
}

fn find<const N: usize>(
    connection: &Connection,
    sql: &'static str,
    key: [&str; N],
) -> Result<Option<HostAskRow>, StoreError> {
    let body = |row: &Row<'_>| row.get::<_, String>(0);
    let key = rusqlite::params_from_iter(key);
    let body = prepare(connection, sql)?.query_row(key, body).optional()?;
    body.map(|body| serde_json::from_str(&body).map_err(StoreError::unreadable("host ask")))
        .transpose()
}
