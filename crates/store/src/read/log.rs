//! The log of a task: events, raw lines, text that still grows.

use std::collections::HashMap;

use ostler_model::task::Partial;
use ostler_model::{Event, ItemId, TaskId, TurnId};
use rusqlite::{Connection, Row};

use super::{column, limit, parsed, readable, rows};
use crate::queries::prepare;
use crate::{Store, StoreError};

pub(crate) const SQL: &[&str] = &[EVENTS, STATE_EVENTS, WIRE, PARTIALS];

const EVENTS: &str = "SELECT seq, at, body FROM events \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3";
const STATE_EVENTS: &str = "SELECT seq, at, body FROM events \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND name = 'state' ORDER BY seq";
const WIRE: &str = "SELECT place, after_seq, at, size, lines FROM wire \
     WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND place > ?2 ORDER BY place LIMIT ?3";
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

/// Raw lines that came together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireChunk {
    /// To go on from.
    pub place: i64,
    /// The newest event when they came.
    pub after_seq: u64,
    /// Unix milliseconds.
    pub at: i64,
    /// Each with its line break.
    pub lines: Vec<u8>,
}

impl Store {
    /// Events after this seq, in order. None of a task that is not there.
    pub async fn events(
        &self,
        task: &TaskId,
        after: u64,
        most: usize,
    ) -> Result<Vec<LoggedEvent>, StoreError> {
        let key = (task.as_str().to_owned(), after.cast_signed(), limit(most));
        self.readers.read(move |connection| events(connection, EVENTS, key)).await
    }

    /// Every change of the task's state with its cause.
    pub async fn state_events(&self, task: &TaskId) -> Result<Vec<LoggedEvent>, StoreError> {
        let key = [task.as_str().to_owned()];
        self.readers.read(move |connection| events(connection, STATE_EVENTS, key)).await
    }

    /// Raw lines after this place; the first are after 0.
    pub async fn wire(
        &self,
        task: &TaskId,
        after: i64,
        most: usize,
    ) -> Result<Vec<WireChunk>, StoreError> {
        let key = (task.as_str().to_owned(), after, limit(most));
        let packed =
            self.readers.read(move |connection| rows(connection, WIRE, key, packed)).await?;
        packed.into_iter().map(Packed::unpack).collect()
    }

    /// The text of each item that has not ended, in the order in which the items began.
    pub async fn partials(&self, task: &TaskId) -> Result<Vec<Partial>, StoreError> {
        let task = task.as_str().to_owned();
        self.readers.read(move |connection| partials(connection, &task)).await
    }
}

fn events(
    connection: &Connection,
    sql: &'static str,
    key: impl rusqlite::Params,
) -> Result<Vec<LoggedEvent>, StoreError> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(key)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let body = column(row, 2)?;
        // A log has no hole because one record makes no sense to us.
        let unknown =
            || Event::Notice { name: "unreadable".to_owned(), json: body.to_owned(), agent: None };
        let event = readable(parsed(body, "event"))?.unwrap_or_else(unknown);
        events.push(LoggedEvent { seq: row.get(0)?, at: row.get(1)?, event });
    }
    Ok(events)
}

struct Packed {
    chunk: WireChunk,
    size: usize,
}

fn packed(row: &Row<'_>) -> rusqlite::Result<Packed> {
    let chunk = WireChunk {
        place: row.get(0)?,
        after_seq: row.get(1)?,
        at: row.get(2)?,
        lines: row.get(4)?,
    };
    Ok(Packed { chunk, size: row.get(3)? })
}

impl Packed {
    fn unpack(mut self) -> Result<WireChunk, StoreError> {
        self.chunk.lines =
            zstd::bulk::decompress(&self.chunk.lines, self.size).map_err(|error| {
                StoreError::Unreadable { what: "piece of the wire", reason: error.to_string() }
            })?;
        Ok(self.chunk)
    }
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
