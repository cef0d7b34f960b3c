//! Whom tasks have told what, over HTTP: the outbox, sending again, and what would be sent.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ostler_engine::NotificationFilter;
use ostler_model::Notification;
use ostler_model::notification;
use serde::Deserialize;

use crate::api::{NotificationList, NotificationsRead, Previews};
use crate::given::Nothing;
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::{Given, ids};

/// What one page has, unless more or less is asked for.
const PAGE: usize = 50;
const MOST_PER_PAGE: usize = 500;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// Only those of this task.
    task: Option<String>,
    state: Option<String>,
    /// Only those that nobody has looked at.
    unread: bool,
    before: Option<i64>,
    limit: Option<usize>,
}

pub(crate) async fn list(
    State(office): State<Arc<Office>>,
    Query(query): Query<ListQuery>,
) -> Result<Json<NotificationList>, Problem> {
    let store = office.engine.store();
    let task = match query.task.as_deref().filter(|task| !task.is_empty()) {
        Some(typed) => Some(ids::task(store, typed).await?.id),
        None => None,
    };
    let state = query.state.as_deref().filter(|word| !word.is_empty()).map(|word| {
        notification::State::from_name(word).ok_or_else(|| {
            let known = notification::State::ALL.map(notification::State::name).join(", ");
            Problem::new(Trouble::BadRequest, format!("{word:?} is no state; there are {known}"))
        })
    });
    let filter = NotificationFilter { task, state: state.transpose()?, is_unread: query.unread };
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MOST_PER_PAGE);
    let page = store.notifications(&filter, query.before, limit).await?;
    Ok(Json(NotificationList {
        notifications: page.notifications,
        unread: store.unread_notifications().await?,
        newest: page.newest,
        next: page.next,
    }))
}

pub(crate) async fn show(
    State(office): State<Arc<Office>>,
    Path(id): Path<String>,
) -> Result<Json<Notification>, Problem> {
    Ok(Json(ids::notification(office.engine.store(), &id).await?))
}

/// Twice is once: one that is about to be sent stays as it is.
pub(crate) async fn replay(
    State(office): State<Arc<Office>>,
    Path(id): Path<String>,
    Given(Nothing {}): Given<Nothing>,
) -> Result<Response, Problem> {
    let found = ids::notification(office.engine.store(), &id).await?;
    if found.target.is_empty() {
        let detail = "the task names nobody, so there is nobody to send it to";
        return Err(Problem::new(Trouble::Conflict, detail)
            .hint("start tasks with --notify, or set default = true in a [notify.NAME] section"));
    }
    let replayed = office.engine.replay(&found.id).await?;
    Ok((StatusCode::ACCEPTED, Json(replayed)).into_response())
}

pub(crate) async fn read(
    State(office): State<Arc<Office>>,
    Given(request): Given<NotificationsRead>,
) -> Result<Json<NotificationsRead>, Problem> {
    let task = match &request.task {
        Some(typed) => Some(ids::task(office.engine.store(), typed).await?.id),
        None => None,
    };
    office.engine.read_notifications(request.up_to, task).await?;
    Ok(Json(request))
}

pub(crate) async fn preview(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
) -> Result<Json<Previews>, Problem> {
    let task = ids::task(office.engine.store(), &task).await?.id;
    let previews = office.engine.preview(&task).await?;
    Ok(Json(Previews { task, previews }))
}
