//! The audit log: noting who is refused, and showing it to people.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::{FromRequestParts, Query, State};
use axum::http::Request;
use axum::http::request::Parts;
use axum::response::Response;
use jiff::Timestamp;
use ostler_engine::{AuditFilter, AuditLog, AuditOrigin, Write};
use ostler_model::task::AskRecord;
use ostler_model::{AuditEntry, AuditKind, TaskId};
use serde::Deserialize;

use crate::api::{AuditList, AuditRead};
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::to_the_end::Work;
use crate::{Caller, Given, Hall};

/// What one page has, unless more or less is asked for.
const PAGE: usize = 50;
const MOST_PER_PAGE: usize = 500;

/// On an answer that refuses: as what it is written down.
#[derive(Debug, Clone)]
pub(crate) struct Audited {
    pub(crate) kind: AuditKind,
    pub(crate) why: String,
}

/// Notes what becomes of one request. Every request carries it.
#[derive(Debug, Clone)]
pub(crate) struct Auditor {
    log: Option<Arc<AuditLog>>,
    work: Work,
    who: Arc<Mutex<Who>>,
    /// Where it came from, as people are shown it.
    place: String,
    /// Without the query, which may hold anything.
    what: String,
}

/// Who calls, and by what floods are told apart.
#[derive(Debug, Clone)]
struct Who {
    name: String,
    origin: AuditOrigin,
}

impl Auditor {
    pub(crate) fn new<B>(hall: &Hall, work: &Work, request: &Request<B>) -> Self {
        Self {
            log: hall.audit().cloned(),
            work: work.clone(),
            who: Arc::new(Mutex::new(Who {
                name: "nobody".to_owned(),
                origin: AuditOrigin::Place(String::new()),
            })),
            place: String::new(),
            what: format!("{} {}", request.method(), request.uri().path()),
        }
    }

    pub(crate) fn of_process(mut self, caller: &Caller) -> Self {
        self.place = format!("socket, process {}", caller.pid);
        // What an MCP client calls itself is no origin: it may call itself what it likes.
        let name = Caller { mcp: None, ..caller.clone() }.name();
        self.who_mut().origin = AuditOrigin::Known(name);
        self
    }

    pub(crate) fn of_address(mut self, address: SocketAddr) -> Self {
        self.place = address.to_string();
        self.who_mut().origin = AuditOrigin::of_address(address.ip());
        self
    }

    /// For what a client asks for by MCP, which is another request.
    pub(crate) fn for_client<B>(&self, caller: &Caller, client: &str, asked: &Request<B>) -> Self {
        let what = format!("{} {}", asked.method(), asked.uri().path());
        let name = Caller { mcp: Some(client.to_owned()), ..caller.clone() }.name();
        let who = Who { name, ..self.who_mut().clone() };
        Self { who: Arc::new(Mutex::new(who)), what, ..self.clone() }
    }

    /// Who it is, as soon as that is known.
    pub(crate) fn name(&self, caller: &Caller) {
        let mut who = self.who_mut();
        who.name = caller.name();
        if let Some(key) = &caller.key {
            who.origin = AuditOrigin::Known(key.clone());
        }
    }

    fn who_mut(&self) -> MutexGuard<'_, Who> {
        self.who.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what this answer refuses, once.
    pub(crate) async fn note_refusal(&self, response: &mut Response) {
        if let Some(Audited { kind, why }) = response.extensions_mut().remove::<Audited>() {
            self.note(self.entry(kind).because(&why)).await;
        }
    }

    /// Writes down that an ask was not decided by this caller. False if there were too many of them.
    pub(crate) async fn note_self_approval(&self, ask: &AskRecord, why: &str) -> bool {
        self.note(self.entry(AuditKind::SelfApproval).because(why).about(ask)).await
    }

    pub(crate) fn entry(&self, kind: AuditKind) -> AuditEntry {
        AuditEntry::new(kind, now(), &self.who_mut().name, &self.place, &self.what)
    }

    /// To its end, whenever the caller leaves.
    async fn note(&self, entry: AuditEntry) -> bool {
        let Some(log) = self.log.clone() else { return true };
        let (origin, (done, written)) =
            (self.who_mut().origin.clone(), tokio::sync::oneshot::channel());
        drop(self.work.spawn(async move {
            let is_written = log.note(entry, &origin).await;
            if done.send(is_written).is_err() {
                tracing::debug!("a caller left before it was refused");
            }
        }));
        written.await.unwrap_or(false)
    }
}

impl<S: Sync> FromRequestParts<S> for Auditor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let auditor = parts.extensions.get::<Self>().cloned();
        auditor.ok_or_else(|| Problem::new(Trouble::Internal, "who calls is unknown"))
    }
}

/// A process of another user, which is not let in at all.
pub(crate) async fn note_stranger(hall: &Hall, uid: u32, why: &str) {
    if let Some(log) = hall.audit() {
        let who = format!("user {uid}");
        let entry =
            AuditEntry::new(AuditKind::StrangerRefused, now(), &who, "socket", "to connect");
        log.note(entry.because(why), &AuditOrigin::Place(who)).await;
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AuditQuery {
    kind: Option<String>,
    refusals: bool,
    task: Option<String>,
    who: Option<String>,
    /// Unix milliseconds.
    since: Option<i64>,
    before: Option<i64>,
    after: Option<i64>,
    limit: Option<usize>,
}

/// Only for people: what an agent was refused for tells it what to try next.
pub(crate) async fn list(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Query(query): Query<AuditQuery>,
) -> Result<Json<AuditList>, Problem> {
    refuse_mcp(&caller)?;
    let bad = |detail: String| Problem::new(Trouble::BadRequest, detail);
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let kind = filled(query.kind).map(|name| {
        let known = AuditKind::ALL.map(AuditKind::name).join(", ");
        let kind = AuditKind::from_name(&name);
        kind.ok_or_else(|| bad(format!("{name:?} is no kind of entry; there are {known}")))
    });
    let task = filled(query.task);
    if let Some(task) = &task {
        crate::ids::check(task)?;
    }
    let store = office.engine.store();
    // A task that was removed is still in the log, under its whole id.
    let task = match task {
        Some(typed) => Some(match crate::ids::task(store, &typed).await {
            Ok(task) => task.id,
            Err(problem) if problem.is(Trouble::NotFound) => TaskId::new(typed),
            Err(problem) => return Err(problem),
        }),
        None => None,
    };
    let filter = AuditFilter {
        kind: kind.transpose()?,
        only_refusals: query.refusals,
        task,
        who: filled(query.who),
        since: query.since,
    };
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MOST_PER_PAGE);
    let page = match query.after {
        Some(after) => store.audit_after(&filter, after, limit).await?,
        None => store.audit(&filter, query.before, limit).await?,
    };
    Ok(Json(AuditList {
        entries: page.entries,
        unseen: store.unseen_audit().await?,
        newest: store.newest_audit().await?,
        suppressed: office.hall.audit().map_or(0, |log| log.suppressed()),
        next: page.next,
    }))
}

pub(crate) async fn read(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Given(request): Given<AuditRead>,
) -> Result<Json<AuditRead>, Problem> {
    refuse_mcp(&caller)?;
    // What is yet to come was seen by nobody.
    let newest = office.engine.store().newest_audit().await?;
    let up_to = request.up_to.min(newest);
    office.engine.store().commit(Write::AuditSeen { up_to }.into()).await?;
    Ok(Json(AuditRead { up_to }))
}

fn refuse_mcp(caller: &Caller) -> Result<(), Problem> {
    let Some(client) = &caller.mcp else { return Ok(()) };
    let detail = format!("{client} may not see the audit log: it comes by MCP");
    Err(Problem::new(Trouble::AgentRefused, detail)
        .hint("a person reads it with `ostler audit` or on the page")
        .audited(AuditKind::AgentRefused))
}

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
