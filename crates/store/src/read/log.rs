//! The log of a task: events, and text that still grows.

use std::collections::HashMap;

use ostler_model::task::Partial;
use ostler_model::thread::Update;
use ostler_model::{Event, Item, ItemId, TaskId, TurnId};
use rusqlite::{Connection, Row};

use super::{column, limit, parsed, readable, row};
use crate::job::EndedItem;
use crate::queries::prepare;
use crate::{Store, StoreError};

pub(crate) const SQL: &[&str] =
    &[EVENTS, STATE_EVENTS, REVIEW_EVENTS, EVENTS_OF_ALL, LAST_PLACE, ENDED_ITEM, PARTIALS];

const EVENTS: &str = "SELECT seq, at, body FROM events \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3";
const STATE_EVENTS: &str = "SELECT seq, at, body FROM events \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND name = 'state' ORDER BY seq";
const REVIEW_EVENTS: &str = "SELECT seq, at, body FROM events \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND name = 'auto_review' ORDER BY seq";
// The order of the tables is that of the reading.
const EVENTS_OF_ALL: &str = "SELECT seq, at, events.body, place, id FROM events \
     CROSS JOIN tasks ON number = task WHERE place > ?1 ORDER BY place LIMIT ?2";
const LAST_PLACE: &str = "SELECT coalesce(max(place), 0) FROM events";
const ENDED_ITEM: &str = "SELECT how, body FROM items \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND turn = ?2 AND item = ?3";
const PARTIALS: &str = "SELECT turn, item, kind, agent, text, place FROM partials \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) ORDER BY turn, item, place";

/// A record of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    pub seq: u64,
    /// Unix milliseconds.
    pub at: i64,
    pub event: Event,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogPage {
    pub events: Vec<LoggedEvent>,
    /// Nothing was written behind it when it was read.
    pub is_last: bool,
}

/// A record of any log, and its place among all that was ever written.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedEvent {
    pub place: u64,
    pub task: TaskId,
    pub logged: LoggedEvent,
}

/// A part of all logs as one.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedPage {
    pub events: Vec<PlacedEvent>,
    pub is_last: bool,
}

impl Store {
    /// Events of all tasks behind this place, in the order in which they were written, and no further one once those read have
    /// so many bytes. Places have no hole but where tasks were removed, and none is used twice.
    pub async fn events_of_all(
        &self,
        after: u64,
        most: usize,
        most_bytes: usize,
    ) -> Result<PlacedPage, StoreError> {
        let (after, key_most) = (after.cast_signed(), limit(most));
        let read = move |connection: &Connection| {
            let mut statement = prepare(connection, EVENTS_OF_ALL)?;
            let mut rows = statement.query((after, key_most))?;
            let (mut events, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                if bytes >= most_bytes {
                    return Ok(PlacedPage { events, is_last: false });
                }
                let task = column(row, 4)?;
                let (logged, size) = logged(connection, task, row)?;
                bytes += size;
                let task = TaskId::new(task);
                events.push(PlacedEvent { place: row.get(3)?, task, logged });
            }
            Ok(PlacedPage { is_last: events.len() < most, events })
        };
        self.readers.read(read).await
    }

    /// The place of the last event that was written.
    pub async fn last_place(&self) -> Result<u64, StoreError> {
        let read = |connection: &Connection| row(connection, LAST_PLACE, [], |row| row.get(0));
        Ok(self.readers.read(read).await?.unwrap_or(0))
    }

    /// Events after this seq, in order. None of a task that is not there.
    pub async fn events(
        &self,
        task: &TaskId,
        after: u64,
        most: usize,
    ) -> Result<Vec<LoggedEvent>, StoreError> {
        Ok(self.log_page(task, after, most, usize::MAX).await?.events)
    }

    /// The same, but no further event once those read have so many bytes: some have a megabyte each.
    pub async fn log_page(
        &self,
        task: &TaskId,
        after: u64,
        most: usize,
        most_bytes: usize,
    ) -> Result<LogPage, StoreError> {
        let task = task.as_str().to_owned();
        let key_most = limit(most);
        let read = move |connection: &Connection| {
            let key = (&task, after.cast_signed(), key_most);
            let (events, is_whole) = events(connection, &task, EVENTS, key, most_bytes)?;
            Ok(LogPage { is_last: is_whole && events.len() < most, events })
        };
        self.readers.read(read).await
    }

    /// Every change of the task's state with its cause.
    pub async fn state_events(&self, task: &TaskId) -> Result<Vec<LoggedEvent>, StoreError> {
        let task = task.as_str().to_owned();
        let read = move |connection: &Connection| {
            Ok(events(connection, &task, STATE_EVENTS, [&task], usize::MAX)?.0)
        };
        self.readers.read(read).await
    }

    /// What Codex's own reviewer decided.
    pub async fn review_events(&self, task: &TaskId) -> Result<Vec<LoggedEvent>, StoreError> {
        let task = task.as_str().to_owned();
        let read = move |connection: &Connection| {
            Ok(events(connection, &task, REVIEW_EVENTS, [&task], usize::MAX)?.0)
        };
        self.readers.read(read).await
    }

    /// The text of each item that has not ended, in the order in which the items began.
    pub async fn partials(&self, task: &TaskId) -> Result<Vec<Partial>, StoreError> {
        let task = task.as_str().to_owned();
        self.readers.read(move |connection| partials(connection, &task)).await
    }
}

/// The events, and whether these are all that the query finds.
fn events(
    connection: &Connection,
    task: &str,
    sql: &'static str,
    key: impl rusqlite::Params,
    most_bytes: usize,
) -> Result<(Vec<LoggedEvent>, bool), StoreError> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(key)?;
    let (mut events, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        if bytes >= most_bytes {
            return Ok((events, false));
        }
        let (event, size) = logged(connection, task, row)?;
        bytes += size;
        events.push(event);
    }
    Ok((events, true))
}

/// One row of seq, time and body, and the size of what it says.
fn logged(
    connection: &Connection,
    task: &str,
    row: &Row<'_>,
) -> Result<(LoggedEvent, usize), StoreError> {
    let body = column(row, 2)?;
    // A log has no hole because one record makes no sense to us.
    let unknown =
        || Event::Notice { name: "unreadable".to_owned(), json: body.to_owned(), agent: None };
    let (event, size) = match body.starts_with(ENDED_ITEM_BEGINNING) {
        true => ended_item(connection, task, body)?,
        false => (readable(parsed(body, "event"))?, body.len()),
    };
    let event = event.unwrap_or_else(unknown);
    Ok((LoggedEvent { seq: row.get(0)?, at: row.get(1)?, event }, size))
}

/// How [`EndedItem`] begins, and no event.
const ENDED_ITEM_BEGINNING: &str = "{\"ended_item\":";

/// The end of an item, from where the item is stored, and its size.
fn ended_item(
    connection: &Connection,
    task: &str,
    body: &str,
) -> Result<(Option<Event>, usize), StoreError> {
    let Some(EndedItem { ended_item: id, turn }) = readable(parsed(body, "event"))? else {
        return Ok((None, body.len()));
    };
    let mut statement = prepare(connection, ENDED_ITEM)?;
    let mut rows = statement.query((task, turn.as_str(), id.as_str()))?;
    let Some(row) = rows.next()? else { return Ok((None, body.len())) };
    let (how, item) = (column(row, 0)?, column(row, 1)?);
    let size = item.len();
    let (how, body) = (readable(parsed(how, "item"))?, readable(parsed(item, "item"))?);
    let (Some(how), Some(body)) = (how, body) else { return Ok((None, size)) };
    let update = Update::ItemEnded { turn, item: Item { id, body }, how };
    Ok((Some(Event::Thread { agent: None, update: Box::new(update) }), size))
}

fn partials(connection: &Connection, task: &str) -> Result<Vec<Partial>, StoreError> {
    let mut statement = prepare(connection, PARTIALS)?;
    let mut rows = statement.query([task])?;
    let mut begun: Vec<(i64, Partial)> = Vec::new();
    let mut index = HashMap::new();
    while let Some(row) = rows.next()? {
        let (turn, item, kind) = (column(row, 0)?, column(row, 1)?, column(row, 2)?);
        let key = (turn.to_owned(), item.to_owned(), kind.to_owned());
        let at = *index.entry(key).or_insert(begun.len());
        if let Some((_, partial)) = begun.get_mut(at) {
            partial.text.push_str(column(row, 4)?);
            continue;
        }
        let partial = Partial {
            agent: row
                .get::<_, Option<String>>(3)?
                .map(|agent| parsed(&agent, "sub-agent"))
                .transpose()?,
            turn: TurnId::new(turn),
            item: ItemId::new(item),
            kind: parsed(kind, "piece of text")?,
            text: column(row, 4)?.to_owned(),
        };
        begun.push((row.get(5)?, partial));
    }
    begun.sort_by_key(|(place, _)| *place);
    Ok(begun.into_iter().map(|(_, partial)| partial).collect())
}
