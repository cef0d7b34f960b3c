//! Opens the door again when its socket, or the folder of it, is deleted: nobody could reach the daemon any more.
//!
//! The kernel tells it (`inotify(7)`), so an idle daemon is not woken by this.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use tokio::io::AsyncReadExt;
use tokio::net::UnixListener;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};

use super::{DoorError, registered, socket};

/// From a change to the look: whoever deletes a folder deletes its files one after the other.
const SETTLED_AFTER: Duration = Duration::from_millis(100);

/// Before the second try, doubled each time. The place may be gone until the user logs in again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Between two tries at most, and only while the socket is missing.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Holds some dozen events; what does not fit waits in the kernel.
const EVENT_BYTES: usize = 4096;

pub(super) struct SocketWatch {
    path: PathBuf,
    events: Option<pipe::Receiver>,
    look_at: Option<Instant>,
    pause: Duration,
}

/// Returns when the socket is missing. Cancel-safe.
pub(super) async fn missing(watch: Option<&mut SocketWatch>) {
    match watch {
        Some(watch) => watch.missing().await,
        None => std::future::pending().await,
    }
}

impl SocketWatch {
    pub(super) fn new(path: PathBuf) -> Self {
        let mut watch = Self { path, events: None, look_at: None, pause: FIRST_PAUSE };
        watch.begin();
        watch
    }

    fn begin(&mut self) {
        self.events = match watched(folder_of(&self.path)) {
            Ok(events) => Some(events),
            Err(error) => {
                tracing::warn!(%error, "a deleted socket would not be noticed");
                None
            }
        };
    }

    async fn missing(&mut self) {
        loop {
            let due = async {
                match self.look_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = changed(self.events.as_mut()) => {
                    self.look_at = Some(Instant::now() + SETTLED_AFTER);
                }
                () = due => {
                    self.look_at = None;
                    if fs::symlink_metadata(&self.path).is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Tries once; if it fails, the socket counts as missing again after a while.
    pub(super) fn open_again(&mut self) -> Option<UnixListener> {
        match open(&self.path) {
            Ok(listener) => {
                tracing::warn!(path = %self.path.display(), "the socket was deleted and is there again");
                self.pause = FIRST_PAUSE;
                self.begin();
                Some(listener)
            }
            Err(error) => {
                tracing::error!(%error, "the socket was deleted and cannot be opened again");
                self.look_at = Some(Instant::now() + self.pause);
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                None
            }
        }
    }
}

fn open(path: &Path) -> Result<UnixListener, DoorError> {
    let folder = folder_of(path);
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder).map_err(socket::failed("create", folder))?;
    let listener = socket::listen(path)?;
    registered(listener).map_err(socket::failed("listen on", path))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

fn watched(folder: &Path) -> io::Result<pipe::Receiver> {
    let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let losses = WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    add_watch(&events, folder, losses)?;
    // It is no pipe, but is read and waited for like one.
    pipe::Receiver::from_owned_fd_unchecked(events)
}

/// Something in the folder, or itself, is gone. Never, if the kernel can tell nothing more.
async fn changed(events: Option<&mut pipe::Receiver>) {
    let Some(events) = events else { return std::future::pending().await };
    let mut buffer = [0_u8; EVENT_BYTES];
    match events.read(&mut buffer).await {
        Ok(1..) => {}
        Ok(0) | Err(_) => std::future::pending().await,
    }
}
