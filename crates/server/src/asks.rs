//! Asks over HTTP: list, look, answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use ostler_engine::{Answer, Store, StoreError};
use ostler_model::AskKind;
use ostler_model::task::{AskRecord, DecidedBy};

use crate::api::{AnswerRequest, AskList, AskShown};
use crate::audit::Auditor;
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::{Caller, Given, Standing, ids};

pub(crate) async fn list(State(office): State<Arc<Office>>) -> Result<Json<AskList>, Problem> {
    Ok(Json(AskList { asks: undecided(office.engine.store()).await? }))
}

/// All that waits for somebody.
pub(crate) async fn undecided(store: &Store) -> Result<Vec<AskShown>, StoreError> {
    let mut asks = Vec::new();
    for ask in store.undecided_asks().await? {
        // A task that is being removed has asks for a moment longer.
        let Some(task) = store.task(&ask.task).await? else { continue };
        asks.push(AskShown { ask, title: task.title, cwd: task.settings.cwd, host: false });
    }
    for row in store.undecided_host_asks().await? {
        let title = row.ask.task.to_string();
        asks.push(AskShown { ask: row.ask, title, cwd: row.cwd, host: true });
    }
    asks.sort_by_key(|shown| shown.ask.opened_at);
    Ok(asks)
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
    auditor: Auditor,
    Path(ask): Path<String>,
    Given(request): Given<AnswerRequest>,
) -> Result<Json<AskRecord>, Problem> {
    let record = ids::ask(office.engine.store(), &ask).await?;
    if let Standing::Agent { why, .. } = &caller.standing {
        let who = format!("process {} of {}", caller.pid, caller.account());
        // An agent in a loop must fill neither the audit log nor the log of the task.
        if auditor.note_self_approval(&record, why).await {
            office.engine.note_self_approval(&record, who, why.clone()).await?;
        }
        return Err(Problem::new(
            Trouble::AgentRefused,
            format!("an agent may not answer: process {} {why}", caller.pid),
        )
        .hint("a person answers with `ostler answer`, from a terminal of their own"));
    }
    if let Some(refused) = refused_to_client(&office, &caller, &auditor, &record).await? {
        return Err(refused);
    }
    // Only commands of our own user say which door a person used; of all others it is known.
    let surface = match (&caller.mcp, &caller.key) {
        (None, None) => request.surface.unwrap_or_else(|| caller.surface().to_owned()),
        _ => caller.surface().to_owned(),
    };
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

/// What the model asks to be told, and not to be allowed, whoever gave it the task may answer, or decline. Never a secret: that is a
/// person's, and a login is one, too.
async fn may_answer_as_starter(
    office: &Office,
    caller: &Caller,
    ask: &AskRecord,
) -> Result<bool, StoreError> {
    let AskKind::UserInput(asked) = &ask.content.kind else { return Ok(false) };
    if asked.questions.iter().any(|question| question.is_secret) {
        return Ok(false);
    }
    let task = office.engine.store().task(&ask.task).await?;
    Ok(task.is_some_and(|task| task.started_by == caller.name()))
}

/// A program that comes by MCP decides nothing unless the operator has named it. That it tried is written down.
async fn refused_to_client(
    office: &Office,
    caller: &Caller,
    auditor: &Auditor,
    ask: &AskRecord,
) -> Result<Option<Problem>, StoreError> {
    let Some(client) = &caller.mcp else { return Ok(None) };
    if may_answer_as_starter(office, caller, ask).await? {
        return Ok(None);
    }
    let allowed = &office.usual().mcp_may_decide;
    if caller.named_by_operator().is_some_and(|name| allowed.iter().any(|it| it == name)) {
        return Ok(None);
    }
    let why = "comes by MCP, and may_decide in [mcp] does not name it".to_owned();
    if auditor.note_self_approval(ask, &why).await {
        office.engine.note_self_approval(ask, caller.name(), why).await?;
    }
    let detail =
        format!("{client} may not answer: it comes by MCP, and the operator has not named it");
    let hint = format!(
        "a person answers with `ostler answer {}` or on the page (`ostler open`); go on when they have: wait for the task",
        ask.id
    );
    Ok(Some(Problem::new(Trouble::AgentRefused, detail).hint(hint)))
}
