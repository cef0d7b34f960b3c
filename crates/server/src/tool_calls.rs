//! Calls of tools that a task's owner runs: who takes one, and what it came to. That there is one stands in the task's log.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use ostler_engine::{TOOL_CALL_PATIENCE, ToolCallError};
use ostler_model::ItemId;

use crate::api::{FinishToolCall, TakeToolCall, ToolCallFinished, ToolCallTaken};
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::{Given, ids};

pub(crate) async fn take(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
    Given(request): Given<TakeToolCall>,
) -> Result<Json<ToolCallTaken>, Problem> {
    let task = ids::task(office.engine.store(), &task).await?;
    let TakeToolCall { call, by } = request;
    let taken = office.engine.take_tool_call(&task.id, &ItemId::new(call), &by).await?;
    Ok(Json(ToolCallTaken {
        call: taken.call.to_string(),
        tool: taken.tool,
        arguments: taken.arguments,
        again_within_ms: u64::try_from(TOOL_CALL_PATIENCE.as_millis()).unwrap_or(u64::MAX),
    }))
}

pub(crate) async fn finish(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
    Given(request): Given<FinishToolCall>,
) -> Result<Json<ToolCallFinished>, Problem> {
    let task = ids::task(office.engine.store(), &task).await?;
    let FinishToolCall { call, by, result, succeeded } = request;
    office.engine.finish_tool_call(&task.id, &ItemId::new(&call), &by, result, succeeded)?;
    Ok(Json(ToolCallFinished { call }))
}

impl From<ToolCallError> for Problem {
    fn from(error: ToolCallError) -> Self {
        let trouble = match &error {
            ToolCallError::Gone(_) => Trouble::NotFound,
            ToolCallError::Taken(_) => Trouble::Conflict,
        };
        Self::new(trouble, error.to_string())
    }
}
