//! One connection to one app-server, past its handshake: typed calls, built for the version at the other end.

use std::time::Duration;

use thiserror::Error;

use crate::binary::OLDEST;
use crate::peer::{self, AnswerError, Events, Peer, PeerSettings, RequestError};
use crate::protocol::request::PrepareError;
use crate::protocol::request::initialize::{INITIALIZED, Initialize, Initialized};
use crate::protocol::{ClientRequest, CodexVersion, prepare, read_reply};
use crate::transport::Transport;

/// Long enough for a fresh `CODEX_HOME` on a loaded machine, where Codex was seen to take two seconds.
const INITIALIZE_DEADLINE: Duration = Duration::from_secs(30);

/// Codex answers most requests within 20 ms; a resume of a long thread or a start among 200 others takes seconds.
const CALL_DEADLINE: Duration = Duration::from_secs(60);

/// A connection that may be used.
#[derive(Debug, Clone)]
pub struct AppServer {
    peer: Peer,
    version: CodexVersion,
    greeting: Initialized,
}

#[derive(Debug, Error)]
pub enum HandshakeError {
    #[error("the app-server did not take our greeting: {0}")]
    Refused(#[from] RequestError),
    #[error("the connection ended during the greeting: {0}")]
    Ended(#[from] AnswerError),
    #[error("the app-server's greeting cannot be read: {0}")]
    Unreadable(serde_json::Error),
    #[error(
        "the app-server does not say which version it is (user agent `{user_agent}`); codex 0.125.0 or later is needed"
    )]
    NoVersion { user_agent: String },
    #[error("the app-server is codex {version}; codex {} or later is needed", OLDEST)]
    TooOld { version: CodexVersion },
}

/// Why a typed call failed.
#[derive(Debug, Error)]
pub enum CallError {
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error("{method}: {source}")]
    Request { method: &'static str, source: RequestError },
    #[error("the answer to {method} cannot be read: {source}")]
    Unreadable { method: &'static str, source: serde_json::Error },
}

impl AppServer {
    /// Greets the app-server and learns its version. Events come from the first byte on; read them while you call.
    pub async fn greet(
        transport: impl Transport,
        hello: &Initialize,
        settings: &PeerSettings,
    ) -> Result<(Self, Events), HandshakeError> {
        let (peer, events) = peer::open(transport, settings);
        let reply = peer.request(Initialize::METHOD, hello, INITIALIZE_DEADLINE).await?;
        let greeting = read_reply::<Initialize>(&reply).map_err(HandshakeError::Unreadable)?;
        let Some(version) = greeting.version() else {
            let user_agent = greeting.user_agent.unwrap_or_default();
            return Err(HandshakeError::NoVersion { user_agent });
        };
        if *version.semver() < OLDEST {
            return Err(HandshakeError::TooOld { version });
        }
        peer.notify(INITIALIZED).await?;
        Ok((Self { peer, version, greeting }, events))
    }

    /// The version of the Codex at the other end.
    pub fn version(&self) -> &CodexVersion {
        &self.version
    }

    /// What it said of itself.
    pub fn greeting(&self) -> &Initialized {
        &self.greeting
    }

    /// For answers to server requests, and for methods without a type.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    pub async fn call<R: ClientRequest>(&self, request: &R) -> Result<R::Reply, CallError> {
        self.call_within(request, CALL_DEADLINE).await
    }

    pub async fn call_within<R: ClientRequest>(
        &self,
        request: &R,
        deadline: Duration,
    ) -> Result<R::Reply, CallError> {
        let params = prepare(request, &self.version)?;
        let reply = self.peer.request(R::METHOD, &params, deadline).await;
        let reply = reply.map_err(|source| CallError::Request { method: R::METHOD, source })?;
        read_reply::<R>(&reply)
            .map_err(|source| CallError::Unreadable { method: R::METHOD, source })
    }
}
