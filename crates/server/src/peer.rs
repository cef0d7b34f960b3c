//! Who is at the other end of a unix socket.
//!
//! The kernel notes pid and uid of whoever called `connect`. By the time we look, that process may be gone and its pid may
//! mean another one. So a handle (pidfd) is taken first, everything about the pid is read, and only if the handle's
//! process still lives afterwards was all of it about the right one. Linux from 6.5 on gives the handle of the very process
//! that connected. Before that it is opened by the pid: what remains is a process that connected, ended, and
//! whose pid was given out anew before we accepted, which takes a whole round of pids within milliseconds.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt::PeerPidfd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::net::UnixStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::account;
use crate::caller::{Caller, Look, Standing};

/// A look reads a few files of `/proc` and one record per keeper: milliseconds. A disk that hangs must not hold the caller.
pub(crate) const LOOK_DEADLINE: Duration = Duration::from_secs(5);

/// The process that connected.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) uid: u32,
    pid: i32,
    handle: Option<OwnedFd>,
}

impl Peer {
    pub(crate) fn of(stream: &UnixStream) -> io::Result<Self> {
        let credentials = stream.peer_cred()?;
        // 0 where the process has no pid in our namespace.
        let pid = credentials.pid().unwrap_or(0);
        let handle = match getsockopt(&stream.as_fd(), PeerPidfd) {
            Ok(handle) => Some(handle),
            // Linux before 6.5 does not know the option.
            Err(Errno::ENOPROTOOPT) => {
                let pid = Pid::from_raw(pid);
                pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
            }
            // The process has ended.
            Err(_) => None,
        };
        Ok(Self { uid: credentials.uid(), pid, handle })
    }

    /// Finds out what the caller is. What cannot be found out counts against it.
    pub(crate) async fn identify(self, look: Look) -> Caller {
        let (uid, pid) = (self.uid, self.pid);
        let looking = spawn_blocking(move || self.standing(&look));
        let standing = match timeout(LOOK_DEADLINE, looking).await {
            Ok(Ok(standing)) => standing,
            Ok(Err(_)) => Standing::agent("could not be looked at"),
            Err(_) => Standing::agent("could not be looked at in time"),
        };
        let naming = spawn_blocking(move || account::name_of(uid));
        let user = timeout(LOOK_DEADLINE, naming).await.ok().and_then(Result::ok).flatten();
        Caller { uid, user, pid, standing, key: None, mcp: None }
    }

    fn standing(&self, look: &Look) -> Standing {
        if self.pid <= 0 {
            return Standing::agent("lives in another pid namespace");
        }
        let standing = Arc::clone(look)(self.pid);
        // Only now: had it ended before we looked, the pid might have meant somebody else.
        if self.has_ended() { Standing::agent("has ended already") } else { standing }
    }

    /// A pidfd can be read as soon as its process has ended.
    fn has_ended(&self) -> bool {
        let Some(handle) = &self.handle else { return true };
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut watched = [PollFd::new(handle, PollFlags::IN)];
        !matches!(poll(&mut watched, Some(&at_once)), Ok(0))
    }
}
