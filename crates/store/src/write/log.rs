//! Events, and the text of items that have not ended.

use ostler_model::task::{Partial, Wish};
use ostler_model::{AskId, Decision, Event, ItemId, TaskId, TurnId};
use rusqlite::params;

use super::Writer;
use super::asks::hidden;
use crate::StoreError;
use crate::job::text;
use crate::queries::prepare;

pub(crate) const SQL: &[&str] = &[ADD, ADD_PARTIAL, REMOVE_PARTIALS, REMOVE_TURN_PARTIALS];

const ADD: &str = "INSERT INTO events (task, seq, at, name, body) VALUES (?1, ?2, ?3, ?4, ?5)";
const ADD_PARTIAL: &str = "INSERT INTO partials (task, turn, item, kind, agent, text) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const REMOVE_PARTIALS: &str = "DELETE FROM partials WHERE task = ?1 AND turn = ?2 AND item = ?3";
const REMOVE_TURN_PARTIALS: &str = "DELETE FROM partials WHERE task = ?1 AND turn = ?2";

impl Writer<'_> {
    pub(crate) fn add_event(
        &mut self,
        task: &TaskId,
        at: i64,
        name: &str,
        body: &str,
    ) -> Result<(), StoreError> {
        let log = self.log(task)?;
        let (number, seq) = (log.number, log.next());
        prepare(self.connection, ADD)?.execute(params![number, seq, at, name, body])?;
        Ok(())
    }

    /// An event that may hold an answer: in the log it stands as others may see it.
    pub(super) fn add_guarded_event(
        &mut self,
        task: &TaskId,
        at: i64,
        event: &Event,
    ) -> Result<(), StoreError> {
        let mut shown = event.clone();
        match &mut shown {
            Event::AskDecided { ask, decision } => self.hide(ask, &mut decision.decision)?,
            Event::Intended { intent } => {
                if let Wish::Answer { ask, decision, .. } = &mut intent.wish {
                    self.hide(ask, decision)?;
                }
            }
            _ => {}
        }
        self.add_event(task, at, shown.name(), &text(&shown, "event")?)
    }

    fn hide(&self, ask: &AskId, decision: &mut Decision) -> Result<(), StoreError> {
        *decision = hidden(self.connection, ask, decision)?;
        Ok(())
    }

    /// One more piece. Adding to a row would write the whole text again each time.
    pub(super) fn add_partial(
        &mut self,
        task: &TaskId,
        partial: &Partial,
    ) -> Result<(), StoreError> {
        let number = self.number(task)?;
        let Partial { agent, turn, item, kind, text: piece } = partial;
        prepare(self.connection, ADD_PARTIAL)?.execute(params![
            number,
            turn.as_str(),
            item.as_str(),
            text(kind, "kind")?,
            agent.as_ref().map(|agent| text(agent, "sub-agent")).transpose()?,
            piece
        ])?;
        Ok(())
    }

    pub(super) fn remove_partials(
        &mut self,
        task: &TaskId,
        turn: &TurnId,
        item: &ItemId,
    ) -> Result<(), StoreError> {
        let number = self.number(task)?;
        let key = params![number, turn.as_str(), item.as_str()];
        prepare(self.connection, REMOVE_PARTIALS)?.execute(key)?;
        Ok(())
    }

    pub(super) fn remove_turn_partials(
        &mut self,
        task: &TaskId,
        turn: &TurnId,
    ) -> Result<(), StoreError> {
        let number = self.number(task)?;
        prepare(self.connection, REMOVE_TURN_PARTIALS)?.execute(params![number, turn.as_str()])?;
        Ok(())
    }
}
