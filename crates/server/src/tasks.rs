//! Tasks over HTTP: start, list, look, send, interrupt, fork, remove.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ostler_engine::{
    Cursor, Engine, Page, Retention, StartTask, Store, StoreError, SweepReport, TaskFilter, fork_of,
};
use ostler_model::task::TaskSettings;
use ostler_model::thread::IfBusy;
use ostler_model::{Input, Task, TaskId, TaskState, TurnId};
use serde::Deserialize;

use crate::api::{
    Accepted, AppServer, ForkRequest, GoalRequest, Released, Removed, SendRequest, StartAnswer,
    StartRequest, TaskDetail, TaskList,
};
use crate::given::Nothing;
use crate::guard::{Need, Rights};
use crate::idempotency::one_key;
use crate::mcp::mcp_table;
use crate::overview::KnownModels;
use crate::problem::{Problem, Trouble};
use crate::stream::{Board, Relays, Viewers};
use crate::table::Routes;
use crate::{
    Caller, Given, Hall, Standing, agents, asks, audit, bounds, ends, events, files, history,
    host_asks, ids, metrics, notifications, overview, rules, targets, tool_calls, worktree,
};

/// What one page of a list has, unless more or less is asked for.
const PAGE: usize = 50;
const MOST_PER_PAGE: usize = 500;

/// Five thousand tasks are looked through in some 50 ms.
const SEARCHED_PAGES: usize = 10;

/// What the routes of tasks work with.
pub struct Office {
    pub engine: Engine,
    pub hall: Arc<Hall>,
    usual: RwLock<Arc<Usual>>,
    /// What tasks were given, a folder each.
    files: PathBuf,
    pub(crate) models: KnownModels,
    pub(crate) relays: Relays,
    pub(crate) board: Board,
    pub(crate) viewers: Viewers,
}

/// What holds where a request says nothing.
#[derive(Debug)]
pub struct Usual {
    pub settings: TaskSettings,
    /// Whether a task works in a worktree of its own.
    pub worktree: bool,
    /// Which tasks are kept when somebody removes old ones.
    pub retention: Retention,
    /// MCP clients that may decide: `token NAME`, or what one on the unix socket calls itself.
    pub mcp_may_decide: Vec<String>,
    /// Files that are given to nobody.
    pub private: files::PrivateFiles,
}

impl Office {
    pub fn new(engine: Engine, hall: Arc<Hall>, usual: Usual, files: PathBuf) -> Self {
        Self {
            engine,
            hall,
            usual: RwLock::new(Arc::new(usual)),
            files,
            models: KnownModels::default(),
            relays: Relays::default(),
            board: Board::default(),
            viewers: Viewers::default(),
        }
    }

    /// Where the files are that this task was given.
    pub(crate) fn files_of(&self, task: &TaskId) -> PathBuf {
        self.files.join(task.as_str())
    }

    /// Removes what retention does not keep, and what those tasks were given.
    pub async fn sweep(&self) -> Result<SweepReport, StoreError> {
        let report = self.engine.sweep(&self.usual().retention).await?;
        let gone = report.too_old.iter().chain(&report.too_many).chain(&report.too_large);
        for task in gone {
            self.forget_files(task).await;
        }
        Ok(report)
    }

    async fn forget_files(&self, task: &TaskId) {
        let folder = self.files_of(task);
        match tokio::fs::remove_dir_all(&folder).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, folder = %folder.display(), "files of a removed task stay");
            }
            _ => {}
        }
    }

    pub fn usual(&self) -> Arc<Usual> {
        self.usual.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on. Tasks that were started keep what they were started with.
    pub fn apply(&self, usual: Usual) {
        *self.usual.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(usual);
    }
}

/// All routes that have to do with tasks.
pub fn task_routes(office: Arc<Office>) -> Routes {
    task_table().merge(mcp_table()).with_state(office)
}

pub(crate) fn task_table() -> Routes<Arc<Office>> {
    Routes::new()
        .get("/v1/tasks", Need::Read, list)
        .post("/v1/tasks", Need::Operate, start)
        .get("/v1/tasks/{task}", Need::Read, show)
        .delete("/v1/tasks/{task}", Need::OperateAsPerson, remove)
        .post("/v1/tasks/{task}/send", Need::Operate, send)
        .post("/v1/tasks/{task}/steer", Need::Operate, steer)
        .post("/v1/tasks/{task}/interrupt", Need::Operate, interrupt)
        .post("/v1/tasks/{task}/goal", Need::Operate, goal)
        .post("/v1/tasks/{task}/release", Need::Operate, release)
        .post("/v1/tasks/{task}/fork", Need::Operate, fork)
        .get("/v1/tasks/{task}/events", Need::Read, events::follow)
        .post("/v1/tasks/{task}/tool-calls/take", Need::OperateAsPerson, tool_calls::take)
        .post("/v1/tasks/{task}/tool-calls/finish", Need::OperateAsPerson, tool_calls::finish)
        .get("/v1/tasks/{task}/turns", Need::Read, history::turns)
        .get("/v1/tasks/{task}/items", Need::Read, history::items)
        .get("/v1/tasks/{task}/messages", Need::Read, history::messages)
        .get("/v1/tasks/{task}/receipts", Need::Read, history::receipts)
        .get("/v1/tasks/{task}/why", Need::Read, history::why)
        .get("/v1/tasks/{task}/notifications/preview", Need::Read, notifications::preview)
        .get("/v1/tasks/{task}/diff", Need::Read, worktree::diff)
        .get("/v1/tasks/{task}/files", Need::Read, files::list)
        .upload("/v1/tasks/{task}/files", Need::Operate, files::add)
        .get("/v1/tasks/{task}/files/{*path}", Need::Read, files::show)
        .post("/v1/tasks/{task}/worktree/merge", Need::OperateAsPerson, worktree::merge)
        .post("/v1/tasks/{task}/worktree/remove", Need::OperateAsPerson, worktree::remove)
        .get("/v1/worktrees", Need::Read, worktree::list)
        .get("/v1/ends", Need::Read, ends::list)
        .post("/v1/ends/told", Need::Operate, ends::told)
        .get("/v1/events", Need::Read, events::board)
        .get("/v1/changes", Need::Read, events::changes)
        .get("/v1/asks", Need::Read, asks::list)
        .get("/v1/asks/{ask}", Need::Read, asks::show)
        .post("/v1/asks/{ask}/answer", Need::DecideNoted, asks::answer)
        .post("/v1/host-asks", Need::OperateAsPerson, host_asks::open)
        .delete("/v1/host-asks/{ask}", Need::OperateAsPerson, host_asks::withdraw)
        .get("/v1/host-asks/{ask}/decision", Need::Read, host_asks::decision)
        .get("/v1/notifications", Need::Read, notifications::list)
        .post("/v1/notifications/read", Need::OperateAsPerson, notifications::read)
        .get("/v1/notifications/{notification}", Need::Read, notifications::show)
        .post(
            "/v1/notifications/{notification}/replay",
            Need::OperateAsPerson,
            notifications::replay,
        )
        .get("/v1/audit", Need::Decide, audit::list)
        .post("/v1/audit/read", Need::Decide, audit::read)
        .get("/v1/rules", Need::Read, rules::list)
        .post("/v1/rules", Need::Decide, rules::add)
        .delete("/v1/rules/{rule}", Need::Decide, rules::remove)
        .get("/v1/app-servers", Need::Read, app_servers)
        .get("/v1/models", Need::Read, overview::models)
        .get("/v1/limits", Need::Read, overview::limits)
        .get("/v1/defaults", Need::Read, overview::defaults)
        .get("/v1/ready", Need::Open, overview::ready)
        .get("/metrics", Need::Read, metrics::metrics)
        .post("/v1/gc", Need::OperateAsPerson, gc)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ListQuery {
    /// Words for states, separated by commas.
    state: Option<String>,
    cwd: Option<String>,
    /// Only what the caller has started.
    mine: bool,
    /// Words of the title, or the start of the id.
    q: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
}

async fn list(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<TaskList>, Problem> {
    let bad = |detail: String| Problem::new(Trouble::BadRequest, detail);
    let mut states = Vec::new();
    let words = query.state.as_deref().filter(|words| !words.is_empty());
    for word in words.iter().flat_map(|words| words.split(',')) {
        let known = TaskState::ALL.map(TaskState::name).join(", ");
        let state = TaskState::from_name(word);
        states.push(state.ok_or_else(|| bad(format!("{word:?} is no state; there are {known}")))?);
    }
    let before = query.before.as_deref().filter(|place| !place.is_empty());
    let before = before.map(str::parse::<Cursor>).transpose();
    let before = before.map_err(|error| bad(error.to_string()))?.unwrap_or(Cursor::FIRST);
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MOST_PER_PAGE);
    let store = office.engine.store();
    let started_by = query.mine.then(|| caller.name());
    let filter = TaskFilter { states, cwd: query.cwd, started_by };
    let page = match query.q.as_deref().map(str::trim).filter(|words| !words.is_empty()) {
        None => store.tasks(&filter, before, limit).await?,
        Some(words) => search(store, &filter, words, before, limit).await?,
    };
    Ok(Json(TaskList {
        tasks: page.tasks.into_iter().map(Task::without_diff).collect(),
        counts: store.counts().await?,
        next: page.next.map(|cursor| cursor.to_string()),
    }))
}

/// The tasks with all of these words in their title, or whose id begins so. A bounded number is looked at; `next` goes on from there.
async fn search(
    store: &Store,
    filter: &TaskFilter,
    words: &str,
    before: Cursor,
    limit: usize,
) -> Result<Page, StoreError> {
    let lower = words.to_lowercase();
    let fits = |task: &Task| {
        let title = task.title.to_lowercase();
        task.id.as_str().starts_with(words)
            || lower.split_whitespace().all(|word| title.contains(word))
    };
    let (mut tasks, mut next) = (Vec::new(), Some(before));
    for _ in 0..SEARCHED_PAGES {
        let Some(before) = next else { break };
        // All that fit of what was looked at are given, be it more than was asked for: the cursor stands behind them.
        let page = store.tasks(filter, before, MOST_PER_PAGE).await?;
        next = page.next;
        tasks.extend(page.tasks.into_iter().filter(fits));
        if tasks.len() >= limit {
            break;
        }
    }
    Ok(Page { tasks, next })
}

async fn start(
    State(office): State<Arc<Office>>,
    rights: Rights,
    mut caller: Caller,
    headers: HeaderMap,
    Given(request): Given<StartRequest>,
) -> Result<Response, Problem> {
    let key = one_key(request.key.as_deref(), &headers)?;
    check_one_input(request.prompt.is_some(), request.input.is_some())?;
    let input = request.first_input().unwrap_or_else(|| Input::text(""));
    let usual = office.usual();
    let mut settings = request.settings(&usual.settings);
    rights.look_at(&mut caller).await;
    if caller.standing != Standing::Person {
        // What it does not ask for by name it may not have itself.
        settings.sandbox.network &= request.network.is_some();
        settings.sandbox.writable_roots.clone_from(&request.writable_roots);
    }
    let worktree = match request.worktree {
        Some(true) => bounds::may_have_worktree(&caller).map(|()| true)?,
        Some(false) => false,
        None => usual.worktree && bounds::may_have_worktree(&caller).is_ok(),
    };
    check_rights(&office, (&rights, &caller), &mut settings, &usual.settings).await?;
    if !request.unset.is_empty() && caller.key.is_none() {
        // What the operator has for all tasks may be what keeps an agent's within bounds. Who comes with a token or a login may
        // what it is good for.
        caller.must_be_person("leave out what the configuration says")?;
    }
    if !request.tools.is_empty() {
        // Who runs them must be a person's program, so who offers them is one, too.
        caller.must_be_person("offer tools of its own")?;
    }
    let wish = StartTask {
        settings,
        input,
        by: caller.name(),
        key,
        forked_from: None,
        id: None,
        worktree,
    };
    let model = wish.input.model.clone().or(request.model);
    let effort = wish.input.effort.clone().or(request.effort);
    let engine = &office.engine;
    let unchecked = engine.check_model(&wish.settings, model.as_deref(), effort.as_deref()).await?;
    begin(&office, wish, unchecked).await
}

/// What every new task must pass, also a copy: it says other things than its parent, and would have them sent to the same address.
/// The caller must have been looked at.
async fn check_rights(
    office: &Office,
    (rights, caller): (&Rights, &Caller),
    settings: &mut TaskSettings,
    known: &TaskSettings,
) -> Result<(), Problem> {
    bounds::check(office, caller, settings).await?;
    targets::check(&office.engine, caller, rights, settings, known)
}

/// Of a prompt and an input only one would be used.
fn check_one_input(has_prompt: bool, has_input: bool) -> Result<(), Problem> {
    if !(has_prompt && has_input) {
        return Ok(());
    }
    let detail = "the request has a prompt and an input, and only one of them can be meant";
    Err(Problem::new(Trouble::BadRequest, detail)
        .hint("send `prompt` for plain text, or `input` for all parts of it"))
}

async fn begin(
    office: &Office,
    wish: StartTask,
    unchecked: Option<String>,
) -> Result<Response, Problem> {
    let started = office.engine.start_task(wish).await?;
    let task = ids::task(office.engine.store(), started.task.as_str()).await?;
    let status = if started.is_known { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(StartAnswer { task, known: started.is_known, unchecked })).into_response())
}

async fn fork(
    State(office): State<Arc<Office>>,
    rights: Rights,
    mut caller: Caller,
    Path(task): Path<String>,
    headers: HeaderMap,
    Given(request): Given<ForkRequest>,
) -> Result<Response, Problem> {
    let key = one_key(request.key.as_deref(), &headers)?;
    let parent = ids::task(office.engine.store(), &task).await?;
    rights.look_at(&mut caller).await;
    agents::may_touch(&caller, &parent, "fork")?;
    if request.from_log {
        return begin_from_log(&office, (&rights, &caller), parent, request, key).await;
    }
    if request.cwd.is_some() {
        return Err(Problem::new(Trouble::BadRequest, "cwd is only for a fork with from_log"));
    }
    let forked_from = fork_of(&parent, request.turn.map(TurnId::new)).ok_or_else(|| {
        Problem::new(Trouble::Conflict, "the task has not begun, so there is nothing to copy")
            .hint("wait for its first turn")
    })?;
    let has_worktree = parent.settings.worktree.is_some();
    if has_worktree {
        bounds::may_have_worktree(&caller)?;
    }
    let mut settings = TaskSettings { worktree: None, ..parent.settings };
    let known = settings.clone();
    check_rights(&office, (&rights, &caller), &mut settings, &known).await?;
    let wish = StartTask {
        settings,
        input: Input::text(request.prompt.unwrap_or_default()),
        by: caller.name(),
        key,
        forked_from: Some(forked_from),
        id: None,
        // Two tasks in one worktree would be in each other's way.
        worktree: has_worktree,
    };
    begin(&office, wish, None).await
}

/// A new thread that knows what was said in the old one: nothing of Codex's own is needed for it.
async fn begin_from_log(
    office: &Office,
    (rights, caller): (&Rights, &Caller),
    parent: Task,
    request: ForkRequest,
    key: Option<String>,
) -> Result<Response, Problem> {
    if request.turn.is_some() {
        return Err(Problem::new(Trouble::BadRequest, "turn and from_log do not go together"));
    }
    let prompt = request.prompt.unwrap_or_default();
    let input = office.engine.input_from_log(&parent, prompt).await?;
    let worktree = parent.settings.worktree.is_some();
    if worktree {
        bounds::may_have_worktree(caller)?;
    }
    let mut settings = TaskSettings { worktree: None, ..parent.settings };
    settings.cwd = request.cwd.unwrap_or(settings.cwd);
    let known = settings.clone();
    check_rights(office, (rights, caller), &mut settings, &known).await?;
    let by = caller.name();
    let wish = StartTask { settings, input, by, key, forked_from: None, id: None, worktree };
    begin(office, wish, None).await
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
    rights: Rights,
    caller: Caller,
    Path(task): Path<String>,
    headers: HeaderMap,
    Given(request): Given<SendRequest>,
) -> Result<Response, Problem> {
    pass_on(&office, (rights, caller), &task, &headers, request).await
}

/// Into the turn that runs, whatever the request says of a busy task.
async fn steer(
    State(office): State<Arc<Office>>,
    rights: Rights,
    caller: Caller,
    Path(task): Path<String>,
    headers: HeaderMap,
    Given(request): Given<SendRequest>,
) -> Result<Response, Problem> {
    let request = SendRequest { if_busy: IfBusy::SteerOnly, ..request };
    pass_on(&office, (rights, caller), &task, &headers, request).await
}

async fn pass_on(
    office: &Office,
    (rights, mut caller): (Rights, Caller),
    task: &str,
    headers: &HeaderMap,
    request: SendRequest,
) -> Result<Response, Problem> {
    let key = one_key(request.key.as_deref(), headers)?;
    check_one_input(request.prompt.is_some(), request.input.is_some())?;
    let mut found = ids::task(office.engine.store(), task).await?;
    rights.look_at(&mut caller).await;
    agents::may_touch(&caller, &found, "speak into")?;
    bounds::check(office, &caller, &mut found.settings).await?;
    let input = request.input().unwrap_or_else(|| Input::text(""));
    let (engine, settings) = (&office.engine, &found.settings);
    let (model, effort) = (input.model.as_deref(), input.effort.as_deref());
    let unchecked = engine.check_model(settings, model, effort).await?;
    let (task, name) = (found.id, caller.name());
    let intent = engine.send(&task, input, request.if_busy, &name, key.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { task, intent, unchecked })).into_response())
}

async fn interrupt(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Path(task): Path<String>,
    Given(Nothing {}): Given<Nothing>,
) -> Result<Response, Problem> {
    let task = ids::task(office.engine.store(), &task).await?;
    agents::may_touch(&caller, &task, "interrupt")?;
    let task = task.id;
    let intent = office.engine.interrupt(&task, &caller.name()).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { task, intent, unchecked: None })).into_response())
}

/// Has Codex work towards something over many turns, or no longer.
async fn goal(
    State(office): State<Arc<Office>>,
    rights: Rights,
    mut caller: Caller,
    Path(task): Path<String>,
    headers: HeaderMap,
    Given(request): Given<GoalRequest>,
) -> Result<Response, Problem> {
    let change = request.change().map_err(|detail| Problem::new(Trouble::BadRequest, detail))?;
    let key = one_key(request.key.as_deref(), &headers)?;
    let mut found = ids::task(office.engine.store(), &task).await?;
    rights.look_at(&mut caller).await;
    agents::may_touch(&caller, &found, "change the goal of")?;
    bounds::check(&office, &caller, &mut found.settings).await?;
    let task = found.id;
    let intent = office.engine.change_goal(&task, change, &caller.name(), key.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { task, intent, unchecked: None })).into_response())
}

async fn release(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Path(task): Path<String>,
    Given(Nothing {}): Given<Nothing>,
) -> Result<Json<Released>, Problem> {
    let task = ids::task(office.engine.store(), &task).await?;
    agents::may_touch(&caller, &task, "release")?;
    let task = task.id;
    let is_released = office.engine.release(&task).await?;
    Ok(Json(Released { task, is_released }))
}

async fn remove(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
) -> Result<Json<Removed>, Problem> {
    let task = ids::task(office.engine.store(), &task).await?.id;
    let worktree_kept = office.engine.remove(&task).await?;
    office.forget_files(&task).await;
    Ok(Json(Removed { task, worktree_kept }))
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
    Given(Nothing {}): Given<Nothing>,
) -> Result<Json<SweepReport>, Problem> {
    Ok(Json(office.sweep().await?))
}
