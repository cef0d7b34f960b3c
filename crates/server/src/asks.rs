//! Asks over HTTP: list, look, answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use ostler_engine::Answer;
use ostler_model::task::{AskRecord, DecidedBy};

use crate::api::{AnswerRequest, AskList, AskShown};
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::{Caller, Given, Standing, ids};

pub(crate) async fn list(State(office): State<Arc<Office>>) -> Result<Json<AskList>, Problem> {
    let store = office.engine.store();
    let mut asks = Vec::new();
    for ask in store.undecided_asks().await? {
        // A task that is being removed has asks for a moment longer.
        let Some(task) = store.task(&ask.task).await? else { continue };
        asks.push(AskShown { ask, title: task.title, cwd: task.settings.cwd });
    }
    Ok(Json(AskList { asks }))
}

pub(crate) async fn show(
    State(office): State<Arc<Office>>,
    Path(ask): Path<String>,
) -> Result<Json<AskRecord>, Problem> {
    Ok(Json(ids::ask(office.engine.store(), &ask).await?))
}

/// Only people decide. A program below an app-server is refused, and that it tried is written down.
pub(crate) async fn answer(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Path(ask): Path<String>,
    Given(request): Given<AnswerRequest>,
) -> Result<Json<AskRecord>, Problem> {
    let record = ids::ask(office.engine.store(), &ask).await?;
    if let Standing::Agent { why } = &caller.standing {
        let who = format!("process {} of user {}", caller.pid, caller.uid);
        office.engine.note_self_approval(&record, who, why.clone()).await?;
        return Err(Problem::new(
            Trouble::AgentRefused,
            format!("an agent may not answer: process {} {why}", caller.pid),
        )
        .hint("a person answers with `ostler answer`, from a terminal of their own"));
    }
    let surface = request.surface.unwrap_or_else(|| "api".to_owned());
    let by = DecidedBy::Person { name: caller.name(), surface };
    let answer = Answer {
        decision: request.decision,
        reason: request.reason,
        remember: request.remember,
        by,
    };
    office.engine.answer(&record.id, answer).await?;
    Ok(Json(ids::ask(office.engine.store(), record.id.as_str()).await?))
}
