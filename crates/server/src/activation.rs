//! A socket that a service manager opened for us (`sd_listen_fds(3)`).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// Descriptors are handed over from here on.
const FIRST: i32 = 3;

#[derive(Debug, thiserror::Error)]
pub enum ActivationError {
    #[error(
        "the service manager hands over {0:?} sockets and one is wanted; correct the socket unit"
    )]
    Count(OsString),
    #[error(
        "what the service manager hands over is not a listening unix socket; its socket unit needs \
         ListenStream= with a path"
    )]
    WrongSocket,
    #[error("cannot take the socket of the service manager: {0}")]
    System(#[from] io::Error),
}

/// The listening socket, if the environment says that there is one for this very process.
///
/// A copy of it is given, which no child inherits. The one that was handed over stays open beside it: it cannot be closed by
/// safe code, but no child inherits it any more either. The variables cannot be unset by safe code; whoever starts
/// a child leaves them out, as the rule for Codex's environment does.
pub fn inherited(environment: &[(OsString, OsString)]) -> Result<Option<OwnedFd>, ActivationError> {
    let variable = |name: &str| {
        let found = environment.iter().find(|(candidate, _)| candidate == name);
        found.map(|(_, value)| value.as_os_str())
    };
    let own_pid = getpid().as_raw_nonzero().get();
    let is_for_us = |pid: &OsStr| pid.to_str().and_then(|pid| pid.parse().ok()) == Some(own_pid);
    let (Some(pid), Some(count)) = (variable("LISTEN_PID"), variable("LISTEN_FDS")) else {
        return Ok(None);
    };
    if !is_for_us(pid) {
        return Ok(None);
    }
    if count != "1" {
        return Err(ActivationError::Count(count.to_owned()));
    }
    close_fds::set_fds_cloexec(FIRST, &[]);
    let socket = take(FIRST)?;
    if !is_unix_listener(&socket).unwrap_or(false) {
        return Err(ActivationError::WrongSocket);
    }
    Ok(Some(socket))
}

/// A copy of one of our own descriptors, known only by its number.
fn take(number: i32) -> io::Result<OwnedFd> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(pidfd_getfd(own, number, PidfdGetfdFlags::empty())?)
}

fn is_unix_listener(socket: &OwnedFd) -> io::Result<bool> {
    Ok(sockopt::socket_domain(socket)? == AddressFamily::UNIX
        && sockopt::socket_type(socket)? == SocketType::STREAM
        && sockopt::socket_acceptconn(socket)?)
}
