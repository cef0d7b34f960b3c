//! What decides on later programs and is not there yet: an empty folder holds its place while a command runs.
//!
//! A read-only mount needs something to lie on, so the folder is on disk for that time and everybody sees it; it goes when the last
//! command that relies on it has ended. Commands run beside each other, and to remove a folder takes away the mounts of all of them, so
//! each holds a shared lock on it. It has a mark by which it is known from one that is the user's own: what a supervisor that was killed
//! has left behind goes with the next command.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use super::supervise::SandboxError;

/// With the sticky bit, which nobody gives a folder that others cannot write to.
const MARKED: u32 = 0o1755;
const MARK: u32 = 0o1000;

/// Each time somebody else was faster; nobody is so often.
const ATTEMPTS: u32 = 100;

const PAUSE: Duration = Duration::from_millis(2);

pub(super) struct Placeholders {
    /// All that is there now and must not be written.
    there: Vec<PathBuf>,
    held: Vec<(PathBuf, OwnedFd)>,
}

impl Placeholders {
    pub(super) fn hold(guarded: &[PathBuf]) -> Result<Self, SandboxError> {
        let mut all = Self { there: Vec::new(), held: Vec::new() };
        for path in guarded {
            match place(path) {
                Ok(Place::Own) => all.there.push(path.clone()),
                Ok(Place::Held(folder)) => {
                    all.there.push(path.clone());
                    all.held.push((path.clone(), folder));
                }
                Ok(Place::Impossible) => {}
                Err(source) => {
                    all.give_up();
                    return Err(SandboxError::Guard { path: path.clone(), source });
                }
            }
        }
        Ok(all)
    }

    pub(super) fn there(&self) -> &[PathBuf] {
        &self.there
    }

    /// What somebody has filled meanwhile, and what another command still holds, stays.
    pub(super) fn give_up(self) {
        for (path, folder) in self.held {
            let is_last = flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_last && is_at(&folder, &path) {
                std::fs::remove_dir(&path).ok();
            }
        }
    }
}

enum Place {
    /// It is the user's own.
    Own,
    Held(OwnedFd),
    /// Nothing can be made there, by a command neither.
    Impossible,
}

fn place(path: &Path) -> std::io::Result<Place> {
    for _ in 0..ATTEMPTS {
        match path.symlink_metadata() {
            Ok(found) => {
                if let Some(placed) = existing(path, &found)? {
                    return Ok(placed);
                }
                std::thread::sleep(PAUSE);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if !make(path)? {
                    return Ok(Place::Impossible);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("others make and remove it all the time"))
}

/// None if it goes in this moment.
fn existing(path: &Path, found: &Metadata) -> std::io::Result<Option<Place>> {
    if found.is_symlink() {
        return Err(std::io::Error::other("it is a link, and a link can be replaced"));
    }
    if !found.is_dir() || found.mode() & MARK == 0 {
        return Ok(Some(Place::Own));
    }
    let folder = match open(path) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(None),
        // Another user's, who removes it or keeps it.
        Err(Errno::ACCESS) => return Ok(Some(Place::Own)),
        Err(error) => return Err(error.into()),
    };
    // It fails only while somebody removes it.
    let is_held = flock(&folder, FlockOperation::NonBlockingLockShared).is_ok();
    Ok((is_held && is_at(&folder, path)).then_some(Place::Held(folder)))
}

/// Whether something can be made there at all.
fn make(path: &Path) -> std::io::Result<bool> {
    match std::fs::DirBuilder::new().mode(MARKED).create(path) {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            ErrorKind::AlreadyExists => Ok(true),
            ErrorKind::NotFound | ErrorKind::ReadOnlyFilesystem => Ok(false),
            // Who owns the folder above could give themselves the right to write.
            ErrorKind::PermissionDenied => {
                let owner = path.parent().unwrap_or(path).metadata()?.uid();
                let is_ours = owner == rustix::process::geteuid().as_raw();
                if is_ours { Err(error) } else { Ok(false) }
            }
            _ => Err(error),
        },
    }
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Whether the folder is still the one of that name.
fn is_at(folder: &OwnedFd, path: &Path) -> bool {
    let Ok(open) = rustix::fs::fstat(folder) else { return false };
    path.symlink_metadata()
        .is_ok_and(|found| (found.dev(), found.ino()) == (open.st_dev, open.st_ino))
}

#[cfg(test)]
mod tests {
    use super::Placeholders;

    #[test]
    fn a_place_is_held_until_the_last_has_ended_and_what_is_the_users_own_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("own")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        let guarded = ["own", "file", "missing", "gone/missing"].map(|name| root.join(name));
        let names = || {
            let found = std::fs::read_dir(root).unwrap().map(|it| it.unwrap().file_name());
            let mut names: Vec<_> = found.collect();
            names.sort();
            names
        };

        let first = Placeholders::hold(&guarded).unwrap();
        assert_eq!(first.there(), &guarded[..3]);
        let second = Placeholders::hold(&guarded).unwrap();
        first.give_up();
        assert_eq!(names(), ["file", "missing", "own"], "the second still holds it");
        second.give_up();
        assert_eq!(names(), ["file", "own"]);

        let third = Placeholders::hold(&guarded).unwrap();
        drop(third);
        assert_eq!(names(), ["file", "missing", "own"], "as after a kill");
        Placeholders::hold(&guarded).unwrap().give_up();
        assert_eq!(names(), ["file", "own"], "the next command removes it");

        let third = Placeholders::hold(&guarded).unwrap();
        std::fs::write(root.join("missing/something"), "").unwrap();
        third.give_up();
        assert_eq!(names(), ["file", "missing", "own"], "somebody has filled it");
    }

    #[test]
    fn many_beside_each_other_leave_nothing_behind_and_take_nothing_from_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        std::fs::create_dir(&own).unwrap();
        let guarded = [folder.path().join("missing"), own.clone()];
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let places = Placeholders::hold(&guarded).unwrap();
                        assert!(guarded.iter().all(|path| path.is_dir()));
                        places.give_up();
                    }
                });
            }
        });
        assert!(own.is_dir() && !guarded[0].exists());
    }

    #[test]
    fn a_link_cannot_be_held() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join(".git");
        std::os::unix::fs::symlink("elsewhere", &link).unwrap();
        let missing = folder.path().join(".codex");
        assert!(Placeholders::hold(&[missing.clone(), link]).is_err());
        assert!(!missing.exists());
    }
}
