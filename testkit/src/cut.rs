//! A connection that a test can make deaf, mute, or cut, between a driver and a real app-server.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use ostler_codex::app_server::AppServer;
use ostler_codex::driver::{ConnectError, Connection, Connector, hello};
use ostler_codex::peer::PeerSettings;
use ostler_codex::transport::UnixSocket;
use ostler_model::thread::ServerWanted;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// No word of an app-server that lives takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Gives connections to one app-server, each through a wire that can be tampered with.
#[derive(Debug)]
pub struct CutConnector {
    socket: PathBuf,
    folder: TempDir,
    connections: AtomicU32,
    wire: Mutex<Arc<Tampering>>,
    open: watch::Sender<bool>,
    /// All that the app-server has said, on whichever connection.
    heard: Arc<watch::Sender<Vec<u8>>>,
}

#[derive(Debug, Default)]
struct Tampering {
    cut: CancellationToken,
    deaf: AtomicBool,
    mute: AtomicBool,
}

impl CutConnector {
    pub fn new(socket: PathBuf) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("ostler").tempdir_in("/tmp")?;
        Ok(Self {
            socket,
            folder,
            connections: AtomicU32::new(0),
            wire: Mutex::default(),
            open: watch::Sender::new(true),
            heard: Arc::default(),
        })
    }

    /// How many connections were made.
    pub fn connections(&self) -> u32 {
        self.connections.load(Ordering::SeqCst)
    }

    /// Ends the connection.
    pub fn cut(&self) {
        self.wire().cut.cancel();
    }

    /// From now on nothing of what the app-server says comes through.
    pub fn deafen(&self) {
        self.wire().deaf.store(true, Ordering::SeqCst);
    }

    /// From now on nothing of what we say comes through.
    pub fn mute(&self) {
        self.wire().mute.store(true, Ordering::SeqCst);
    }

    /// Lets nobody connect until [`CutConnector::open`].
    pub fn close(&self) {
        self.open.send_replace(false);
    }

    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until these words of the app-server have come, as they stand on the wire.
    pub async fn until_heard(&self, words: &str) -> Result<()> {
        let mut heard = self.heard.subscribe();
        let holds = |heard: &Vec<u8>| heard.windows(words.len()).any(|it| it == words.as_bytes());
        tokio::time::timeout(PATIENCE, heard.wait_for(holds)).await.context(words.to_owned())??;
        Ok(())
    }

    fn wire(&self) -> Arc<Tampering> {
        self.wire.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn connect_through(&self) -> Result<Connection> {
        self.open.subscribe().wait_for(|open| *open).await?;
        let number = self.connections.fetch_add(1, Ordering::SeqCst);
        let path = self.folder.path().join(number.to_string());
        let listener = UnixListener::bind(&path)?;
        let wire = Arc::new(Tampering::default());
        *self.wire.lock().unwrap_or_else(PoisonError::into_inner) = wire.clone();
        let server = UnixStream::connect(&self.socket).await?;
        let heard = self.heard.clone();
        tokio::spawn(async move {
            let Ok((client, _)) = listener.accept().await else { return };
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::select! {
                () = wire.cut.cancelled() => {}
                () = pump(from_client, to_server, &wire.mute, |_| {}) => {}
                () = pump(from_server, to_client, &wire.deaf, |piece| {
                    heard.send_modify(|heard| heard.extend_from_slice(piece));
                }) => {}
            }
        });
        let transport = UnixSocket::connect(&path).await?;
        let (server, events) =
            AppServer::greet(transport, &hello(), &PeerSettings::default()).await?;
        Ok(Connection { server, events })
    }
}

impl Connector for CutConnector {
    fn connect(&self, _: ServerWanted) -> BoxFuture<'_, Result<Connection, ConnectError>> {
        Box::pin(async {
            let connected = self.connect_through().await;
            connected.map_err(|error| ConnectError {
                message: format!("{error:#}"),
                evidence: None,
                fault: ostler_codex::start_fault::StartFault::Passing,
            })
        })
    }
}

/// Passes bytes on until one side ends; while the flag is up they vanish.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    vanish: &AtomicBool,
    passed: impl Fn(&[u8]),
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if vanish.load(Ordering::SeqCst) {
            continue;
        }
        let Some(piece) = bytes.get(..read) else { return };
        if to.write_all(piece).await.is_err() {
            return;
        }
        passed(piece);
    }
}
