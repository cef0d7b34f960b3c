//! A file is written whole or not at all, and at the place that was judged.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};

/// What a new file and a new folder may be before the user's own mask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// Puts `content` in the place of the file at this real path, and makes the folders above it.
///
/// No link is followed on the way: whoever puts one there after the path was judged gets an error. Rights and owner of an
/// older file are kept.
pub(super) fn write(real: &Path, content: &[u8]) -> io::Result<()> {
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(io::Error::other("it is no file"));
    };
    let folder = folder(parent)?;
    let before = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
    let temporary = temporary_name()?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, &temporary, flags, FILE_MODE)?;
    let written = (|| {
        if let Some(before) = before {
            // Only root may give a file away; for everybody else it is their own already, or becomes it.
            let owner = rustix::process::Uid::from_raw(before.st_uid);
            let group = rustix::process::Gid::from_raw(before.st_gid);
            rustix::fs::fchown(&file, Some(owner), Some(group)).ok();
            rustix::fs::fchmod(&file, Mode::from_raw_mode(before.st_mode & 0o7777))?;
        }
        let mut file = File::from(file);
        file.write_all(content)?;
        file.sync_all()?;
        rustix::fs::renameat(&folder, &temporary, &folder, name)?;
        rustix::fs::fsync(&folder)?;
        Ok(())
    })();
    if written.is_err() {
        // The first error is the one to tell.
        rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty()).ok();
    }
    written
}

/// Opens a folder without following any link, and makes it if it is missing.
fn folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        Ok(folder) => Ok(folder),
        Err(rustix::io::Errno::NOENT) => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(rustix::io::Errno::NOENT.into());
            };
            let above = folder(parent)?;
            match rustix::fs::mkdirat(&above, name, FOLDER_MODE) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(rustix::fs::openat(&above, name, flags | OFlags::NOFOLLOW, Mode::empty())?)
        }
        Err(error) => Err(error.into()),
    }
}

fn temporary_name() -> io::Result<String> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!(".ostler-{:016x}", u64::from_ne_bytes(random)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::write;

    #[test]
    fn rights_are_kept_folders_made_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let script = root.join("run.sh");
        std::fs::write(&script, "old").unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o751)).unwrap();

        write(&script, b"new").unwrap();
        write(&root.join("a/b/c.txt"), b"deep").unwrap();

        assert_eq!(std::fs::read(&script).unwrap(), b"new");
        assert_eq!(script.metadata().unwrap().permissions().mode() & 0o7777, 0o751);
        assert_eq!(std::fs::read(root.join("a/b/c.txt")).unwrap(), b"deep");
        let mut names: Vec<_> =
            std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a", "run.sh"]);
    }

    #[test]
    fn a_link_on_the_way_is_not_followed_and_one_at_the_end_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("other")).unwrap();
        std::fs::write(root.join("other/kept"), "kept").unwrap();
        symlink(root.join("other"), root.join("way")).unwrap();
        symlink(root.join("other/kept"), root.join("end")).unwrap();

        assert!(write(&root.join("way/new"), b"x").is_err());
        write(&root.join("end"), b"x").unwrap();

        assert_eq!(std::fs::read(root.join("other/kept")).unwrap(), b"kept");
        assert!(!root.join("other/new").exists());
    }
}
