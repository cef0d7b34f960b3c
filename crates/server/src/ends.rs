//! Which of the caller's tasks have ended, each told once. For programs that only ask, and have nobody who could be told.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use ostler_model::Task;
use serde::Deserialize;

use crate::api::{Ends, EndsTold};
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::{Caller, Given};

const AT_ONCE: usize = 10;
const MOST_AT_ONCE: usize = 500;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EndsQuery {
    limit: Option<usize>,
}

pub(crate) async fn list(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Query(query): Query<EndsQuery>,
) -> Result<Json<Ends>, Problem> {
    let limit = query.limit.unwrap_or(AT_ONCE).clamp(1, MOST_AT_ONCE);
    let tasks = office.engine.store().untold_ends(&caller.name(), limit).await?;
    Ok(Json(Ends { tasks: tasks.into_iter().map(Task::without_diff).collect() }))
}

/// Only of the caller's own tasks; one that went on meanwhile is told again when it ends.
pub(crate) async fn told(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Given(request): Given<EndsTold>,
) -> Result<Json<EndsTold>, Problem> {
    if request.ends.len() > MOST_AT_ONCE {
        let detail = format!("{} ends are more than are told at once", request.ends.len());
        let hint = format!("send at most {MOST_AT_ONCE} of them in a request");
        return Err(Problem::new(Trouble::BadRequest, detail).hint(hint));
    }
    let ends = request.ends.iter().map(|end| (end.task.clone(), end.ended_at)).collect();
    office.engine.ends_told(&caller.name(), ends).await?;
    Ok(Json(request))
}
