//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http_body_util::Limited;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::geteuid;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tower_service::Service;

use crate::VERSION_HEADER;
use crate::caller::{Caller, Look};
use crate::door::Limits;
use crate::given::{BodyDeadline, too_large};
use crate::hall::Hall;
use crate::peer::Peer;
use crate::problem::{Problem, Trouble};

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
        return turn_away(stream, &Problem::new(Trouble::StrangerRefused, detail), hall).await;
    }
    let caller = tokio::select! {
        caller = peer.identify(reception.look.clone()) => caller,
        () = hall.cut().cancelled() => return,
    };
    let service = service_fn(|request| answer(reception, &caller, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(reception.limits.head_deadline)
        .max_buf_size(HEAD_LIMIT_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut is_closing = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, pid = caller.pid, "a connection ended early");
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
pub(crate) async fn turn_away(stream: UnixStream, problem: &Problem, hall: &Hall) {
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
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    Ok(named(route(reception, caller, request).await, &reception.hall))
}

/// Every answer says which ostler gives it.
fn named(mut response: Response, hall: &Hall) -> Response {
    if let Ok(version) = hall.version.parse() {
        response.headers_mut().insert(VERSION_HEADER, version);
    }
    response
}

async fn route(reception: &Reception, caller: &Caller, mut request: Request<Incoming>) -> Response {
    let limits = reception.limits;
    if request.body().size_hint().lower() > limits.body_bytes as u64 {
        return too_large().into_response();
    }
    request.extensions_mut().insert(caller.clone());
    request.extensions_mut().insert(BodyDeadline(limits.body_deadline));
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let request = request.map(|body| Body::new(Limited::new(body, limits.body_bytes)));
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
