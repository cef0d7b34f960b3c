//! A unix socket that is ours alone from its first moment.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen as start_listening,
    socket_with,
};
use rustix::process::geteuid;

use super::DoorError;

/// `sun_path` of `unix(7)` has 108 bytes and the last one is the closing NUL.
pub const SOCKET_PATH_LIMIT_BYTES: usize = 107;

/// Callers that the kernel keeps waiting; as many as `std` and tokio ask for.
const BACKLOG: i32 = 1024;

/// Removes a socket of ours when it is dropped.
#[derive(Debug)]
pub(super) struct SocketFile(PathBuf);

impl SocketFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "the socket cannot be removed");
        }
    }
}

/// Listens at `path`, in place of what a dead daemon may have left there.
pub(super) fn listen(path: &Path) -> Result<UnixListener, DoorError> {
    if path.as_os_str().len() > SOCKET_PATH_LIMIT_BYTES {
        return Err(DoorError::PathTooLong(path.to_owned()));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let found = fs::metadata(folder).map_err(failed("look at", folder))?;
    if found.uid() != geteuid().as_raw() || found.permissions().mode() & 0o077 != 0 {
        return Err(DoorError::FolderNotPrivate(folder.to_owned()));
    }
    clear(path)?;
    bound(path).map_err(failed("listen on", path))
}

/// The path of a socket that somebody else opened, if only our user can reach it.
pub(super) fn private_path(listener: &UnixListener) -> Result<PathBuf, DoorError> {
    let address = listener.local_addr().map_err(DoorError::Inherited)?;
    let Some(path) = address.as_pathname() else {
        let reason = "it has no path, so everybody on this machine could reach it";
        return Err(DoorError::Inherited(io::Error::other(reason)));
    };
    let found = fs::metadata(path).map_err(failed("look at", path))?;
    if found.permissions().mode() & 0o077 != 0 {
        return Err(DoorError::SocketNotPrivate(path.to_owned()));
    }
    Ok(path.to_owned())
}

pub(super) fn failed(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> DoorError + use<> {
    let path = path.to_owned();
    move |source| DoorError::File { action, path, source }
}

/// Removes a socket on which nobody listens. The daemon's lock is held, so no daemon does; a service manager may.
fn clear(path: &Path) -> Result<(), DoorError> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("look at", path)(error)),
    };
    if !found.file_type().is_socket() || found.uid() != geteuid().as_raw() {
        return Err(DoorError::InTheWay(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(DoorError::Taken(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed("remove", path))
        }
        Err(error) => Err(failed("look at", path)(error)),
    }
}

fn bound(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let private = Mode::RUSR | Mode::WUSR;
    // On Linux the file gets the mode that the socket has when it is bound, less the umask: never more than this.
    fchmod(&socket, private)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    // And never less, whatever the umask.
    fs::set_permissions(path, Permissions::from_mode(private.as_raw_mode()))?;
    start_listening(&socket, BACKLOG)?;
    Ok(UnixListener::from(socket))
}
