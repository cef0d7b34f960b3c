//! WebSocket over a unix socket, where Codex listens with `--listen unix://PATH`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, Stream, StreamExt, stream};
use http_body_util::Empty;
use hyper::upgrade::Upgraded;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::UnixStream;
use tokio_util::codec::FramedWrite;
use tungstenite::handshake::client::generate_key;
use tungstenite::handshake::derive_accept_key;

use super::Transport;
use super::reader::Frames;
use super::write_half::WriteHalf;
use crate::wire::{Frame, FrameError, Outgoing, WebSocketEncoder};

/// How long a connection may take. Codex accepts in milliseconds; a loaded machine was seen to need two seconds.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// One connection to one app-server. Several may be open at a time.
#[derive(Debug)]
pub struct UnixSocket {
    socket: WriteHalf,
    /// What the server sent behind its handshake, before we could ask for it.
    early: Bytes,
}

#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("nobody listens on {}: {error}; is the app-server running?", path.display())]
    NobodyListens { path: PathBuf, error: io::Error },
    #[error("{} did not accept the connection within {} s", path.display(), CONNECT_DEADLINE.as_secs())]
    TimedOut { path: PathBuf },
    #[error("{} is not an app-server: {reason}", path.display())]
    NotAnAppServer { path: PathBuf, reason: String },
}

impl UnixSocket {
    pub async fn connect(path: &Path) -> Result<Self, ConnectError> {
        match tokio::time::timeout(CONNECT_DEADLINE, connect(path)).await {
            Ok(result) => result,
            Err(_) => Err(ConnectError::TimedOut { path: path.to_owned() }),
        }
    }
}

impl Transport for UnixSocket {
    fn hang_up(&self) -> Option<OwnedFd> {
        self.socket.socket().try_clone().ok()
    }

    fn split(
        self,
    ) -> (
        impl Stream<Item = Result<Frame, FrameError>> + Send + Unpin + 'static,
        impl Sink<Outgoing, Error = io::Error> + Send + Unpin + 'static,
    ) {
        let frames = match self.socket.socket().try_clone() {
            Ok(socket) => Frames::read(socket, self.early).left_stream(),
            Err(error) => stream::iter([Err(error.into())]).right_stream(),
        };
        (frames, FramedWrite::new(self.socket, WebSocketEncoder))
    }
}

async fn connect(path: &Path) -> Result<UnixSocket, ConnectError> {
    let not_one = |reason| ConnectError::NotAnAppServer { path: path.to_owned(), reason };
    match upgrade(reach(path).await?).await {
        Ok(socket) => Ok(socket),
        // Codex 0.125.0 speaks WebSocket from the first byte on: it takes the handshake for a broken frame and hangs up.
        Err(Unwilling::HungUp) => {
            let stream = reach(path).await?.into_std();
            let socket = stream.and_then(|stream| WriteHalf::of(stream.into()));
            let socket = socket.map_err(|error| not_one(error.to_string()))?;
            Ok(UnixSocket { socket, early: Bytes::new() })
        }
        Err(Unwilling::Said(reason)) => Err(not_one(reason)),
    }
}

async fn reach(path: &Path) -> Result<UnixStream, ConnectError> {
    let stream = UnixStream::connect(path).await;
    stream.map_err(|error| ConnectError::NobodyListens { path: path.to_owned(), error })
}

/// Why there is no WebSocket.
enum Unwilling {
    /// The other end closed the connection without a word.
    HungUp,
    Said(String),
}

impl From<hyper::Error> for Unwilling {
    fn from(error: hyper::Error) -> Self {
        // Where our handshake was not read to its end, the kernel says "reset" instead of "end".
        let cause = std::error::Error::source(&error);
        let cause = cause.and_then(|cause| cause.downcast_ref::<io::Error>());
        let is_reset = cause.is_some_and(|cause| cause.kind() == io::ErrorKind::ConnectionReset);
        match error.is_incomplete_message() || error.is_closed() || is_reset {
            true => Self::HungUp,
            false => Self::Said(error.to_string()),
        }
    }
}

/// The HTTP handshake that turns the stream into a WebSocket. No extension is offered, so none can be in use.
async fn upgrade(stream: UnixStream) -> Result<UnixSocket, Unwilling> {
    let key = generate_key();
    let request = Request::builder()
        .uri("/")
        .header(header::HOST, "localhost")
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .body(Empty::<Bytes>::new())
        .map_err(|error| Unwilling::Said(error.to_string()))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The sender is moved in and dropped with it, so that a connection that was refused ends too.
    let ask = async move {
        let response = sender.send_request(request).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let status = response.status();
            return Err(Unwilling::Said(format!(
                "it answered the WebSocket handshake with {status}"
            )));
        }
        let accept = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        if accept.map(|accept| accept.as_bytes())
            != Some(derive_accept_key(key.as_bytes()).as_bytes())
        {
            let reason = "it did not prove that it understood the WebSocket handshake";
            return Err(Unwilling::Said(reason.to_owned()));
        }
        Ok(hyper::upgrade::on(response).await?)
    };
    // The connection has to be driven until it has handed its stream over; it ends by itself then.
    let (upgraded, _) = tokio::join!(ask, connection.with_upgrades());
    let parts = upgraded?
        .downcast::<TokioIo<UnixStream>>()
        .map_err(|_: Upgraded| Unwilling::Said("the stream was not handed back".to_owned()))?;
    // It stays as it is: it does not block.
    let stream = parts.io.into_inner().into_std();
    let socket = stream.and_then(|stream| WriteHalf::of(stream.into()));
    let socket = socket.map_err(|error| Unwilling::Said(error.to_string()))?;
    Ok(UnixSocket { socket, early: parts.read_buf })
}
