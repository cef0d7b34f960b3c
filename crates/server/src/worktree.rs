//! Worktrees of tasks over HTTP: what was changed, merging it, removing it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use ostler_engine::{DiffOf, Engine, Force, TaskDiff};
use ostler_model::TaskId;
use serde::Deserialize;

use crate::api::{RemoveWorktree, WorktreeMerged, WorktreeRemoved, Worktrees};
use crate::given::Nothing;
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::{Given, ids};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DiffQuery {
    turns: Option<Turns>,
    /// Only this one, by its number.
    turn: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Turns {
    Last,
    All,
}

pub(crate) async fn diff(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
    Query(query): Query<DiffQuery>,
) -> Result<Json<TaskDiff>, Problem> {
    let task = ids::task(office.engine.store(), &task).await?.id;
    let of = match (query.turn, query.turns) {
        (Some(_), Some(_)) => {
            return Err(Problem::new(Trouble::BadRequest, "turn and turns do not go together"));
        }
        (Some(number), None) => DiffOf::Turn(number),
        (None, None | Some(Turns::Last)) => DiffOf::LastTurn,
        (None, Some(Turns::All)) => DiffOf::AllTurns,
    };
    Ok(Json(office.engine.diff(&task, of).await?))
}

pub(crate) async fn merge(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
    Given(Nothing {}): Given<Nothing>,
) -> Result<Json<WorktreeMerged>, Problem> {
    let task = find(&office.engine, &task).await?;
    let merged = office.engine.merge_worktree(&task).await?;
    Ok(Json(WorktreeMerged { task, merged }))
}

pub(crate) async fn remove(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
    Given(request): Given<RemoveWorktree>,
) -> Result<Json<WorktreeRemoved>, Problem> {
    let task = find(&office.engine, &task).await?;
    let force = if request.force { Force::KeepAsRef } else { Force::No };
    let kept_as = office.engine.remove_worktree(&task, force).await?;
    Ok(Json(WorktreeRemoved { task, kept_as }))
}

pub(crate) async fn list(State(office): State<Arc<Office>>) -> Json<Worktrees> {
    Json(Worktrees { worktrees: office.engine.worktrees().await })
}

/// A task by the start of its id, or a worktree whose task was removed by the whole of it.
async fn find(engine: &Engine, wanted: &str) -> Result<TaskId, Problem> {
    match ids::task(engine.store(), wanted).await {
        Ok(task) => Ok(task.id),
        Err(problem) if problem.is(Trouble::NotFound) => Ok(TaskId::new(wanted)),
        Err(problem) => Err(problem),
    }
}
