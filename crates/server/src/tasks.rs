//! Tasks over HTTP: start, list, look, send, interrupt, fork, remove.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use ostler_engine::{Cursor, Engine, Retention, StartTask, SweepReport, TaskFilter, fork_of};
use ostler_model::task::TaskSettings;
use ostler_model::{Event, Input, TaskState, TurnId};
use serde::Deserialize;

use crate::api::{
    Accepted, AppServer, ForkRequest, Receipts, Removed, SendRequest, StartAnswer, StartRequest,
    Step, TaskDetail, TaskList, Why,
};
use crate::problem::{Problem, Trouble};
use crate::{Caller, Given, Hall, asks, events, ids, rules, worktree};

/// What one page of a list has, unless more or less is asked for.
const PAGE: usize = 50;
const MOST_PER_PAGE: usize = 500;

/// What the routes of tasks work with.
pub struct Office {
    pub engine: Engine,
    pub hall: Arc<Hall>,
    /// What holds for a task where the request says nothing.
    pub defaults: TaskSettings,
    pub retention: Retention,
    /// Whether a task works in a worktree of its own where the request says nothing.
    pub worktree: bool,
}

/// All routes that have to do with tasks.
pub fn task_routes(office: Arc<Office>) -> Router {
    Router::new()
        .route("/v1/tasks", get(list).post(start))
        .route("/v1/tasks/{task}", get(show).delete(remove))
        .route("/v1/tasks/{task}/send", post(send))
        .route("/v1/tasks/{task}/interrupt", post(interrupt))
        .route("/v1/tasks/{task}/fork", post(fork))
        .route("/v1/tasks/{task}/events", get(events::follow))
        .route("/v1/tasks/{task}/turns", get(turns))
        .route("/v1/tasks/{task}/messages", get(messages))
        .route("/v1/tasks/{task}/receipts", get(receipts))
        .route("/v1/tasks/{task}/why", get(why))
        .route("/v1/tasks/{task}/diff", get(worktree::diff))
        .route("/v1/tasks/{task}/worktree/merge", post(worktree::merge))
        .route("/v1/tasks/{task}/worktree/remove", post(worktree::remove))
        .route("/v1/worktrees", get(worktree::list))
        .route("/v1/changes", get(events::changes))
        .route("/v1/asks", get(asks::list))
        .route("/v1/asks/{ask}", get(asks::show))
        .route("/v1/asks/{ask}/answer", post(asks::answer))
        .route("/v1/rules", get(rules::list).post(rules::add))
        .route("/v1/rules/{rule}", axum::routing::delete(rules::remove))
        .route("/v1/app-servers", get(app_servers))
        .route("/v1/gc", post(gc))
        .with_state(office)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ListQuery {
    /// Words for states, separated by commas.
    state: Option<String>,
    cwd: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
}

async fn list(
    State(office): State<Arc<Office>>,
    Query(query): Query<ListQuery>,
) -> Result<Json<TaskList>, Problem> {
    let bad = |detail: String| Problem::new(Trouble::BadRequest, detail);
    let mut states = Vec::new();
    for word in
        query.state.iter().flat_map(|words| words.split(',')).filter(|word| !word.is_empty())
    {
        let known = TaskState::ALL.map(TaskState::name).join(", ");
        let state = TaskState::from_name(word);
        states.push(state.ok_or_else(|| bad(format!("{word:?} is no state; there are {known}")))?);
    }
    let before = query.before.as_deref().map(str::parse::<Cursor>).transpose();
    let before = before.map_err(|error| bad(error.to_string()))?.unwrap_or(Cursor::FIRST);
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MOST_PER_PAGE);
    let store = office.engine.store();
    let page = store.tasks(&TaskFilter { states, cwd: query.cwd }, before, limit).await?;
    Ok(Json(TaskList {
        tasks: page.tasks,
        counts: store.counts().await?,
        next: page.next.map(|cursor| cursor.to_string()),
    }))
}

async fn start(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Given(request): Given<StartRequest>,
) -> Result<Response, Problem> {
    let input = request.first_input().unwrap_or_else(|| Input::text(""));
    let settings = request.settings(&office.defaults);
    let wish = StartTask {
        settings,
        input,
        by: caller.name(),
        key: request.key,
        forked_from: None,
        id: None,
        worktree: request.worktree.unwrap_or(office.worktree),
    };
    begin(&office, wish).await
}

async fn begin(office: &Office, wish: StartTask) -> Result<Response, Problem> {
    let started = office.engine.start_task(wish).await?;
    let task = ids::task(office.engine.store(), started.task.as_str()).await?;
    let status = if started.is_known { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(StartAnswer { task, known: started.is_known })).into_response())
}

async fn fork(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Path(task): Path<String>,
    Given(request): Given<ForkRequest>,
) -> Result<Response, Problem> {
    let parent = ids::task(office.engine.store(), &task).await?;
    let forked_from = fork_of(&parent, request.turn.map(TurnId::new)).ok_or_else(|| {
        Problem::new(Trouble::Conflict, "the task has not begun, so there is nothing to copy")
            .hint("wait for its first turn")
    })?;
    let has_worktree = parent.settings.worktree.is_some();
    let mut settings = TaskSettings { worktree: None, ..parent.settings };
    // A thread goes on with the Codex that it was last in, or a newer one.
    settings.codex.version = parent.codex_version.or(settings.codex.version);
    let wish = StartTask {
        settings,
        input: Input::text(request.prompt.unwrap_or_default()),
        by: caller.name(),
        key: request.key,
        forked_from: Some(forked_from),
        id: None,
        // Two tasks in one worktree would be in each other's way.
        worktree: has_worktree,
    };
    begin(&office, wish).await
}

async fn show(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
) -> Result<Json<TaskDetail>, Problem> {
    let task = ids::task(office.engine.store(), &task).await?;
    Ok(Json(detail(&office.engine, task.id.as_str()).await?))
}

/// How a task stands at this moment.
pub(crate) async fn detail(engine: &Engine, task: &str) -> Result<TaskDetail, Problem> {
    let store = engine.store();
    let task = ids::task(store, task).await?;
    Ok(TaskDetail {
        asks: store.undecided_asks_of(&task.id).await?,
        intents: store.open_intents_of(&task.id).await?,
        partials: store.partials(&task.id).await?,
        task,
    })
}

async fn send(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Path(task): Path<String>,
    Given(request): Given<SendRequest>,
) -> Result<Response, Problem> {
    let task = ids::task(office.engine.store(), &task).await?.id;
    let input = request.input().unwrap_or_else(|| Input::text(""));
    let (if_busy, key) = (request.if_busy, request.key.as_deref());
    let intent = office.engine.send(&task, input, if_busy, &caller.name(), key).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { task, intent })).into_response())
}

async fn interrupt(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Path(task): Path<String>,
) -> Result<Response, Problem> {
    let task = ids::task(office.engine.store(), &task).await?.id;
    let intent = office.engine.interrupt(&task, &caller.name()).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { task, intent })).into_response())
}

async fn remove(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Path(task): Path<String>,
) -> Result<Json<Removed>, Problem> {
    caller.must_be_person("remove a task")?;
    let task = ids::task(office.engine.store(), &task).await?.id;
    let worktree_kept = office.engine.remove(&task).await?;
    Ok(Json(Removed { task, worktree_kept }))
}

async fn turns(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
) -> Result<Response, Problem> {
    let store = office.engine.store();
    let task = ids::task(store, &task).await?.id;
    let turns = store.turns(&task).await?;
    let turns: Vec<_> = turns
        .into_iter()
        .map(|row| crate::api::Turn {
            turn: row.turn,
            number: row.number,
            began_at: row.began_at,
            result: row.result.map(|result| *result),
        })
        .collect();
    Ok(Json(crate::api::Turns { task, turns }).into_response())
}

async fn messages(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
) -> Result<Response, Problem> {
    let store = office.engine.store();
    let task = ids::task(store, &task).await?.id;
    let messages =
        store.messages(&task).await?.into_iter().flat_map(|turn| turn.messages).collect();
    Ok(Json(crate::api::Messages { task, messages }).into_response())
}

async fn receipts(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
) -> Result<Json<Receipts>, Problem> {
    let store = office.engine.store();
    let task = ids::task(store, &task).await?.id;
    let intents = store.intents(&task).await?;
    Ok(Json(Receipts { task, intents }))
}

async fn why(
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

async fn app_servers(State(office): State<Arc<Office>>) -> Json<Vec<AppServer>> {
    let servers = office.engine.app_servers().into_iter();
    Json(
        servers
            .map(|shown| AppServer {
                keeper: shown.keeper,
                codex_version: shown.codex_version,
                codex_home: shown.codex_home,
                threads: shown.threads,
                isolated_for: shown.isolated_for,
                is_full: shown.is_full,
            })
            .collect(),
    )
}

async fn gc(
    State(office): State<Arc<Office>>,
    caller: Caller,
) -> Result<Json<SweepReport>, Problem> {
    caller.must_be_person("remove old tasks")?;
    Ok(Json(office.engine.sweep(&office.retention).await?))
}
