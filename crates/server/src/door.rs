//! The listening socket, and the loop that lets callers in.

mod socket;
mod watch;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixListener};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

pub use socket::SOCKET_PATH_LIMIT_BYTES;

use crate::caller::Look;
use crate::connection::{self, Reception};
use crate::guard::Guard;
use crate::hall::Hall;
use crate::heart::Beat;
use crate::lock::DaemonLock;
use crate::problem::{Problem, Trouble};
use crate::tcp::TcpDoor;
use socket::SocketFile;
use watch::SocketWatch;

/// Between two tries when a connection cannot be accepted, e.g. because no more files may be open.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Each is over within a second.
const REFUSED_AT_ONCE: usize = 64;

/// Where to listen.
#[derive(Debug)]
pub enum DoorSettings {
    /// A socket of our own, in a folder that only we can enter.
    Path(PathBuf),
    /// One that a service manager listens on already, see [`crate::activation`].
    Inherited(OwnedFd),
}

impl DoorSettings {
    /// Where callers knock.
    pub fn path(&self) -> Result<PathBuf, DoorError> {
        match self {
            Self::Path(path) => Ok(path.clone()),
            Self::Inherited(socket) => {
                let socket = socket.try_clone().map_err(DoorError::Inherited)?;
                socket::private_path(&socket.into())
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    #[error(
        "the socket path {} has {} bytes and the system allows {SOCKET_PATH_LIMIT_BYTES}; choose a shorter folder",
        .0.display(), .0.as_os_str().len()
    )]
    PathTooLong(PathBuf),
    #[error("{} can be entered by other users; run `chmod 700` on it", .0.display())]
    FolderNotPrivate(PathBuf),
    #[error("{} is in the way: it is no socket of ours; move it away", .0.display())]
    InTheWay(PathBuf),
    #[error("another program listens on {}; end it, or let it start the daemon", .0.display())]
    Taken(PathBuf),
    #[error("{} can be reached by other users; its socket unit needs SocketMode=0600", .0.display())]
    SocketNotPrivate(PathBuf),
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot listen on the inherited socket: {0}")]
    Inherited(io::Error),
}

/// What one caller may take of the daemon.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Each holds a file descriptor and about 20 kB; 256 terminals and programs are more than one person has.
    pub connections: usize,
    /// The same over TCP: 500 viewers of a busy task and some to spare. With those of the unix socket they are fewer than the 1024
    /// files that most systems let a process have, so that the street cannot use up what the house needs.
    pub tcp_connections: usize,
    /// From the end of one request to the end of the next one's head. It also ends connections that nobody uses.
    pub head_deadline: Duration,
    /// Codex takes 1,048,576 characters of text; up to four bytes each, and twice that for escapes.
    pub body_bytes: usize,
    pub body_deadline: Duration,
    /// A file that is given to a task: a long recording of a screen, a core of a small program.
    pub upload_bytes: usize,
    /// How long the end of the daemon waits for requests under way. A service manager gives 90 s in all.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            tcp_connections: 600,
            head_deadline: Duration::from_secs(30),
            body_bytes: 8 * 1024 * 1024,
            body_deadline: Duration::from_secs(30),
            upload_bytes: 100 * 1024 * 1024,
            drain: Duration::from_secs(5),
        }
    }
}

/// The daemon's door. It is open from [`Door::open`] on: callers wait until [`Door::serve`] lets them in.
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
    limits: Limits,
    tcp: Option<(TcpDoor, Arc<Guard>)>,
    /// Removes our own socket when the door is closed; an inherited one stays.
    file: Option<SocketFile>,
}

struct Places {
    served: Arc<Semaphore>,
    refused: Arc<Semaphore>,
}

impl Door {
    /// Only whoever holds the lock may open it, and so remove what a dead daemon left. Only inside a runtime.
    pub fn open(
        settings: DoorSettings,
        limits: Limits,
        _lock: &DaemonLock,
    ) -> Result<Self, DoorError> {
        match settings {
            DoorSettings::Path(path) => {
                let listener = socket::listen(&path)?;
                let file = SocketFile::new(path.clone());
                let listener = registered(listener).map_err(socket::failed("listen on", &path))?;
                Ok(Self { listener, path, limits, tcp: None, file: Some(file) })
            }
            DoorSettings::Inherited(socket) => {
                let listener = std::os::unix::net::UnixListener::from(socket);
                let path = socket::private_path(&listener)?;
                let listener = registered(listener).map_err(DoorError::Inherited)?;
                Ok(Self { listener, path, limits, tcp: None, file: None })
            }
        }
    }

    /// Callers are let in by TCP, too.
    #[must_use]
    pub fn with_tcp(self, tcp: TcpDoor, guard: Arc<Guard>) -> Self {
        Self { tcp: Some((tcp, guard)), ..self }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves until the hall is closed, then answers what is under way and returns when every connection has ended.
    pub async fn serve(self, router: Router, hall: Arc<Hall>, look: Look, mut beat: Beat) {
        let Self { mut listener, path, limits, tcp, file } = self;
        // An inherited socket is its service manager's to open again.
        let mut watch = file.is_some().then(|| SocketWatch::new(path.clone()));
        let connections = TaskTracker::new();
        let places = Places::new(limits.connections);
        // Of their own, so that whoever fills the street does not stand in the way of the house.
        let outside = Places::new(limits.tcp_connections);
        let agents = Semaphore::new(limits.connections - limits.connections / 4);
        let reception = Arc::new(Reception { router, hall: hall.clone(), look, limits, agents });
        loop {
            let accepted = tokio::select! {
                () = hall.closing().cancelled() => break,
                () = beat.next() => continue,
                () = watch::missing(watch.as_mut()) => {
                    if let Some(opened) = watch.as_mut().and_then(SocketWatch::open_again) {
                        listener = opened;
                    }
                    continue;
                }
                accepted = listener.accept() => accepted.map(|(stream, _)| {
                    let served = reception.clone();
                    let serve = |stream| async move { connection::serve(stream, &served).await };
                    let_in(stream, serve, &reception, &places, &connections);
                }),
                accepted = next(tcp.as_ref()) => accepted.map(|(stream, from, tls, guard)| {
                    let served = reception.clone();
                    let serve = move |stream| async move {
                        connection::serve_tcp(stream, from, tls, &guard, &served).await;
                    };
                    let_in(stream, serve, &reception, &outside, &connections);
                }),
            };
            if let Err(error) = accepted {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_AGAIN).await;
            }
        }
        // First the door, so that whoever comes now is told that there is no daemon rather than left waiting.
        drop(listener);
        drop(tcp);
        drop(file);
        connections.close();
        if timeout(limits.drain, connections.wait()).await.is_err() {
            tracing::warn!(left = connections.len(), "connections are cut");
            hall.cut().cancel();
            // Every connection ends at its next await.
            connections.wait().await;
        }
    }
}

impl Places {
    fn new(most: usize) -> Self {
        Self {
            served: Arc::new(Semaphore::new(most)),
            refused: Arc::new(Semaphore::new(REFUSED_AT_ONCE)),
        }
    }
}

/// The next caller by TCP; never, where there is no such door.
async fn next(
    tcp: Option<&(TcpDoor, Arc<Guard>)>,
) -> io::Result<(TcpStream, SocketAddr, Option<TlsAcceptor>, Arc<Guard>)> {
    let Some((door, guard)) = tcp else { return std::future::pending().await };
    let (stream, from) = door.accept().await?;
    Ok((stream, from, door.tls(), guard.clone()))
}

/// Whoever finds no place is told so, as long as there is one to be told at; past that, the connection is dropped.
fn let_in<Stream, Serving>(
    stream: Stream,
    serve: impl FnOnce(Stream) -> Serving,
    reception: &Arc<Reception>,
    places: &Places,
    connections: &TaskTracker,
) where
    Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    Serving: Future<Output = ()> + Send + 'static,
{
    if let Ok(place) = places.served.clone().try_acquire_owned() {
        let serving = serve(stream);
        connections.spawn(async move {
            serving.await;
            drop(place);
        });
    } else if let Ok(place) = places.refused.clone().try_acquire_owned() {
        let reception = reception.clone();
        connections.spawn(async move {
            let detail = "more connections are open than this daemon takes";
            let problem = Problem::new(Trouble::TooManyConnections, detail).hint("try again later");
            connection::turn_away(stream, &problem, &reception.hall).await;
            drop(place);
        });
    }
}

fn registered(listener: std::os::unix::net::UnixListener) -> io::Result<UnixListener> {
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}
