//! What dead processes of ours left lying about, and nobody needs: sockets that nobody listens at, scratch folders.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use ostler_codex::keeper::ProcessIdentity;
use ostler_server::lock::{self, Held};

use super::check::{Check, Name};
use super::page::count;
use super::scratch::FOLDER_PREFIX;
use crate::places::Places;

/// What `ostler codex check` and the compatibility suite call their folders in the cache.
const SCHEMA_PREFIX: &str = "schema-";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leftover {
    /// The daemon's, which does not run.
    Socket(PathBuf),
    /// Of a process that was killed.
    Scratch(PathBuf),
}

/// Whether a daemon works in this state folder. One that cannot be looked at counts as there.
pub(super) fn daemon_runs(places: &Places) -> bool {
    !matches!(lock::look(&places.daemon_lock()), Ok(Held::Free))
}

pub(super) fn gather(places: &Places) -> Vec<Leftover> {
    let mut found = Vec::new();
    let socket = places.usual_daemon_socket();
    // Without a lock no daemon was ever here, and the socket is somebody else's.
    if places.daemon_lock().exists() && !daemon_runs(places) && is_deaf(&socket) {
        found.push(Leftover::Socket(socket));
    }
    for (folder, prefix) in [(&places.state, FOLDER_PREFIX), (&places.cache, SCHEMA_PREFIX)] {
        found.extend(abandoned(folder, prefix).into_iter().map(Leftover::Scratch));
    }
    found.sort_by_key(|leftover| leftover.path().to_owned());
    found
}

pub(super) fn judge(leftovers: &[Leftover]) -> Check {
    if leftovers.is_empty() {
        return Check::ok(Name::Leftovers, "none");
    }
    let details = leftovers.iter().map(|leftover| match leftover {
        Leftover::Socket(path) => format!("{}: nobody listens there", path.display()),
        Leftover::Scratch(path) => format!("{}: of a process that was killed", path.display()),
    });
    Check::warning(Name::Leftovers, count(leftovers.len(), "thing") + " that nobody needs")
        .with_details(details.collect())
        .advise("run `ostler doctor --fix`")
}

impl Leftover {
    pub(super) fn path(&self) -> &Path {
        let (Self::Socket(path) | Self::Scratch(path)) = self;
        path
    }
}

/// A socket at which nobody listens. One that a service manager holds for the next daemon takes the connection.
fn is_deaf(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    let refused = |error: std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).is_err_and(refused)
}

/// Folders that are named after a process which is no more.
fn abandoned(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_left = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let pid = name.and_then(|name| name.strip_prefix(prefix)?.parse::<i32>().ok());
        let is_folder = fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
        is_folder && pid.is_some_and(|pid| ProcessIdentity::of(pid).is_none())
    };
    entries.map(|entry| entry.path()).filter(is_left).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_what_a_dead_process_of_ours_left_is_found() {
        let home = tempfile::tempdir().unwrap();
        let places = Places {
            config: home.path().join("config"),
            state: home.path().join("state"),
            runtime: home.path().join("run"),
            cache: home.path().join("cache"),
        };
        for folder in [&places.state, &places.runtime, &places.cache] {
            fs::create_dir(folder).unwrap();
        }
        let mut dead = std::process::Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        let own = std::process::id();
        let left = [
            places.cache.join(format!("{SCHEMA_PREFIX}{}", dead.id())),
            places.state.join(format!("{FOLDER_PREFIX}{}", dead.id())),
        ];
        for folder in left.iter().cloned().chain([
            places.state.join(format!("{FOLDER_PREFIX}{own}")),
            places.state.join("doctor-notes"),
            places.state.join("files"),
        ]) {
            fs::create_dir(folder).unwrap();
        }
        drop(UnixListener::bind(places.usual_daemon_socket()).unwrap());
        let scratch = left.map(Leftover::Scratch).to_vec();
        // Without a lock no daemon was ever here, and the socket is somebody else's.
        assert_eq!(gather(&places), scratch);

        fs::write(places.daemon_lock(), "").unwrap();
        let socket = Leftover::Socket(places.usual_daemon_socket());
        let mut all = scratch;
        all.insert(1, socket);
        assert_eq!(gather(&places), all);

        let check = judge(&all);
        assert_eq!(check.found, "3 things that nobody needs");
    }
}
