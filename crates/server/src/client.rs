//! The other side of the door: one connection for one command.

mod error;
mod lines;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::{Method, Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

pub use error::ClientError;
pub use lines::Lines;

use crate::VERSION_HEADER;
use crate::mcp::{MCP_CLIENT_HEADER, plain};
use crate::problem::Problem;
use crate::routes::{Health, Stop, Stopping};
use crate::{StopMode, problem};

/// One answer that is not a stream; the daemon splits what could be longer into pages.
const ANSWER_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// How to reach a daemon.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    pub socket: PathBuf,
    pub versions: Versions,
    /// For one call, connecting included. A daemon that commits to a slow disk may need seconds.
    pub deadline: Duration,
}

/// Which daemons may be spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Versions {
    /// Only this one; any other is [`ClientError::Skew`].
    Only(String),
    /// For health and stop, which every version understands.
    Any,
}

/// A connection to the daemon.
#[derive(Debug)]
pub struct Client {
    sender: SendRequest<Full<Bytes>>,
    settings: ClientSettings,
    /// The MCP client for whom it asks.
    mcp: Option<String>,
    /// Moves the bytes; ends with the client.
    _connection: AbortOnDropHandle<()>,
}

impl Client {
    pub async fn connect(settings: ClientSettings) -> Result<Self, ClientError> {
        let deadline = settings.deadline;
        let connecting = async {
            let stream = UnixStream::connect(&settings.socket)
                .await
                .map_err(|source| unreachable(&settings.socket, source))?;
            handshake(TokioIo::new(stream)).await.map_err(|error| ClientError::broken(&error))
        };
        let connected = timeout(deadline, connecting).await;
        let (sender, connection) = connected.map_err(|_| ClientError::TimedOut(deadline))??;
        let connection = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the connection to the daemon ended early");
            }
        });
        let _connection = AbortOnDropHandle::new(connection);
        Ok(Self { sender, settings, mcp: None, _connection })
    }

    /// Says with every request that it is made for a program that comes by MCP.
    #[must_use]
    pub fn for_mcp(self, client: &str) -> Self {
        Self { mcp: Some(plain(client)), ..self }
    }

    pub async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ClientError> {
        self.call(Method::GET, path, Bytes::new()).await
    }

    pub async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.call(Method::POST, path, json(body)?).await
    }

    pub async fn delete<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ClientError> {
        self.call(Method::DELETE, path, Bytes::new()).await
    }

    /// A long answer of one JSON object per line. The connection serves nothing else from then on.
    pub async fn lines(mut self, path: &str) -> Result<Lines, ClientError> {
        let request = self.request(Method::GET, path, Bytes::new())?;
        let response = self.within(self.settings.deadline, request).await?;
        Ok(Lines::new(response.into_body(), self))
    }

    pub async fn health(&mut self) -> Result<Health, ClientError> {
        self.get("/v1/health").await
    }

    pub async fn stop(&mut self, mode: StopMode) -> Result<Stopping, ClientError> {
        self.post("/v1/daemon/stop", &Stop { mode }).await
    }

    async fn call<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, ClientError> {
        let request = self.request(method, path, body)?;
        let deadline = self.settings.deadline;
        let talk = async {
            let response = self.send(request).await?;
            let status = response.status();
            let bytes = whole(response).await?;
            let text: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
            serde_json::from_slice(text).map_err(|error| {
                ClientError::Broken(format!(
                    "the answer ({status}) is not what was expected: {error}"
                ))
            })
        };
        timeout(deadline, talk).await.map_err(|_| ClientError::TimedOut(deadline))?
    }

    async fn within(
        &mut self,
        deadline: Duration,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        let sent = timeout(deadline, self.send(request)).await;
        sent.map_err(|_| ClientError::TimedOut(deadline))?
    }

    /// A response that is none of the daemon's errors, from a daemon that speaks as we do.
    async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        self.sender.ready().await.map_err(|_| ClientError::Closed)?;
        let response =
            self.sender.send_request(request).await.map_err(|error| ClientError::broken(&error))?;
        if let Versions::Only(own) = &self.settings.versions {
            let theirs = response.headers().get(VERSION_HEADER);
            let daemon = theirs.and_then(|value| value.to_str().ok()).unwrap_or("unknown");
            if daemon != own {
                let (daemon, own) = (daemon.to_owned(), own.clone());
                return Err(ClientError::Skew { daemon, own });
            }
        }
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal(response).await)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            // HTTP wants a host; on a unix socket it means nothing.
            .header(header::HOST, "ostler")
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(client) = &self.mcp {
            request = request.header(MCP_CLIENT_HEADER, client);
        }
        request
            .body(Full::new(body))
            .map_err(|error| ClientError::Broken(format!("{path} cannot be asked for: {error}")))
    }
}

async fn whole(response: Response<Incoming>) -> Result<Bytes, ClientError> {
    let body = Limited::new(response.into_body(), ANSWER_LIMIT_BYTES).collect().await;
    let body =
        body.map_err(|error| ClientError::Broken(format!("the answer broke off: {error}")))?;
    Ok(body.to_bytes())
}

async fn refusal(response: Response<Incoming>) -> ClientError {
    let status = response.status();
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let is_problem = content_type.is_some_and(|value| value == problem::CONTENT_TYPE);
    let bytes = match whole(response).await {
        Ok(bytes) => bytes,
        Err(error) => return error,
    };
    match serde_json::from_slice::<Problem>(&bytes) {
        Ok(problem) if is_problem => ClientError::from(problem),
        _ => ClientError::Broken(unexpected(status)),
    }
}

fn unexpected(status: StatusCode) -> String {
    format!("it answered {status} and did not say why; is it an ostler daemon?")
}

fn json(body: &impl Serialize) -> Result<Bytes, ClientError> {
    let text = serde_json::to_vec(body);
    let text =
        text.map_err(|error| ClientError::Broken(format!("the request is no JSON: {error}")))?;
    Ok(Bytes::from(text))
}

fn unreachable(socket: &Path, source: io::Error) -> ClientError {
    let socket = socket.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ClientError::NotRunning(socket)
        }
        _ => ClientError::Unreachable { socket, source },
    }
}
