//! The daemon's routes as the bridge asks for them: from inside the daemon, or from a process of its own.

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use bytes::{Buf, BytesMut};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use http_body_util::BodyExt;
use serde_json::Value;
use tower_service::Service;

use super::via::{MCP_CLIENT_HEADER, plain};
use crate::Caller;
use crate::audit::Auditor;
use crate::given::BodyDeadline;
use crate::guard::Rights;
use crate::problem::{Problem, Trouble};
use crate::to_the_end::Work;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Get,
    Post,
}

/// One request to a route of the daemon.
#[derive(Debug, Clone)]
pub struct Errand {
    pub verb: Verb,
    pub path: String,
    /// Null for a GET.
    pub body: Value,
    /// For whom.
    pub client: String,
}

/// The objects of a long answer, as they come. It ends where the answer ends or breaks off.
pub type Lines = BoxStream<'static, Value>;

/// The daemon. Two users: its own `/mcp`, and `ostler mcp`, which comes by the socket.
pub trait Daemon: Send + Sync {
    fn run(&self, errand: Errand) -> BoxFuture<'_, Result<Value, Problem>>;

    fn lines(&self, errand: Errand) -> BoxFuture<'_, Result<Lines, Problem>>;
}

/// From inside: the same routes, with the rights of the request that came in.
pub(crate) struct Inside {
    pub(crate) router: Router,
    pub(crate) caller: Caller,
    pub(crate) rights: Rights,
    pub(crate) deadline: BodyDeadline,
    pub(crate) work: Work,
    pub(crate) auditor: Auditor,
}

impl Inside {
    async fn send(&self, errand: &Errand) -> Result<Body, Problem> {
        let (method, body) = match errand.verb {
            Verb::Get => (Method::GET, Body::empty()),
            Verb::Post => (Method::POST, Body::from(errand.body.to_string())),
        };
        let request = Request::builder()
            .method(method)
            .uri(&errand.path)
            .header(header::CONTENT_TYPE, "application/json")
            .header(MCP_CLIENT_HEADER, plain(&errand.client))
            .body(body);
        let mut request = request.map_err(|error| {
            Problem::new(Trouble::BadRequest, format!("this cannot be asked for: {error}"))
        })?;
        request.extensions_mut().insert(self.caller.clone());
        request.extensions_mut().insert(self.rights.clone());
        request.extensions_mut().insert(self.deadline);
        request.extensions_mut().insert(self.work.clone());
        let auditor = self.auditor.for_client(&self.caller, &errand.client, &request);
        request.extensions_mut().insert(auditor.clone());
        let mut response = match self.router.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        auditor.note_refusal(&mut response).await;
        let (status, body) = (response.status(), response.into_body());
        match status.is_success() {
            true => Ok(body),
            false => Err(refusal(status, body).await),
        }
    }
}

async fn refusal(status: StatusCode, body: Body) -> Problem {
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_else(|_| {
        Problem::new(Trouble::Internal, format!("the daemon answered {status} and did not say why"))
    })
}

impl Daemon for Inside {
    fn run(&self, errand: Errand) -> BoxFuture<'_, Result<Value, Problem>> {
        Box::pin(async move {
            let body = self.send(&errand).await?;
            let broken = |error: String| Problem::new(Trouble::Internal, error);
            let bytes = body.collect().await.map_err(|error| broken(error.to_string()))?;
            serde_json::from_slice(&bytes.to_bytes()).map_err(|error| broken(error.to_string()))
        })
    }

    fn lines(&self, errand: Errand) -> BoxFuture<'_, Result<Lines, Problem>> {
        Box::pin(async move {
            let data = self.send(&errand).await?.into_data_stream();
            let begun = (data, BytesMut::new());
            let lines = stream::unfold(begun, |(mut data, mut buffer)| async move {
                loop {
                    if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                        let line = buffer.split_to(end);
                        buffer.advance(1);
                        if let Ok(value) = serde_json::from_slice::<Value>(&line) {
                            return Some((value, (data, buffer)));
                        }
                        continue;
                    }
                    buffer.extend_from_slice(&data.next().await?.ok()?);
                }
            });
            Ok(lines.boxed())
        })
    }
}
