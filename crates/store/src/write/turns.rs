//! Turns, their items, their messages.

use ostler_model::item::ItemEnd;
use ostler_model::{ItemId, Message, TaskId, TurnId};
use rusqlite::params;

use super::Writer;
use crate::job::text;
use crate::queries::prepare;
use crate::{StoreError, TurnRow};

pub(crate) const SQL: &[&str] = &[PUT, PUT_ITEM, PUT_MESSAGES, REMOVE_LATER_MESSAGES];

const PUT: &str = "INSERT INTO turns (task, turn, number, began_at, result) \
     VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (task, turn) DO UPDATE SET \
     number = excluded.number, began_at = excluded.began_at, result = excluded.result";
const PUT_ITEM: &str = "INSERT INTO items (task, turn, item, number, how, body) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (task, turn, item) DO UPDATE SET \
     number = excluded.number, how = excluded.how, body = excluded.body";
const PUT_MESSAGES: &str = "INSERT INTO messages (task, turn, part, body) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (task, turn, part) DO UPDATE SET body = excluded.body";
const REMOVE_LATER_MESSAGES: &str =
    "DELETE FROM messages WHERE task = ?1 AND turn = ?2 AND part > ?3";

#[derive(Clone, Copy)]
pub(super) struct ItemKey<'a> {
    pub(super) turn: &'a TurnId,
    pub(super) item: &'a ItemId,
    pub(super) number: u32,
}

impl Writer<'_> {
    pub(super) fn put_turn(&mut self, turn: &TurnRow) -> Result<(), StoreError> {
        let number = self.number(&turn.task)?;
        let result = turn.result.as_ref().map(|result| text(result, "turn")).transpose()?;
        prepare(self.connection, PUT)?.execute(params![
            number,
            turn.turn.as_str(),
            turn.number,
            turn.began_at,
            result
        ])?;
        Ok(())
    }

    pub(super) fn put_item(
        &mut self,
        task: &TaskId,
        key: ItemKey<'_>,
        how: ItemEnd,
        body: &str,
    ) -> Result<(), StoreError> {
        let number = self.number(task)?;
        prepare(self.connection, PUT_ITEM)?.execute(params![
            number,
            key.turn.as_str(),
            key.item.as_str(),
            key.number,
            text(&how, "item")?,
            body
        ])?;
        Ok(())
    }

    pub(super) fn put_messages(
        &mut self,
        task: &TaskId,
        turn: &TurnId,
        part: u32,
        messages: &[Message],
    ) -> Result<(), StoreError> {
        let number = self.number(task)?;
        let body = text(&messages, "message")?;
        let key = params![number, turn.as_str(), part];
        prepare(self.connection, REMOVE_LATER_MESSAGES)?.execute(key)?;
        let row = params![number, turn.as_str(), part, body];
        prepare(self.connection, PUT_MESSAGES)?.execute(row)?;
        Ok(())
    }
}
