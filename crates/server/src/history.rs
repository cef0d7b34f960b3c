//! What a task has done, over HTTP: turns, items, messages, receipts, and why it stands where it stands.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use ostler_engine::NotificationFilter;
use ostler_model::auto_review::AutoVerdict;
use ostler_model::task::{AskRecord, DecidedBy};
use ostler_model::{Event, TurnId};
use serde::Deserialize;

use crate::api::{ItemShown, Items, Messages, Receipts, Reviewed, Step, Turn, Turns, Why};
use crate::ids;
use crate::problem::Problem;
use crate::tasks::Office;

/// What one page of items has, unless more or less is asked for. An item with the output of a command can have a megabyte.
const PAGE: usize = 100;
const MOST_PER_PAGE: usize = 500;

pub(crate) async fn turns(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
) -> Result<Response, Problem> {
    let store = office.engine.store();
    let task = ids::task(store, &task).await?.id;
    let turns = store.turns(&task).await?;
    let turns: Vec<_> = turns
        .into_iter()
        .map(|row| Turn {
            turn: row.turn,
            number: row.number,
            began_at: row.began_at,
            result: row.result.map(|result| *result),
        })
        .collect();
    Ok(Json(Turns { task, turns }).into_response())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MessagesQuery {
    /// Only those of this turn.
    turn: Option<String>,
}

pub(crate) async fn messages(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
    Query(query): Query<MessagesQuery>,
) -> Result<Response, Problem> {
    let store = office.engine.store();
    let task = ids::task(store, &task).await?.id;
    let turns = office.engine.messages(&task).await?.into_iter();
    let is_wanted = |turn: &TurnId| query.turn.as_deref().is_none_or(|only| turn.as_str() == only);
    let wanted = turns.filter(|messages| is_wanted(&messages.turn));
    let messages = wanted.flat_map(|turn| turn.messages).collect();
    Ok(Json(Messages { task, messages }).into_response())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReceiptsQuery {
    /// Only what was given under this key.
    key: Option<String>,
}

pub(crate) async fn receipts(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
    Query(query): Query<ReceiptsQuery>,
) -> Result<Json<Receipts>, Problem> {
    let store = office.engine.store();
    let task = ids::task(store, &task).await?.id;
    let (intents, decided) = match query.key {
        None => (store.intents(&task).await?, store.asks_of(&task).await?),
        Some(key) => {
            (office.engine.intent_by_key(&task, &key).await?.into_iter().collect(), Vec::new())
        }
    };
    let decided = decided.into_iter().filter(is_decided_alone).collect();
    let mut reviewed = Vec::new();
    for logged in store.review_events(&task).await? {
        if let Event::AutoReview { review, .. } = logged.event
            && review.verdict != AutoVerdict::InProgress
        {
            reviewed.push(Reviewed { at: logged.at, review });
        }
    }
    // Who was told belongs to the whole task.
    let filter = NotificationFilter { task: Some(task.clone()), ..NotificationFilter::default() };
    let mut notifications = store.notifications(&filter, None, MOST_PER_PAGE).await?.notifications;
    notifications.reverse();
    Ok(Json(Receipts { task, intents, decided, reviewed, notifications }))
}

fn is_decided_alone(ask: &AskRecord) -> bool {
    let by = ask.decision.as_ref().map(|decision| &decision.by);
    by.is_some_and(|by| !matches!(by, DecidedBy::Person { .. }))
}

pub(crate) async fn why(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
) -> Result<Json<Why>, Problem> {
    let store = office.engine.store();
    let task = ids::task(store, &task).await?;
    let mut steps = Vec::new();
    for logged in store.state_events(&task.id).await? {
        if let Event::State { from, to, cause } = logged.event {
            steps.push(Step { seq: logged.seq, at: logged.at, from, to, cause });
        }
    }
    Ok(Json(Why { task, steps }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ItemsQuery {
    /// Only those of this turn.
    turn: Option<String>,
    /// The place after which to begin.
    after: i64,
    limit: Option<usize>,
}

pub(crate) async fn items(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
    Query(query): Query<ItemsQuery>,
) -> Result<Json<Items>, Problem> {
    let store = office.engine.store();
    let task = ids::task(store, &task).await?.id;
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MOST_PER_PAGE);
    let found = match query.turn {
        None => store.items(&task, query.after, limit).await?,
        Some(turn) => store.items_of_turn(&task, &TurnId::new(turn), query.after, limit).await?,
    };
    let next = if found.len() < limit { None } else { found.last().map(|item| item.place) };
    let items = found.into_iter().map(|stored| ItemShown {
        place: stored.place,
        turn: stored.turn,
        number: stored.number,
        item: stored.item,
        how: stored.how,
    });
    Ok(Json(Items { task, items: items.collect(), next }))
}
