//! Keeping commands in a sandbox away from the app-server that runs them.
//!
//! A command whose sandbox lets it use the network may connect to any unix socket that it can see, and whoever reaches an app-server
//! can have it run anything. Codex 0.166.0 therefore listens in a folder that its sandbox hides, and leaves a link to there. For every
//! Codex that does not, the keeper takes the socket's name away and holds the file itself; a link leads to it by way of
//! `/proc/<keeper>/fd`. A sandbox has processes of its own, so there is nothing at the end of the link for what runs in it, and where
//! it sees ours, the kernel lets it read nothing of a process that is outside.
//!
//! Whose keeper is dead cannot be reached any more: such an app-server is ended, and its threads go on in another one.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};

use super::own_pid;

/// In the column `Flags` of `/proc/net/unix`: it listens.
const LISTENS: u32 = 1 << 16;

/// In the column `St`: connected to nobody. Codex's own is so, without [`LISTENS`], between its name and its listening.
const UNCONNECTED: u8 = 1;

/// Where the door of an app-server is.
#[derive(Debug)]
pub(super) enum Door {
    /// Codex does not listen yet.
    NotYet,
    /// Codex has put it where its sandboxes do not see it.
    Codexes { target: Option<PathBuf> },
    /// Ours to hold for as long as Codex lives.
    Held { file: OwnedFd },
}

/// Takes the name of Codex's socket away, once it is there.
pub(super) fn hide(socket: &Path) -> io::Result<Door> {
    match fs::symlink_metadata(socket) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Door::NotYet),
        Err(error) => return Err(error),
        Ok(found) if found.file_type().is_symlink() => {
            return Ok(Door::Codexes { target: fs::read_link(socket).ok() });
        }
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::other("what codex has put there is no socket"));
        }
        Ok(_) => {}
    }
    let file = open(socket, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::Socket {
        return Err(io::Error::other("it was replaced while we looked"));
    }
    // Without its name nobody new reaches it, and nobody of ours has tried: they wait for the link, and may be there in the very
    // moment it is. So whoever is connected before that is none of us, and would stay connected. Until then an empty file has the
    // name: up to 0.142.5, Codex sets the mode of whatever has it, some time after it listens, and ends if that is nothing.
    let draft = socket.with_added_extension("draft");
    fs::set_permissions(
        format!("/proc/self/fd/{}", file.as_raw_fd()),
        Permissions::from_mode(0o600),
    )?;
    fs::write(&draft, "")?;
    fs::rename(&draft, socket)?;
    let table = fs::read("/proc/net/unix")?;
    if is_connected(&String::from_utf8_lossy(&table), &socket.to_string_lossy()) {
        return Err(io::Error::other("a stranger connected to it before it was hidden"));
    }
    symlink(format!("/proc/{}/fd/{}", own_pid(), file.as_raw_fd()), &draft)?;
    fs::rename(&draft, socket)?;
    Ok(Door::Held { file })
}

/// Whether anybody is, or waits to be, connected to what listens under this name.
fn is_connected(table: &str, socket: &str) -> bool {
    table.lines().any(|line| {
        let mut words = line.split_ascii_whitespace();
        let flags = words.nth(3).and_then(|flags| u32::from_str_radix(flags, 16).ok());
        let state = words.nth(1).and_then(|state| u8::from_str_radix(state, 16).ok());
        // Behind it come inode and name; a name may hold spaces.
        let is_named = line.strip_suffix(socket).is_some_and(|rest| rest.ends_with(' '));
        is_named && flags.is_some_and(|flags| flags & LISTENS == 0) && state != Some(UNCONNECTED)
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_hidden_socket_is_reached_through_its_holder_alone() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        assert!(matches!(hide(&socket).unwrap(), Door::NotYet));
        let listener = UnixListener::bind(&socket).unwrap();
        let door = hide(&socket).unwrap();
        assert!(matches!(door, Door::Held { .. }), "{door:?}");
        assert!(matches!(hide(&socket).unwrap(), Door::Codexes { .. }), "a link stays as it is");

        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(b"x").unwrap();
        let mut heard = [0];
        listener.accept().unwrap().0.read_exact(&mut heard).unwrap();
        assert_eq!(heard, *b"x");
        let names = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 1, "the link is all that is there");
        drop(door);
        assert!(UnixStream::connect(&socket).is_err());
    }

    #[test]
    fn whoever_was_faster_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("the socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let _stranger = UnixStream::connect(&socket).unwrap();
        let error = hide(&socket).unwrap_err().to_string();
        assert_eq!(error, "a stranger connected to it before it was hidden");
    }

    /// Whoever started the keeper connects as soon as there is a link, which may be before `hide` has returned.
    #[test]
    fn whoever_waits_for_the_link_is_no_stranger() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..300 {
            let socket = folder.path().join(format!("socket {round}"));
            let _listener = UnixListener::bind(&socket).unwrap();
            let waiting = {
                let socket = socket.clone();
                std::thread::spawn(move || {
                    while !fs::symlink_metadata(&socket).is_ok_and(|it| it.is_symlink()) {
                        std::hint::spin_loop();
                    }
                    UnixStream::connect(&socket).unwrap()
                })
            };
            let door = hide(&socket);
            assert!(matches!(door, Ok(Door::Held { .. })), "{round}: {door:?}");
            waiting.join().unwrap();
        }
    }

    /// Codex sets its mode on another thread than the one that listens.
    #[test]
    fn there_is_always_something_under_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..300 {
            let socket = folder.path().join(format!("socket {round}"));
            let _listener = UnixListener::bind(&socket).unwrap();
            let codex = {
                let socket = socket.clone();
                std::thread::spawn(move || {
                    let mut is_last = false;
                    while !is_last {
                        is_last = fs::symlink_metadata(&socket).unwrap().is_symlink();
                        fs::set_permissions(&socket, Permissions::from_mode(0o600)).unwrap();
                    }
                })
            };
            let door = hide(&socket).unwrap();
            codex.join().unwrap();
            let mode = fs::metadata(&socket).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{round}: {door:?}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 300);
    }

    #[test]
    fn a_socket_that_does_not_listen_yet_is_no_stranger() {
        use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let codex = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        bind(&codex, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        let door = hide(&path).unwrap();
        assert!(matches!(door, Door::Held { .. }), "{door:?}");
        listen(&codex, 1).unwrap();
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn what_is_no_socket_is_not_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("socket");
        fs::write(&file, "").unwrap();
        assert!(hide(&file).is_err());
    }
}
