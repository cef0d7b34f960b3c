//! One batch inside a transaction.

pub(crate) mod asks;
pub(crate) mod audit;
pub(crate) mod host_asks;
pub(crate) mod keys;
pub(crate) mod log;
pub(crate) mod notifications;
pub(crate) mod rest;
pub(crate) mod tasks;
pub(crate) mod turns;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ostler_model::TaskId;
use ostler_model::task::AskRecord;
use rusqlite::Connection;

use crate::job::Ready;
use crate::{Seqs, StoreError, Write};

/// A batch on its way into the database.
pub(crate) struct Writer<'c> {
    pub(crate) connection: &'c Connection,
    logs: HashMap<TaskId, Log>,
    /// A secret was cleared: the copies in SQLite's own log have to go, too.
    pub(crate) cleared_a_secret: bool,
}

/// Where the log of a task stands.
#[derive(Clone, Copy)]
pub(crate) struct Log {
    pub(crate) number: i64,
    pub(crate) last: i64,
    first: Option<i64>,
}

/// Why a batch was not written although nothing failed.
pub(crate) enum Stop {
    Known(TaskId),
    Lost(Box<AskRecord>),
    Failed(StoreError),
}

impl<E: Into<StoreError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl<'c> Writer<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self { connection, logs: HashMap::new(), cleared_a_secret: false }
    }

    /// Writes the batch. After a `Stop` the caller takes back what was written of it.
    pub(crate) fn write(&mut self, writes: &[Ready]) -> Result<(), Stop> {
        for write in writes {
            match write {
                Ready::Event { task, at, name, body } => self.add_event(task, *at, name, body)?,
                Ready::Item { task, turn, item, number, how, body } => {
                    let key = turns::ItemKey { turn, item, number: *number };
                    self.put_item(task, key, *how, body)?;
                }
                Ready::Plain(write) => self.write_plain(write)?,
            }
        }
        Ok(())
    }

    pub(crate) fn seqs(&self) -> Vec<Seqs> {
        let mut seqs: Vec<_> = self.logs.iter().filter_map(|(task, log)| log.seqs(task)).collect();
        seqs.sort_by(|one, other| one.task.cmp(&other.task));
        seqs
    }

    fn write_plain(&mut self, write: &Write) -> Result<(), Stop> {
        match write {
            Write::NewTask { task, key } => self.add_task(task, key.as_ref())?,
            Write::Task(task) => self.put_task(task)?,
            Write::Event { task, at, event } => self.add_guarded_event(task, *at, event)?,
            Write::Intent(intent) => self.put_intent(intent)?,
            Write::Ask(ask) => self.put_ask(ask)?,
            Write::Decide { ask, decision, then } => self.decide(ask, decision, *then)?,
            Write::HostAsk(row) => self.add_host_ask(row)?,
            Write::DecideHost { ask, decision } => self.decide_host(ask, decision)?,
            Write::CloseHost { ask, how } => self.close_host(ask, how)?,
            Write::HostAttempt { ask, attempt } => self.add_attempt(ask, attempt)?,
            Write::Turn(turn) => self.put_turn(turn)?,
            // Items were made ready before.
            Write::Item { .. } => {}
            Write::Messages { task, turn, part, messages } => {
                self.put_messages(task, turn, *part, messages)?;
            }
            Write::Partial { task, partial } => self.add_partial(task, partial)?,
            Write::PartialsGone { task, turn, item } => self.remove_partials(task, turn, item)?,
            Write::TurnPartialsGone { task, turn } => self.remove_turn_partials(task, turn)?,
            Write::Rule(rule) => self.put_rule(rule)?,
            Write::RuleGone(rule) => self.remove_rule(rule)?,
            Write::RuleUsed { rule, ask, task, at } => self.add_rule_use(rule, ask, task, *at)?,
            Write::AppServer(server) => self.put_app_server(server)?,
            Write::AppServerGone { keeper } => self.remove_app_server(keeper)?,
            Write::HomePin { codex_home, version } => self.put_home_pin(codex_home, version)?,
            Write::Key(key) => self.add_key(key)?,
            Write::KeyUsed(key) => self.put_key(key)?,
            Write::KeyGone { id } => self.remove_key(id)?,
            Write::Notification(row) => self.add_notification(row)?,
            Write::NotificationTried(row) => self.put_tried(row)?,
            Write::ReplayNotification { id, at } => self.replay_notification(id, *at)?,
            Write::NotificationsRead { up_to, task } => {
                self.read_notifications(*up_to, task.as_ref())?;
            }
            Write::EndTold { task, started_by, ended_at } => {
                self.note_end_told(task, started_by, *ended_at)?;
            }
            Write::Audit(entry) => audit::add(self.connection, entry)?,
            Write::AuditSeen { up_to } => audit::note_seen(self.connection, *up_to)?,
            Write::RemoveTask(task) => self.remove_task(task)?,
        }
        Ok(())
    }

    /// Where the log of this task stands, with what the batch has added.
    fn log(&mut self, task: &TaskId) -> Result<&mut Log, StoreError> {
        match self.logs.entry(task.clone()) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let (number, last) = tasks::place_of(self.connection, task)?;
                Ok(entry.insert(Log { number, last, first: None }))
            }
        }
    }

    fn number(&mut self, task: &TaskId) -> Result<i64, StoreError> {
        self.log(task).map(|log| log.number)
    }

    fn forget(&mut self, task: &TaskId) {
        self.logs.remove(task);
    }
}

impl Log {
    /// The seq of the next event.
    fn next(&mut self) -> i64 {
        self.last += 1;
        self.first.get_or_insert(self.last);
        self.last
    }

    fn seqs(&self, task: &TaskId) -> Option<Seqs> {
        let (first, last) = (self.first?.cast_unsigned(), self.last.cast_unsigned());
        Some(Seqs { task: task.clone(), first, last })
    }
}
