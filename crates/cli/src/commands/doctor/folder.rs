//! The folders that grow: is there room, and may we write.

use std::path::{Path, PathBuf};

use indicatif::DecimalBytes;
use rustix::fs::{Access, access, statvfs};
use rustix::io::Errno;

use super::check::{Check, Name};

/// Codex writes about half a megabyte a turn: a few hundred turns, and the machine stands still.
const PROBLEM_BELOW_BYTES: u64 = 200_000_000;

/// One Codex version takes 436 MB unpacked, and needs as much again while it is installed.
const WARNING_BELOW_BYTES: u64 = 2_000_000_000;

/// What is known about a folder. If it is not there yet, about the nearest one above it that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) exists: bool,
    /// Why it, or the one that it would be made in, cannot be written to.
    pub(super) unwritable: Option<String>,
    pub(super) free: Result<Free, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Free {
    pub(super) bytes: u64,
    /// Files that can still be made; `None` where the file system does not count them.
    pub(super) files: Option<u64>,
}

/// Who makes the folder if it is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// It comes into being when it is needed.
    IsMade,
    /// Codex refuses to start without a folder that it is given as its home, by this.
    IsProblem { named_by: &'static str },
}

impl Folder {
    pub(super) fn gather(path: &Path) -> Self {
        let there = path.ancestors().find(|folder| folder.is_dir()).unwrap_or(path);
        let blocked = path.ancestors().find(|place| place.exists() && !place.is_dir());
        let unwritable = match blocked {
            Some(file) => Some(format!("{} is a file", file.display())),
            None => access(there, Access::WRITE_OK | Access::EXEC_OK).err().map(describe),
        };
        let free = statvfs(there).map(|volume| Free {
            bytes: volume.f_bavail.saturating_mul(volume.f_frsize),
            files: (volume.f_files > 0).then_some(volume.f_favail),
        });
        Self {
            path: path.to_owned(),
            exists: path.is_dir(),
            unwritable,
            free: free.map_err(describe),
        }
    }
}

pub(super) fn judge(name: Name, folder: &Folder, missing: Missing) -> Check {
    let path = folder.path.display();
    if let (false, Missing::IsProblem { named_by }) = (folder.exists, missing) {
        return Check::problem(name, format!("{path} is not there, and {named_by} names it"))
            .advise(format!("run `mkdir -p {path}`, or let {named_by} name another one"));
    }
    if let Some(why) = &folder.unwritable {
        return Check::problem(name, format!("{path} cannot be written to: {why}"))
            .advise("give yourself the right to write there, or choose another folder");
    }
    let free = match &folder.free {
        Ok(free) => free,
        Err(why) => {
            return Check::warning(
                name,
                format!("{path}: cannot tell how much room it has: {why}"),
            );
        }
    };
    let found = format!("{path}: {} free", DecimalBytes(free.bytes));
    if free.files == Some(0) {
        return Check::problem(name, format!("{path}: no more files can be made there"))
            .advise("remove files from that disk: it has room, but no inodes");
    }
    if free.bytes < PROBLEM_BELOW_BYTES {
        return Check::problem(name, found).advise("make room: Codex fails when the disk is full");
    }
    if free.bytes < WARNING_BELOW_BYTES {
        return Check::warning(name, found).advise(
            "make room: Codex writes about 0.5 MB a turn, and each version of it takes 436 MB",
        );
    }
    Check::ok(name, found)
}

fn describe(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(exists: bool, bytes: u64) -> Folder {
        let free = Ok(Free { bytes, files: Some(1) });
        Folder { path: "/x".into(), exists, unwritable: None, free }
    }

    #[test]
    fn room_and_rights_decide() {
        use super::super::check::State;
        let full =
            Folder { free: Ok(Free { bytes: 9_000_000_000, files: Some(0) }), ..folder(true, 0) };
        let uncounted =
            Folder { free: Ok(Free { bytes: 9_000_000_000, files: None }), ..folder(true, 0) };
        let locked =
            Folder { unwritable: Some("read-only".to_owned()), ..folder(true, 9_000_000_000) };
        let unknown = Folder { free: Err("gone".to_owned()), ..folder(true, 0) };
        for (folder, missing, state, found) in [
            (folder(true, 2_000_000_000), Missing::IsMade, State::Ok, "/x: 2.00 GB free"),
            (folder(false, 2_000_000_000), Missing::IsMade, State::Ok, "/x: 2.00 GB free"),
            (folder(true, 1_999_999_999), Missing::IsMade, State::Warning, "/x: 2.00 GB free"),
            (folder(true, 200_000_000), Missing::IsMade, State::Warning, "/x: 200.00 MB free"),
            (folder(true, 199_000_000), Missing::IsMade, State::Problem, "/x: 199.00 MB free"),
            (
                folder(false, 9_000_000_000),
                Missing::IsProblem { named_by: "CODEX_HOME" },
                State::Problem,
                "/x is not there, and CODEX_HOME names it",
            ),
            (
                folder(true, 9_000_000_000),
                Missing::IsProblem { named_by: "CODEX_HOME" },
                State::Ok,
                "/x: 9.00 GB free",
            ),
            (full, Missing::IsMade, State::Problem, "/x: no more files can be made there"),
            (uncounted, Missing::IsMade, State::Ok, "/x: 9.00 GB free"),
            (locked, Missing::IsMade, State::Problem, "/x cannot be written to: read-only"),
            (
                unknown,
                Missing::IsMade,
                State::Warning,
                "/x: cannot tell how much room it has: gone",
            ),
        ] {
            let check = judge(Name::StateFolder, &folder, missing);
            assert_eq!((check.state, check.found.as_str()), (state, found));
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_judged_by_the_one_above() {
        let above = tempfile::tempdir().unwrap();
        let there = Folder::gather(above.path());
        let missing = Folder::gather(&above.path().join("a/b"));
        assert!(there.exists && !missing.exists);
        assert_eq!((there.unwritable, missing.unwritable), (None, None));
        assert!(there.free.unwrap().bytes > 0 && missing.free.unwrap().bytes > 0);

        let file = above.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let why = Folder::gather(&file.join("below")).unwritable;
        assert_eq!(why, Some(format!("{} is a file", file.display())));
    }
}
