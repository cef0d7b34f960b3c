//! A folder out of which no path leads.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;

#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error("this path leads out of the task's folder")]
    Outside,
    #[error("this file is Codex's or Ostler's own, and may hold logins")]
    Private,
    #[error("there is no such file")]
    NotThere,
    #[error("this is a folder or something else that is no file")]
    NoFile,
    #[error("{0}")]
    Full(String),
    #[error("the file cannot be opened: {0}")]
    System(io::Error),
}

pub(super) struct Folder(OwnedFd);

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, FolderError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(open(path, flags, Mode::empty()).map_err(failed)?))
    }

    /// A plain file in it, and how long it is. A pipe is not waited for, and a device not touched.
    pub(super) fn file(&self, path: &Path) -> Result<(File, u64), FolderError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // What it is is seen before it is opened for reading: opening a device can do something.
        let seen = openat2(&self.0, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve);
        if !is_plain(&seen.map_err(failed)?)? {
            return Err(FolderError::NoFile);
        }
        let file = openat2(&self.0, path, flags, Mode::empty(), resolve).map_err(failed)?;
        // It may be another one by now.
        if !is_plain(&file)? {
            return Err(FolderError::NoFile);
        }
        let bytes = fstat(&file).map_err(failed)?.st_size;
        Ok((File::from(file), u64::try_from(bytes).unwrap_or(0)))
    }
}

fn is_plain(file: &OwnedFd) -> Result<bool, FolderError> {
    let found = fstat(file).map_err(failed)?;
    Ok(FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
}

/// The kernel says `EXDEV` of a path that would lead out, and `EAGAIN` if it cannot be sure because of a rename meanwhile.
fn failed(error: Errno) -> FolderError {
    match error {
        Errno::XDEV | Errno::AGAIN | Errno::LOOP => FolderError::Outside,
        Errno::NOENT | Errno::NOTDIR => FolderError::NotThere,
        Errno::NXIO => FolderError::NoFile,
        error => FolderError::System(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn read(folder: &Folder, path: &str) -> Result<String, FolderError> {
        let (file, bytes) = folder.file(Path::new(path))?;
        let text = io::read_to_string(file).map_err(FolderError::System)?;
        assert_eq!(text.len() as u64, bytes);
        Ok(text)
    }

    #[test]
    fn no_path_leads_out() {
        let world = tempfile::tempdir().unwrap();
        let place = |name: &str| world.path().join(name);
        fs::create_dir_all(place("in/below")).unwrap();
        fs::write(place("secret"), "s").unwrap();
        fs::write(place("in/below/a"), "a").unwrap();
        symlink(place("secret"), place("in/absolute")).unwrap();
        symlink("../secret", place("in/up")).unwrap();
        symlink("/proc/self/root", place("in/root")).unwrap();
        symlink("below", place("in/side")).unwrap();
        let folder = Folder::open(&place("in")).unwrap();
        for path in ["below/a", "side/a", "below/../below/a"] {
            assert_eq!(read(&folder, path).unwrap(), "a", "{path}");
        }
        for path in
            ["../secret", "/etc/passwd", "absolute", "up", "root/etc/passwd", "below/../../secret"]
        {
            assert!(matches!(read(&folder, path), Err(FolderError::Outside)), "{path}");
        }
        assert!(matches!(read(&folder, "nowhere"), Err(FolderError::NotThere)));
        assert!(matches!(read(&folder, "below"), Err(FolderError::NoFile)));
        assert!(matches!(read(&folder, ""), Err(FolderError::NotThere)));
        rustix::fs::mknodat(rustix::fs::CWD, place("in/pipe"), FileType::Fifo, Mode::RUSR, 0)
            .unwrap();
        assert!(matches!(read(&folder, "pipe"), Err(FolderError::NoFile)));
    }

    /// A folder that is a folder and a link by turns, as fast as it goes: what is read is ours or nothing.
    #[test]
    fn nor_does_one_that_changes_meanwhile() {
        let world = tempfile::tempdir().unwrap();
        let place = |name: &str| world.path().join(name);
        fs::create_dir_all(place("in/door")).unwrap();
        fs::create_dir(place("out")).unwrap();
        fs::write(place("in/door/a"), "ours").unwrap();
        fs::write(place("out/a"), "secret").unwrap();
        symlink(place("out"), place("link")).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // One is put in the place of the other in one step.
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let cwd = rustix::fs::CWD;
                    rustix::fs::renameat_with(cwd, place("in/door"), cwd, place("link"), flags)
                        .unwrap();
                }
            });
            let folder = Folder::open(&place("in")).unwrap();
            let (mut ours, mut refused) = (0, 0);
            for _ in 0..20_000 {
                match read(&folder, "door/a") {
                    Ok(text) => {
                        assert_eq!(text, "ours");
                        ours += 1;
                    }
                    Err(FolderError::Outside) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            over.store(true, Ordering::Relaxed);
            assert!(ours > 0 && refused > 0, "{ours} {refused}");
        });
    }
}
