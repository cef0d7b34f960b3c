//! The list of tasks, page by page, the one that changed last first.

use std::fmt;
use std::str::FromStr;

use ostler_model::{Task, TaskState};
use rusqlite::{Connection, Row, named_params};

use super::tasks::by_numbers;
use super::{limit, rows};
use crate::{Store, StoreError};

pub(crate) const SQL: &[&str] = &[ALL, IN_STATE, IN_FOLDER, IN_FOLDER_AND_STATE, BY_STARTER];

const ALL: &str = "SELECT updated_at, number FROM tasks \
     WHERE (updated_at, number) < (:updated_at, :number) \
     ORDER BY updated_at DESC, number DESC LIMIT :most";
const IN_STATE: &str = "SELECT updated_at, number FROM tasks \
     WHERE state = :state AND (updated_at, number) < (:updated_at, :number) \
     ORDER BY updated_at DESC, number DESC LIMIT :most";
const IN_FOLDER: &str = "SELECT updated_at, number FROM tasks \
     WHERE cwd = :cwd AND (updated_at, number) < (:updated_at, :number) \
     ORDER BY updated_at DESC, number DESC LIMIT :most";
const IN_FOLDER_AND_STATE: &str = "SELECT updated_at, number FROM tasks \
     WHERE cwd = :cwd AND state = :state AND (updated_at, number) < (:updated_at, :number) \
     ORDER BY updated_at DESC, number DESC LIMIT :most";

// A person has few tasks beside all that there are: what else is wanted of them is looked for among them.
const BY_STARTER: &str = "SELECT updated_at, number FROM tasks \
     WHERE started_by = :by AND (updated_at, number) < (:updated_at, :number) \
     AND (:cwd IS NULL OR cwd = :cwd) AND (:state IS NULL OR state = :state) \
     ORDER BY updated_at DESC, number DESC LIMIT :most";

/// Which tasks are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Empty for all.
    pub states: Vec<TaskState>,
    pub cwd: Option<String>,
    pub started_by: Option<String>,
}

/// Where a page ended. Its text is for callers to keep and give back, nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    pub(crate) updated_at: i64,
    pub(crate) number: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub tasks: Vec<Task>,
    /// Where the next page begins, if there may be one.
    pub next: Option<Cursor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a place in a list; take the `next` of the page before")]
pub struct NotACursor;

impl Cursor {
    /// Before which everything stands.
    pub const FIRST: Self = Self { updated_at: i64::MAX, number: i64::MAX };
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.updated_at, self.number)
    }
}

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let (updated_at, number) = text.split_once('.').ok_or(NotACursor)?;
        let number_of = |text: &str| text.parse::<i64>().map_err(|_| NotACursor);
        Ok(Self { updated_at: number_of(updated_at)?, number: number_of(number)? })
    }
}

impl Store {
    /// The first page begins at [`Cursor::FIRST`].
    pub async fn tasks(
        &self,
        filter: &TaskFilter,
        before: Cursor,
        most: usize,
    ) -> Result<Page, StoreError> {
        let filter = filter.clone();
        self.readers.read(move |connection| page(connection, &filter, before, most)).await
    }
}

fn page(
    connection: &Connection,
    filter: &TaskFilter,
    before: Cursor,
    most: usize,
) -> Result<Page, StoreError> {
    let mut places = Vec::new();
    match filter.states.as_slice() {
        [] => places = all_places(connection, filter, before, most)?,
        // One run of an index for each state, and the newest of all of them: a set of states has no index of its own.
        states => {
            for state in states {
                places.extend(places_in_state(connection, filter, *state, before, most)?);
            }
        }
    }
    places.sort_by(|one, other| other.cmp(one));
    places.dedup();
    places.truncate(most);
    let next = if places.len() < most { None } else { places.last().copied() };
    let numbers = places.into_iter().map(|place| place.number).collect();
    Ok(Page { tasks: by_numbers(connection, numbers)?, next })
}

fn all_places(
    connection: &Connection,
    filter: &TaskFilter,
    before: Cursor,
    most: usize,
) -> Result<Vec<Cursor>, StoreError> {
    if let Some(by) = &filter.started_by {
        return places_by_starter(connection, filter, by, None, before, most);
    }
    let (updated_at, number, most) = (before.updated_at, before.number, limit(most));
    match &filter.cwd {
        None => {
            let key = named_params! { ":updated_at": updated_at, ":number": number, ":most": most };
            rows(connection, ALL, key, place)
        }
        Some(cwd) => {
            let key = named_params! {
                ":cwd": cwd, ":updated_at": updated_at, ":number": number, ":most": most
            };
            rows(connection, IN_FOLDER, key, place)
        }
    }
}

fn places_in_state(
    connection: &Connection,
    filter: &TaskFilter,
    state: TaskState,
    before: Cursor,
    most: usize,
) -> Result<Vec<Cursor>, StoreError> {
    if let Some(by) = &filter.started_by {
        return places_by_starter(connection, filter, by, Some(state), before, most);
    }
    let (updated_at, number, most) = (before.updated_at, before.number, limit(most));
    let state = state.name();
    match &filter.cwd {
        None => {
            let key = named_params! {
                ":state": state, ":updated_at": updated_at, ":number": number, ":most": most
            };
            rows(connection, IN_STATE, key, place)
        }
        Some(cwd) => {
            let key = named_params! {
                ":cwd": cwd, ":state": state, ":updated_at": updated_at, ":number": number,
                ":most": most
            };
            rows(connection, IN_FOLDER_AND_STATE, key, place)
        }
    }
}

fn places_by_starter(
    connection: &Connection,
    filter: &TaskFilter,
    by: &str,
    state: Option<TaskState>,
    before: Cursor,
    most: usize,
) -> Result<Vec<Cursor>, StoreError> {
    let key = named_params! {
        ":by": by, ":cwd": filter.cwd, ":state": state.map(TaskState::name),
        ":updated_at": before.updated_at, ":number": before.number, ":most": limit(most)
    };
    rows(connection, BY_STARTER, key, place)
}

fn place(row: &Row<'_>) -> rusqlite::Result<Cursor> {
    Ok(Cursor { updated_at: row.get(0)?, number: row.get(1)? })
}
