//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Request};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http_body_util::Limited;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ostler_model::AuditKind;
use rustix::process::geteuid;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower_service::Service;

use crate::VERSION_HEADER;
use crate::audit::{self, Auditor};
use crate::caller::{Caller, Look, Standing};
use crate::door::Limits;
use crate::given::{BodyDeadline, too_large};
use crate::guard::{Entry, Guard, Rights, Visitor, refuse_browsers, secure};
use crate::hall::Hall;
use crate::head::HeadFault;
use crate::mcp::named_in;
use crate::peer::Peer;
use crate::problem::{Problem, Trouble};
use crate::strict::{MALFORMED, Strict};
use crate::to_the_end::Work;

/// The largest head of a request: a path, a few headers. Hyper takes no less than this.
const HEAD_LIMIT_BYTES: usize = 8192;

/// A caller sends its request at once; one that does not is let go without a word.
const REFUSAL_DEADLINE: Duration = Duration::from_secs(1);

/// What all connections share.
pub(crate) struct Reception {
    pub(crate) router: Router,
    pub(crate) hall: Arc<Hall>,
    pub(crate) look: Look,
    pub(crate) limits: Limits,
    /// Of the places on the unix socket those that agents may have, so that people always find one.
    pub(crate) agents: Semaphore,
}

/// What stands for the caller of a connection, and is asked before each request.
enum Threshold<'r> {
    /// The unix socket: the kernel has told who it is.
    House(Caller),
    Street {
        guard: &'r Guard,
        entry: Entry,
    },
}

/// Serves until the caller leaves, is too slow, or the daemon ends.
pub(crate) async fn serve(stream: UnixStream, reception: &Reception) {
    let hall = &reception.hall;
    let peer = match Peer::of(&stream) {
        Ok(peer) => peer,
        Err(error) => return tracing::warn!(%error, "a caller has no credentials"),
    };
    let own = geteuid().as_raw();
    if peer.uid != own && peer.uid != 0 {
        tracing::warn!(uid = peer.uid, "a caller of another user is refused");
        let detail = format!("this daemon serves user {own}, not user {}", peer.uid);
        audit::note_stranger(hall, peer.uid, &detail).await;
        return turn_away(stream, &Problem::new(Trouble::StrangerRefused, detail), hall).await;
    }
    let caller = tokio::select! {
        caller = peer.identify(reception.look.clone()) => caller,
        () = hall.cut().cancelled() => return,
    };
    let is_agent = caller.standing != Standing::Person;
    let place = is_agent.then(|| reception.agents.try_acquire());
    if let Some(Err(_)) = place {
        let detail = "more agents are connected than this daemon takes";
        let problem = Problem::new(Trouble::TooManyConnections, detail);
        return turn_away(stream, &problem, hall).await;
    }
    converse(stream, reception, &Threshold::House(caller)).await;
    drop(place);
}

/// The same over TCP, where a request says by a token who it is.
pub(crate) async fn serve_tcp(
    stream: TcpStream,
    from: SocketAddr,
    tls: Option<TlsAcceptor>,
    guard: &Guard,
    reception: &Reception,
) {
    let Ok(to) = stream.local_addr() else { return };
    let visitor = Arc::new(Visitor::new(from, to, guard.look()));
    let threshold = Threshold::Street { guard, entry: Entry { visitor, tls: tls.is_some() } };
    let Some(tls) = tls else { return converse(stream, reception, &threshold).await };
    let greeted = tokio::select! {
        greeted = timeout(reception.limits.head_deadline, tls.accept(stream)) => greeted,
        () = reception.hall.closing().cancelled() => return,
    };
    match greeted {
        Ok(Ok(stream)) => converse(stream, reception, &threshold).await,
        Ok(Err(error)) => tracing::debug!(%error, %from, "a caller speaks no TLS"),
        Err(_) => tracing::debug!(%from, "a caller did not greet in time"),
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    reception: &Reception,
    threshold: &Threshold<'_>,
) {
    let work = Work::default();
    talk(stream, reception, threshold, &work).await;
    // What it has asked for is done to its end, and takes the place of the connection until then.
    tokio::select! {
        () = work.done() => {}
        () = reception.hall.cut().cancelled() => {}
    }
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    reception: &Reception,
    threshold: &Threshold<'_>,
    work: &Work,
) {
    let hall = &reception.hall;
    let service = service_fn(|request| answer(reception, threshold, work, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(reception.limits.head_deadline)
        .max_buf_size(HEAD_LIMIT_BYTES)
        .serve_connection(TokioIo::new(Strict::new(stream, HEAD_LIMIT_BYTES)), service);
    let mut connection = pin!(connection);
    let mut is_closing = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended early");
                }
                return;
            }
            () = hall.cut().cancelled() => return,
            () = hall.closing().cancelled(), if !is_closing => {
                is_closing = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Answers the first request with a refusal, whatever it asks for, and hangs up.
pub(crate) async fn turn_away(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    problem: &Problem,
    hall: &Hall,
) {
    let refuse = service_fn(|_: Request<Incoming>| async {
        Ok::<_, Infallible>(named(problem.clone().into_response(), hall))
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEAD_LIMIT_BYTES)
        .serve_connection(TokioIo::new(stream), refuse);
    tokio::select! {
        ended = timeout(REFUSAL_DEADLINE, connection) => {
            if !matches!(ended, Ok(Ok(()))) {
                tracing::debug!("a caller left before it was turned away");
            }
        }
        () = hall.closing().cancelled() => {}
    }
}

async fn answer(
    reception: &Reception,
    threshold: &Threshold<'_>,
    work: &Work,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    let auditor = Auditor::new(&reception.hall, work, &request);
    let auditor = match threshold {
        Threshold::House(caller) => auditor.of_process(caller),
        Threshold::Street { entry, .. } => auditor.of_address(entry.visitor.from),
    };
    let response = admit(reception, threshold, work, request, &auditor).await;
    let mut response = response.unwrap_or_else(Problem::into_response);
    auditor.note_refusal(&mut response).await;
    let response = named(response, &reception.hall);
    Ok(match threshold {
        Threshold::House(_) => response,
        Threshold::Street { .. } => secure(response),
    })
}

/// Nothing of a request is looked at before it is known to be meant for us.
async fn admit(
    reception: &Reception,
    threshold: &Threshold<'_>,
    work: &Work,
    request: Request<Incoming>,
    auditor: &Auditor,
) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    refuse_malformed(&parts)?;
    let (caller, rights) = match threshold {
        Threshold::House(caller) => {
            refuse_browsers(&parts.headers)?;
            (caller.clone(), Rights::House)
        }
        Threshold::Street { guard, entry } => {
            guard.check_origin(&parts)?;
            guard.recognise(entry.clone(), &parts).await
        }
    };
    auditor.name(&Caller { mcp: named_in(&parts.headers), ..caller.clone() });
    parts.extensions.insert(auditor.clone());
    parts.extensions.insert(caller);
    parts.extensions.insert(rights);
    parts.extensions.insert(work.clone());
    Ok(route(reception, Request::from_parts(parts, body)).await)
}

/// What stands for a request that could be read in two ways, and a path that no file and no name can have.
fn refuse_malformed(parts: &Parts) -> Result<(), Problem> {
    let refused =
        |detail: &str| Err(Problem::new(Trouble::BadRequest, detail).audited(AuditKind::Malformed));
    if let Some(fault) = parts.headers.get(MALFORMED) {
        let fault = fault.to_str().ok().and_then(HeadFault::from_name);
        return refused(fault.map_or("the head makes no sense", HeadFault::detail));
    }
    if parts.uri.path().contains("%00") {
        return refused("there is a NUL in the path");
    }
    Ok(())
}

/// Every answer says which ostler gives it.
fn named(mut response: Response, hall: &Hall) -> Response {
    if let Ok(version) = hall.version.parse() {
        response.headers_mut().insert(VERSION_HEADER, version);
    }
    response
}

async fn route(reception: &Reception, mut request: Request<Incoming>) -> Response {
    let limits = reception.limits;
    let most = match is_upload(&request) {
        true => limits.upload_bytes,
        false => limits.body_bytes,
    };
    if request.body().size_hint().lower() > most as u64 {
        return too_large().into_response();
    }
    request.extensions_mut().insert(BodyDeadline(limits.body_deadline));
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let request = request.map(|body| Body::new(Limited::new(body, most)));
    let mut router = reception.router.clone();
    // A route that panics must not leave its caller without an answer.
    match AssertUnwindSafe(router.call(request)).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => {
            tracing::error!(%method, path, "a route panicked");
            let problem = Problem::new(Trouble::Internal, "the daemon failed at this request");
            problem.hint("its log says more").into_response()
        }
    }
}

/// The one route whose body goes to a file and not into memory.
fn is_upload(request: &Request<Incoming>) -> bool {
    let path = request.uri().path();
    request.method() == Method::POST && path.starts_with("/v1/tasks/") && path.ends_with("/files")
}
