//! Turns, items, messages.

use ostler_model::item::ItemEnd;
use ostler_model::{Item, ItemId, Message, TaskId, TurnId};
use rusqlite::{Connection, Params};

use super::{column, limit, parsed};
use crate::queries::prepare;
use crate::{Store, StoreError, TurnRow};

pub(crate) const SQL: &[&str] = &[TURNS, ITEMS, ITEMS_OF_TURN, MESSAGES];

const TURNS: &str = "SELECT turn, number, began_at, result FROM turns \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) ORDER BY number";
const ITEMS: &str = "SELECT place, turn, number, item, how, body FROM items \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND place > ?2 ORDER BY place LIMIT ?3";
const ITEMS_OF_TURN: &str = "SELECT place, turn, number, item, how, body FROM items \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND turn = ?2 AND place > ?3 \
     ORDER BY place LIMIT ?4";
const MESSAGES: &str = "SELECT turn, body FROM messages \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) ORDER BY place";

/// An item of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredItem {
    /// To go on from.
    pub place: i64,
    pub turn: TurnId,
    /// As it was given.
    pub number: u32,
    pub item: Item,
    pub how: ItemEnd,
}

/// The messages of one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnMessages {
    pub turn: TurnId,
    pub messages: Vec<Message>,
}

impl Store {
    pub async fn turns(&self, task: &TaskId) -> Result<Vec<TurnRow>, StoreError> {
        let task = task.clone();
        self.readers.read(move |connection| turns(connection, &task)).await
    }

    /// Items of all turns after this place, in the order in which they came; the first are after 0.
    pub async fn items(
        &self,
        task: &TaskId,
        after: i64,
        most: usize,
    ) -> Result<Vec<StoredItem>, StoreError> {
        let key = (task.as_str().to_owned(), after, limit(most));
        self.readers.read(move |connection| items(connection, ITEMS, key)).await
    }

    pub async fn items_of_turn(
        &self,
        task: &TaskId,
        turn: &TurnId,
        after: i64,
        most: usize,
    ) -> Result<Vec<StoredItem>, StoreError> {
        let key = (task.as_str().to_owned(), turn.as_str().to_owned(), after, limit(most));
        self.readers.read(move |connection| items(connection, ITEMS_OF_TURN, key)).await
    }

    /// Turn by turn, in the order in which they were first written.
    pub async fn messages(&self, task: &TaskId) -> Result<Vec<TurnMessages>, StoreError> {
        let task = task.as_str().to_owned();
        self.readers.read(move |connection| messages(connection, &task)).await
    }
}

fn turns(connection: &Connection, task: &TaskId) -> Result<Vec<TurnRow>, StoreError> {
    let mut statement = prepare(connection, TURNS)?;
    let mut rows = statement.query([task.as_str()])?;
    let mut turns = Vec::new();
    while let Some(row) = rows.next()? {
        let result: Option<String> = row.get(3)?;
        turns.push(TurnRow {
            task: task.clone(),
            turn: TurnId::new(column(row, 0)?),
            number: row.get(1)?,
            began_at: row.get(2)?,
            result: result.map(|result| parsed(&result, "turn")).transpose()?,
        });
    }
    Ok(turns)
}

fn items(
    connection: &Connection,
    sql: &'static str,
    key: impl Params,
) -> Result<Vec<StoredItem>, StoreError> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(key)?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        let id = ItemId::new(column(row, 3)?);
        items.push(StoredItem {
            place: row.get(0)?,
            turn: TurnId::new(column(row, 1)?),
            number: row.get(2)?,
            item: Item { id, body: parsed(column(row, 5)?, "item")? },
            how: parsed(column(row, 4)?, "item")?,
        });
    }
    Ok(items)
}

fn messages(connection: &Connection, task: &str) -> Result<Vec<TurnMessages>, StoreError> {
    let mut statement = prepare(connection, MESSAGES)?;
    let mut rows = statement.query([task])?;
    let mut turns: Vec<TurnMessages> = Vec::new();
    while let Some(row) = rows.next()? {
        let turn = TurnId::new(column(row, 0)?);
        let messages: Vec<Message> = parsed(column(row, 1)?, "message")?;
        match turns.iter_mut().rfind(|known| known.turn == turn) {
            Some(known) => known.messages.extend(messages),
            None => turns.push(TurnMessages { turn, messages }),
        }
    }
    Ok(turns)
}
