//! The folder of our sockets: private, ours, with a path that is short enough, on a file system that takes sockets.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use ostler_codex::keeper::SOCKET_PATH_LIMIT_BYTES;

use super::check::{Check, Name};
use super::scratch::Made;

/// What a keeper adds to the folder of all keepers: its id, and its socket.
const KEEPER_TAIL: &str = "/01234567/socket";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuntimeFolder {
    pub(super) path: PathBuf,
    /// The length of a keeper's socket path below it.
    pub(super) socket_path_bytes: usize,
    pub(super) state: FolderState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FolderState {
    CannotBeMade {
        why: String,
    },
    Unreadable {
        why: String,
    },
    /// There, if only for this look.
    There {
        is_ours: bool,
        mode: u32,
        socket: Result<(), String>,
    },
}

impl RuntimeFolder {
    pub(super) fn gather(path: &Path, keepers: &Path) -> Self {
        let socket_path_bytes = keepers.as_os_str().len() + KEEPER_TAIL.len();
        let state = match Made::at(path) {
            Err(error) => FolderState::CannotBeMade { why: error.to_string() },
            // It is taken away again when this arm ends.
            Ok(_made) => look(path),
        };
        Self { path: path.to_owned(), socket_path_bytes, state }
    }
}

pub(super) fn judge(folder: &RuntimeFolder) -> Check {
    let path = folder.path.display();
    let problem = |found: String| Check::problem(Name::RuntimeFolder, found);
    let elsewhere = "set XDG_RUNTIME_DIR or OSTLER_HOME to";
    let (is_ours, mode, socket) = match &folder.state {
        FolderState::CannotBeMade { why } => {
            return problem(format!("{path} cannot be made: {why}"))
                .advise(format!("{elsewhere} a folder that you may write to"));
        }
        FolderState::Unreadable { why } => {
            return problem(format!("{path} cannot be looked at: {why}"))
                .advise(format!("{elsewhere} a folder of your own"));
        }
        FolderState::There { is_ours, mode, socket } => (is_ours, mode, socket),
    };
    if !is_ours {
        return problem(format!("{path} belongs to somebody else"))
            .advise(format!("{elsewhere} a folder of your own"));
    }
    if mode & 0o077 != 0 {
        return problem(format!("{path} can be entered by other users (mode {mode:04o})"))
            .advise(format!("run `chmod 700 {path}`"));
    }
    if mode & 0o700 != 0o700 {
        return problem(format!("{path} cannot be used by yourself (mode {mode:04o})"))
            .advise(format!("run `chmod 700 {path}`"));
    }
    let length = folder.socket_path_bytes;
    if length > SOCKET_PATH_LIMIT_BYTES {
        return problem(format!(
            "{path} is too long: socket paths below it have {length} bytes, and the system takes {SOCKET_PATH_LIMIT_BYTES}"
        ))
        .advise(format!("{elsewhere} a shorter path"));
    }
    match socket {
        Ok(()) => Check::ok(Name::RuntimeFolder, format!("{path}: private, takes sockets")),
        Err(why) => problem(format!("{path} takes no sockets: {why}"))
            .advise(format!("{elsewhere} a folder on a local disk")),
    }
}

fn look(path: &Path) -> FolderState {
    match fs::metadata(path) {
        Err(error) => FolderState::Unreadable { why: error.to_string() },
        Ok(metadata) => FolderState::There {
            is_ours: metadata.uid() == rustix::process::geteuid().as_raw(),
            mode: metadata.permissions().mode() & 0o7777,
            socket: try_socket(path),
        },
    }
}

/// The name is shorter than that of any socket we use, so that a path which is too long is not taken for a bad disk.
fn try_socket(path: &Path) -> Result<(), String> {
    let place = path.join(format!(".{}", std::process::id()));
    let bound = UnixListener::bind(&place).map(drop).map_err(|error| error.to_string());
    // Nothing is there if binding failed.
    drop(fs::remove_file(&place));
    bound
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(socket_path_bytes: usize, state: FolderState) -> RuntimeFolder {
        RuntimeFolder { path: "/r".into(), socket_path_bytes, state }
    }

    fn there(is_ours: bool, mode: u32, socket: Result<(), &str>) -> FolderState {
        FolderState::There { is_ours, mode, socket: socket.map_err(str::to_owned) }
    }

    #[test]
    fn every_fault_has_its_remedy() {
        let problem =
            |found: &str, advice: &str| Check::problem(Name::RuntimeFolder, found).advise(advice);
        let cannot = FolderState::CannotBeMade { why: "read-only".to_owned() };
        for (folder, expected) in [
            (
                folder(107, there(true, 0o700, Ok(()))),
                Check::ok(Name::RuntimeFolder, "/r: private, takes sockets"),
            ),
            (
                folder(108, there(true, 0o700, Ok(()))),
                problem(
                    "/r is too long: socket paths below it have 108 bytes, and the system takes 107",
                    "set XDG_RUNTIME_DIR or OSTLER_HOME to a shorter path",
                ),
            ),
            (
                folder(9, there(true, 0o755, Ok(()))),
                problem("/r can be entered by other users (mode 0755)", "run `chmod 700 /r`"),
            ),
            (
                folder(9, there(true, 0o500, Err("denied"))),
                problem("/r cannot be used by yourself (mode 0500)", "run `chmod 700 /r`"),
            ),
            (
                folder(9, there(false, 0o700, Ok(()))),
                problem(
                    "/r belongs to somebody else",
                    "set XDG_RUNTIME_DIR or OSTLER_HOME to a folder of your own",
                ),
            ),
            (
                folder(9, there(true, 0o700, Err("not supported"))),
                problem(
                    "/r takes no sockets: not supported",
                    "set XDG_RUNTIME_DIR or OSTLER_HOME to a folder on a local disk",
                ),
            ),
            (
                folder(9, cannot),
                problem(
                    "/r cannot be made: read-only",
                    "set XDG_RUNTIME_DIR or OSTLER_HOME to a folder that you may write to",
                ),
            ),
        ] {
            assert_eq!(judge(&folder), expected);
        }
    }

    #[test]
    fn a_look_leaves_nothing_behind() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("run");
        let facts = RuntimeFolder::gather(&path, &path.join("keepers"));
        assert_eq!(facts.state, there(true, 0o700, Ok(())));
        assert_eq!(facts.socket_path_bytes, path.join("keepers/01234567/socket").as_os_str().len());
        assert!(!path.exists());
    }
}
