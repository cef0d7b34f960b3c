//! What is handed to the writer.

use std::collections::HashSet;

use ostler_model::item::ItemEnd;
use ostler_model::thread::Update;
use ostler_model::{Event, Item, ItemId, TaskId, TurnId};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::sweep::{Step, Stepped};
use crate::{Batch, Committed, StoreError, Write};

/// The least that a write counts for in the queue: about what its ids and its place take.
const LEAST: usize = 256;

pub(crate) enum Job {
    Write(Writing),
    /// A bounded piece of clearing away.
    Sweep(Step, oneshot::Sender<Result<Stepped, StoreError>>),
    /// Nothing comes after it.
    Close,
}

pub(crate) struct Writing {
    pub(crate) writes: Vec<Ready>,
    pub(crate) bytes: usize,
    /// Absent if nobody waits.
    pub(crate) waiter: Option<oneshot::Sender<Result<Committed, StoreError>>>,
    /// Its room in the queue, given back when it is written or spooled.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// A write whose large parts are text already: whoever writes has many cores, the writer has one.
pub(crate) enum Ready {
    Event { task: TaskId, at: i64, name: &'static str, body: String },
    Item { task: TaskId, turn: TurnId, item: ItemId, number: u32, how: ItemEnd, body: String },
    Plain(Write),
}

/// What stands in the log for the end of an item: the item is stored in its own place, and once is enough. The first word
/// tells it from every event.
#[derive(serde::Deserialize)]
pub(crate) struct EndedItem {
    pub(crate) ended_item: ItemId,
    pub(crate) turn: TurnId,
}

/// The same, on its way into the log.
#[derive(serde::Serialize)]
struct EndedItemText<'a> {
    ended_item: &'a ItemId,
    turn: &'a TurnId,
}

/// The writes of a batch, and how much room they take.
pub(crate) fn prepare(batch: &Batch) -> Result<(Vec<Ready>, usize), StoreError> {
    let mut bytes = 0_usize;
    let mut ready = Vec::with_capacity(batch.0.len());
    let mut items: HashSet<(&TaskId, &TurnId, &ItemId)> = HashSet::new();
    for write in &batch.0 {
        let write = match write {
            Write::Event { task, at, event } if !may_hold_a_secret(event) => {
                let ended = ended_item(event)
                    .filter(|(turn, item)| items.contains(&(task, *turn, &item.id)));
                let body = match ended {
                    Some((turn, item)) => {
                        text(&EndedItemText { ended_item: &item.id, turn }, "event")?
                    }
                    None => text(event, "event")?,
                };
                Ready::Event { task: task.clone(), at: *at, name: event.name(), body }
            }
            Write::Item { task, turn, number, item, how } => {
                let Item { id, body } = &**item;
                items.insert((task, turn, id));
                let (task, turn, item) = (task.clone(), turn.clone(), id.clone());
                let body = text(body, "item")?;
                Ready::Item { task, turn, item, number: *number, how: *how, body }
            }
            other => Ready::Plain(other.clone()),
        };
        bytes = bytes.saturating_add(weight(&write));
        ready.push(write);
    }
    Ok((ready, bytes))
}

pub(crate) fn text<T: serde::Serialize>(
    value: &T,
    what: &'static str,
) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::unreadable(what))
}

/// These are made readable by the writer, which knows the ask.
fn may_hold_a_secret(event: &Event) -> bool {
    matches!(event, Event::AskDecided { .. } | Event::Intended { .. })
}

/// The item whose end this is.
fn ended_item(event: &Event) -> Option<(&TurnId, &Item)> {
    let Event::Thread { agent: None, update } = event else { return None };
    let Update::ItemEnded { turn, item, .. } = &**update else { return None };
    Some((turn, item))
}

fn weight(write: &Ready) -> usize {
    let text = match write {
        Ready::Event { body, .. } | Ready::Item { body, .. } => body.len(),
        Ready::Plain(Write::Partial { partial, .. }) => partial.text.len(),
        // Tasks, asks and intents are rare beside these, and a few kilobytes each.
        Ready::Plain(_) => 4096,
    };
    LEAST.saturating_add(text)
}
