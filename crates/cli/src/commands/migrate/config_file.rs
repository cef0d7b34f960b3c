//! Codex's `config.toml` on disk: read and replaced by one program at a time, and never half.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::super::doctor::scratch::Made;
use crate::failure::{Exit, Failure};

const NAME: &str = "config.toml";

/// How the file is called while it is written.
const TEMPORARY: &str = ".config.toml.ostler-";

/// Ten others may each start Codex twice before it is our turn.
const LOCK_DEADLINE: Duration = Duration::from_secs(90);

const LOCK_RETRY: Duration = Duration::from_millis(50);

/// The file while nobody else of us changes it.
pub(super) struct ConfigToml {
    /// As the user knows it.
    pub(super) place: PathBuf,
    /// Where it really is, if there are links on the way.
    pub(super) real: PathBuf,
    /// None if there is none.
    pub(super) text: Option<String>,
    /// The folder, held.
    lock: Option<File>,
    /// A home that was made for it goes again if nothing is put there.
    _made: Option<Made>,
}

#[derive(Debug, Error)]
enum Unfit {
    #[error("is a link that leads nowhere; make it lead to a file, or remove it")]
    Dangling,
    #[error("is no file")]
    NotAFile,
    #[error("is not to be written; make it writable with `chmod u+w`")]
    ReadOnly,
    #[error("is no UTF-8 text; Codex cannot read it either")]
    NotText,
    #[error("was changed by somebody else meanwhile; try again")]
    Changed,
    #[error("is being changed by another `ostler migrate`; try again")]
    Locked,
    #[error(
        "was changed, and the disk did not confirm it ({0}); look whether it is still so after the next start"
    )]
    Unconfirmed(io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ConfigToml {
    /// Looks at it without holding it.
    pub(super) fn look(home: &Path) -> Result<Self, Failure> {
        let place = home.join(NAME);
        Self::find(place.clone(), None).map_err(|error| failure(&place, &error))
    }

    /// Where it really is, as far as that can be told of one that cannot be read.
    pub(super) fn place_in(home: &Path) -> PathBuf {
        let place = home.join(NAME);
        real(&place).unwrap_or(place)
    }

    /// Waits for those who change it, and holds it until it is dropped.
    pub(super) async fn hold(home: &Path) -> Result<Self, Failure> {
        let place = home.join(NAME);
        Self::take(home, &place).await.map_err(|error| failure(&place, &error))
    }

    async fn take(home: &Path, place: &Path) -> Result<Self, Unfit> {
        let made = Made::at(home)?;
        let lock = lock(real(place)?.parent().unwrap_or(home)).await?;
        let mut file = Self::find(place.to_owned(), Some(lock))?;
        file.refuse_read_only()?;
        file.clear_left_over();
        file._made = Some(made);
        Ok(file)
    }

    fn find(place: PathBuf, lock: Option<File>) -> Result<Self, Unfit> {
        let real = real(&place)?;
        let text = read(&real)?;
        Ok(Self { place, real, text, lock, _made: None })
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Puts another text, or none, in the place of the one that was read.
    pub(super) fn replace(&self, text: Option<&str>) -> Result<(), Failure> {
        let replaced = match text {
            Some(text) => self.put(text),
            None => self.remove(),
        };
        replaced.map_err(|error| failure(&self.place, &error))
    }

    fn put(&self, text: &str) -> Result<(), Unfit> {
        let new = self.folder().join(format!("{TEMPORARY}{}", std::process::id()));
        let put = self.write_new(&new, text).and_then(|()| {
            self.refuse_changed()?;
            Ok(fs::rename(&new, &self.real)?)
        });
        if put.is_err() {
            // Why it could not be written is what counts.
            drop(fs::remove_file(&new));
        }
        put?;
        self.confirm()
    }

    fn remove(&self) -> Result<(), Unfit> {
        self.refuse_changed()?;
        fs::remove_file(&self.real)?;
        self.confirm()
    }

    /// The new name is on disk, too.
    fn confirm(&self) -> Result<(), Unfit> {
        let synced = File::open(self.folder()).and_then(|folder| folder.sync_all());
        synced.map_err(Unfit::Unconfirmed)
    }

    /// With the rights and the owner of the file that it replaces. A new one is for its owner alone.
    fn write_new(&self, new: &Path, text: &str) -> Result<(), Unfit> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
        if let Ok(old) = fs::metadata(&self.real) {
            let mine = file.metadata()?;
            if (old.uid(), old.gid()) != (mine.uid(), mine.gid()) {
                std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()))?;
            }
            file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
        }
        file.write_all(text.as_bytes())?;
        Ok(file.sync_all()?)
    }

    /// Codex and editors do not ask for our lock.
    fn refuse_changed(&self) -> Result<(), Unfit> {
        if read(&self.real)? == self.text { Ok(()) } else { Err(Unfit::Changed) }
    }

    fn refuse_read_only(&self) -> Result<(), Unfit> {
        match fs::metadata(&self.real) {
            Ok(found) if found.mode() & 0o222 == 0 => Err(Unfit::ReadOnly),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Of one that was killed while it wrote; nobody else writes now.
    fn clear_left_over(&self) {
        for entry in fs::read_dir(self.folder()).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }

    fn folder(&self) -> &Path {
        self.real.parent().unwrap_or(&self.place)
    }
}

impl Drop for ConfigToml {
    fn drop(&mut self) {
        // The kernel lets go of it when it is closed; a home that we made can be removed then.
        self.lock = None;
    }
}

fn real(place: &Path) -> Result<PathBuf, Unfit> {
    match fs::canonicalize(place) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == ErrorKind::NotFound => match fs::symlink_metadata(place) {
            Ok(_) => Err(Unfit::Dangling),
            // It has the name that it will have once it is there, whatever links lead to its folder.
            Err(_) => match (place.parent().map(fs::canonicalize), place.file_name()) {
                (Some(Ok(folder)), Some(name)) => Ok(folder.join(name)),
                _ => Ok(place.to_owned()),
            },
        },
        Err(error) => Err(error.into()),
    }
}

fn read(real: &Path) -> Result<Option<String>, Unfit> {
    match fs::metadata(real) {
        // One that is a pipe would hold us up.
        Ok(found) if !found.is_file() => return Err(Unfit::NotAFile),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let text = String::from_utf8(fs::read(real)?).map_err(|_| Unfit::NotText)?;
    Ok(Some(text))
}

/// The folder itself is locked, so that no file is left behind.
async fn lock(folder: &Path) -> Result<File, Unfit> {
    let file = File::open(folder)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_DEADLINE => {
                tokio::time::sleep(LOCK_RETRY).await;
            }
            Err(TryLockError::WouldBlock) => return Err(Unfit::Locked),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

fn failure(place: &Path, error: &Unfit) -> Failure {
    let exit = match error {
        Unfit::Changed | Unfit::Locked => Exit::TryAgainLater,
        _ => Exit::Failed,
    };
    let message = match error {
        Unfit::Io(error) => format!("cannot use {}: {error}", place.display()),
        unfit => format!("{} {unfit}", place.display()),
    };
    let failure = Failure::new(exit, message);
    match error {
        Unfit::Unconfirmed(_) => failure,
        _ => failure.hint("nothing was changed"),
    }
}
