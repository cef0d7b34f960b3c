//! Notices when the keeper's folder, or a file in it, is deleted.
//!
//! Temporary folders are cleaned, and runtime folders go with a session. The kernel tells it (`inotify(7)`), so nothing is
//! looked at while nothing changes.

use std::io;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

/// Holds some dozen events; what does not fit waits in the kernel.
const EVENT_BYTES: usize = 4096;

/// A folder that is watched. The folder itself may be open somewhere, so its own end may be told as a change of its links.
#[derive(Debug)]
pub(super) struct FolderWatch(pipe::Receiver);

impl FolderWatch {
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let losses = WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ATTRIB
            | WatchFlags::ONLYDIR;
        add_watch(&events, folder, losses)?;
        // It is no pipe, but is read and waited for like one.
        Ok(Self(pipe::Receiver::from_owned_fd_unchecked(events)?))
    }

    /// Something may be missing. Cancel-safe. Never returns if the kernel can tell nothing more.
    pub(super) async fn changed(&mut self) {
        let mut buffer = [0_u8; EVENT_BYTES];
        match self.0.read(&mut buffer).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => std::future::pending().await,
        }
    }
}
