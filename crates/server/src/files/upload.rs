//! Files that are given to a task. None is overwritten: a second one of the same name gets a number.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::extract::Request;
use http_body_util::BodyExt;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::StoredFile;
use super::folder::FolderError;
use super::name::numbered;
use crate::given::unreadable;
use crate::guard::random_name;
use crate::problem::{Problem, Trouble};

/// Until the next piece. The whole may take long over a slow line, but it must move.
const PIECE_DEADLINE: Duration = Duration::from_secs(30);

/// What one task is given at most.
const FILES: usize = 1000;
const BYTES: u64 = 1 << 30;

/// A second file of a name gets a number, up to this.
const ALIKE: u32 = 1000;

/// Ours alone, and no name that a file could have.
const UNFINISHED: &str = ".unfinished-";

/// Removes what did not become a file.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %self.0.display(), "half a file stays behind");
        }
    }
}

/// Takes it piece by piece, and gives it its name when it is whole.
pub(super) async fn receive(
    folder: &Path,
    name: &str,
    request: Request,
) -> Result<StoredFile, Problem> {
    let system = |error: io::Error| Problem::from(FolderError::System(error));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(system)?;
    let known = stored(folder)?;
    let used: u64 = known.iter().map(|file| file.bytes).sum();
    if known.len() >= FILES {
        return Err(FolderError::Full(format!("the task has {FILES} files already")).into());
    }
    let path = folder.join(format!("{UNFINISHED}{}", random_name().map_err(system)?));
    let unfinished = Unfinished(path);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished.0);
    let mut file = File::from_std(file.map_err(system)?);
    let mut body = request.into_body();
    let mut bytes = 0_u64;
    loop {
        let frame = timeout(PIECE_DEADLINE, body.frame()).await.map_err(|_| {
            let seconds = PIECE_DEADLINE.as_secs();
            Problem::new(Trouble::TooSlow, format!("nothing came for {seconds} s"))
        })?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|error| unreadable(&error))?;
        let Some(piece) = frame.data_ref() else { continue };
        bytes += piece.len() as u64;
        if used + bytes > BYTES {
            let detail = format!("the files of a task may have {} MiB in all", BYTES >> 20);
            return Err(FolderError::Full(detail).into());
        }
        file.write_all(piece).await.map_err(system)?;
    }
    file.sync_all().await.map_err(system)?;
    let name = name_it(folder, &unfinished.0, name)?;
    let path = folder.join(&name).display().to_string();
    Ok(StoredFile { name, path, bytes })
}

/// In one step, and never over another one.
fn name_it(folder: &Path, unfinished: &Path, name: &str) -> Result<String, FolderError> {
    for number in 1..=ALIKE {
        let name = numbered(name, number);
        match renameat_with(CWD, unfinished, CWD, folder.join(&name), RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(FolderError::System(error.into())),
        }
    }
    Err(FolderError::Full(format!("{ALIKE} files are called {name:?} already")))
}

/// What the task was given, by name.
pub(super) fn stored(folder: &Path) -> Result<Vec<StoredFile>, FolderError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FolderError::System(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(FolderError::System)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // One that is just being removed is none any more.
        let Ok(found) = entry.metadata() else { continue };
        if name.starts_with('.') || !found.is_file() {
            continue;
        }
        files.push(StoredFile {
            name,
            path: entry.path().display().to_string(),
            bytes: found.len(),
        });
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}
