//! What a request may, and the question that stands before every route.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use ostler_model::AuditKind;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::keys::now;
use super::visitor::Seen;
use super::{Key, Need, Unseen, Visitor};
use crate::audit::Auditor;
use crate::caller::{Caller, Standing};
use crate::problem::{Problem, Trouble};
use crate::to_the_end::Work;

/// By which connection a request came.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) visitor: Arc<Visitor>,
    pub(crate) tls: bool,
}

/// Every request carries it.
#[derive(Clone)]
pub(crate) enum Rights {
    /// By the unix socket: our own user, who was looked at when it connected.
    House,
    Key {
        key: Key,
        ended: CancellationToken,
        streams: Arc<Semaphore>,
        entry: Entry,
        unseen: Unseen,
    },
    /// What everybody may, and what is said of the rest.
    None { problem: Problem, entry: Entry },
}

/// Stands before every route. Whoever has no rights at all, not even none, is refused.
pub(crate) async fn require(
    need: Need,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let rights = request.extensions().get::<Rights>().cloned();
    let rights = rights.ok_or_else(|| Problem::new(Trouble::Internal, "who calls is unknown"))?;
    match &rights {
        Rights::None { problem, .. } if need != Need::Open => return Err(problem.clone()),
        Rights::House | Rights::None { .. } => {}
        Rights::Key { key, .. } => check(need, key)?,
    }
    if need.is_for_people() {
        match look_to_the_end(need, rights.clone(), request.extensions().clone()).await? {
            Ok(caller) => drop(request.extensions_mut().insert(caller)),
            Err(refusal) => return Ok(refusal),
        }
    }
    let response = next.run(request).await;
    match rights {
        Rights::Key { key, ended, streams, .. } => {
            ending_with(response, key.expires_at, ended, streams)
        }
        _ => Ok(response),
    }
}

/// Looks at who calls, and refuses who is not a person. Whoever leaves meanwhile is written down all the same.
async fn look_to_the_end(
    need: Need,
    rights: Rights,
    said: Extensions,
) -> Result<Result<Caller, Response>, Problem> {
    let unknown = || Problem::new(Trouble::Internal, "who calls is unknown");
    let mut caller = said.get::<Caller>().cloned().ok_or_else(unknown)?;
    let auditor = said.get::<Auditor>().cloned();
    let work = said.get::<Work>().cloned().unwrap_or_default();
    let (done, looked) = oneshot::channel();
    let looking = async move {
        rights.look_at(&mut caller).await;
        let refused = match need {
            Need::DecideNoted => None,
            _ => caller.must_be_person("do this").err(),
        };
        let outcome = match refused.map(Problem::into_response) {
            None => Ok(caller),
            Some(mut refusal) => {
                if let Some(auditor) = auditor {
                    auditor.note_refusal(&mut refusal).await;
                }
                Err(refusal)
            }
        };
        if done.send(outcome).is_err() {
            tracing::debug!("a caller left before it was looked at");
        }
    };
    drop(work.spawn(looking));
    looked.await.map_err(|_| unknown())
}

impl Rights {
    /// Finds out what the caller is, where that was not done when it connected. Over TCP it costs some milliseconds, so only what
    /// is not for agents is worth it.
    pub(crate) async fn look_at(&self, caller: &mut Caller) {
        if let Self::Key { entry, unseen, .. } = self {
            look(caller, entry.visitor.seen().await, *unseen);
        }
    }
}

fn check(need: Need, key: &Key) -> Result<(), Problem> {
    if need == Need::House {
        let detail = "this is done on the daemon's own socket only";
        return Err(Problem::new(Trouble::ScopeMissing, detail)
            .hint("use the command line")
            .audited(AuditKind::ScopeRefused));
    }
    match need.scope() {
        Some(scope) if !key.scopes.contains(&scope) => {
            let detail = format!("this needs the scope {}", scope.name());
            let hint =
                format!("`ostler token new --scope {}` makes a token that has it", scope.name());
            Err(Problem::new(Trouble::ScopeMissing, detail)
                .hint(hint)
                .audited(AuditKind::ScopeRefused))
        }
        _ => Ok(()),
    }
}

fn look(caller: &mut Caller, seen: Seen, unseen: Unseen) {
    match seen {
        Seen::Process { pid, standing } => (caller.pid, caller.standing) = (pid, standing),
        Seen::Elsewhere => caller.standing = Standing::Person,
        Seen::Unseen if unseen == Unseen::IsAPerson => caller.standing = Standing::Person,
        Seen::Unseen => {
            let why =
                "is a process of this machine that cannot be looked at (server.unseen_may_decide)";
            caller.standing = Standing::agent(why);
        }
    }
}

/// An answer without an end ends with the key that it was opened by.
fn ending_with(
    response: Response,
    expires_at: Option<i64>,
    ended: CancellationToken,
    streams: Arc<Semaphore>,
) -> Result<Response, Problem> {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_endless =
        kind.is_some_and(|kind| kind == "text/event-stream" || kind == "application/x-ndjson");
    if !is_endless {
        return Ok(response);
    }
    let stream = streams.try_acquire_owned().map_err(|_| {
        let detail = "this token or login has as many streams open as one may have";
        Problem::new(Trouble::TooManyConnections, detail)
    })?;
    let over = async move {
        match expires_at {
            Some(at) => {
                let left = u64::try_from(at.saturating_sub(now())).unwrap_or(0);
                tokio::select! {
                    () = ended.cancelled() => {}
                    () = sleep(Duration::from_millis(left)) => {}
                }
            }
            None => ended.cancelled().await,
        }
    };
    let lasting = |body: Body| {
        body.into_data_stream().take_until(Box::pin(over)).map(move |piece| {
            // It is given back when the stream is dropped.
            let _held = &stream;
            piece
        })
    };
    Ok(response.map(|body| Body::from_stream(lasting(body))))
}

impl<S: Sync> FromRequestParts<S> for Rights {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let rights = parts.extensions.get::<Self>().cloned();
        rights.ok_or_else(|| Problem::new(Trouble::Internal, "who calls is unknown"))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use axum::Router;
    use axum::http::{Method, StatusCode};
    use axum::routing::MethodFilter;
    use serde_json::json;
    use tower_service::Service;

    use super::*;
    use crate::caller::Look;
    use crate::guard::{KeyKind, Scope};
    use crate::routes::table;
    use crate::table::Row;

    fn caller() -> Caller {
        let standing = Standing::agent("runs below keeper 0123abcd");
        Caller { uid: 0, user: None, pid: 7, standing, key: None, mcp: None }
    }

    /// One that holds a token for everything, and whose process is an agent.
    fn with_a_token() -> (Rights, TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (served, from) = listener.accept().unwrap();
        let look: Look = Arc::new(|_| Standing::agent("runs below keeper 0123abcd"));
        let visitor = Arc::new(Visitor::new(from, served.local_addr().unwrap(), look));
        let key = serde_json::from_value(json!({
            "id": "k", "name": "ci", "kind": KeyKind::Token, "scopes": Scope::ALL,
            "made_by": "ada", "created_at": 0, "expires_at": null,
        }));
        let key = key.unwrap();
        let rights = Rights::Key {
            key,
            ended: CancellationToken::new(),
            streams: Arc::new(Semaphore::new(1)),
            entry: Entry { visitor, tls: false },
            unseen: Unseen::IsAPerson,
        };
        (rights, client, served)
    }

    /// Whether the route itself is reached.
    async fn reaches(row: Row, rights: Rights) -> bool {
        let reached = || async { StatusCode::IM_A_TEAPOT };
        let filter = MethodFilter::try_from(row.method.parse::<Method>().unwrap()).unwrap();
        let guarded = axum::routing::on(filter, reached).route_layer(axum::middleware::from_fn(
            move |request, next| require(row.need, request, next),
        ));
        let mut request =
            Request::builder().method(row.method).uri("/").body(Body::empty()).unwrap();
        request.extensions_mut().insert(caller());
        request.extensions_mut().insert(rights);
        let response = Router::new().route("/", guarded).call(request).await.unwrap();
        match response.status() {
            StatusCode::IM_A_TEAPOT => true,
            StatusCode::FORBIDDEN => false,
            other => panic!("{row:?}: {other}"),
        }
    }

    /// Whatever the routes themselves look at.
    #[tokio::test]
    async fn an_agent_reaches_no_route_that_is_for_people() {
        let (token, _client, _served) = with_a_token();
        for row in table() {
            let is_for_people = !matches!(
                row.need,
                Need::Open | Need::Login | Need::Read | Need::Operate | Need::DecideNoted
            );
            for rights in [Rights::House, token.clone()] {
                assert_eq!(reaches(row, rights).await, !is_for_people, "{row:?}");
            }
        }
    }
}
