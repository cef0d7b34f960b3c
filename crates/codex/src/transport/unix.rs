//! WebSocket over a unix socket, where Codex listens with `--listen unix://PATH`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, Stream};
use http_body_util::Empty;
use hyper::upgrade::Upgraded;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio_util::codec::{FramedRead, FramedWrite};
use tungstenite::handshake::client::generate_key;
use tungstenite::handshake::derive_accept_key;

use super::Transport;
use crate::wire::{Frame, FrameError, Outgoing, WebSocketDecoder, WebSocketEncoder};

/// How long a connection may take. Codex accepts in milliseconds; a loaded machine was seen to need two seconds.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// One connection to one app-server. Several may be open at a time.
#[derive(Debug)]
pub struct UnixSocket {
    stream: UnixStream,
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
        self.stream.as_fd().try_clone_to_owned().ok()
    }

    fn split(
        self,
    ) -> (
        impl Stream<Item = Result<Frame, FrameError>> + Send + Unpin + 'static,
        impl Sink<Outgoing, Error = io::Error> + Send + Unpin + 'static,
    ) {
        let (reader, writer) = self.stream.into_split();
        let reader = std::io::Cursor::new(self.early).chain(reader);
        (
            FramedRead::new(reader, WebSocketDecoder::default()),
            FramedWrite::new(writer, WebSocketEncoder),
        )
    }
}

async fn connect(path: &Path) -> Result<UnixSocket, ConnectError> {
    let stream = UnixStream::connect(path)
        .await
        .map_err(|error| ConnectError::NobodyListens { path: path.to_owned(), error })?;
    upgrade(stream)
        .await
        .map_err(|reason| ConnectError::NotAnAppServer { path: path.to_owned(), reason })
}

/// The HTTP handshake that turns the stream into a WebSocket. No extension is offered, so none can be in use.
async fn upgrade(stream: UnixStream) -> Result<UnixSocket, String> {
    let key = generate_key();
    let request = Request::builder()
        .uri("/")
        .header(header::HOST, "localhost")
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // The sender is moved in and dropped with it, so that a connection that was refused ends too.
    let ask = async move {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(format!("it answered the WebSocket handshake with {}", response.status()));
        }
        let accept = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        if accept.map(|accept| accept.as_bytes())
            != Some(derive_accept_key(key.as_bytes()).as_bytes())
        {
            return Err("it did not prove that it understood the WebSocket handshake".to_owned());
        }
        hyper::upgrade::on(response).await.map_err(|error| error.to_string())
    };
    // The connection has to be driven until it has handed its stream over; it ends by itself then.
    let (upgraded, _) = tokio::join!(ask, connection.with_upgrades());
    let parts = upgraded?
        .downcast::<TokioIo<UnixStream>>()
        .map_err(|_: Upgraded| "the stream was not handed back".to_owned())?;
    Ok(UnixSocket { stream: parts.io.into_inner(), early: parts.read_buf })
}
