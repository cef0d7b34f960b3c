//! The config file on disk. What its text means is `ostler-config`'s business.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use ostler_config::{Config, parse};

use crate::failure::{Exit, Failure};
use crate::places::{Places, private_folder};
use crate::terminal::Output;

/// The file as it was read. A file that is not there is an empty one.
pub(crate) struct ConfigFile {
    pub(crate) place: PathBuf,
    pub(crate) text: String,
    pub(crate) config: Config,
}

impl ConfigFile {
    /// Reads the file and tells the person about keys that mean nothing to us.
    pub(crate) fn load(places: &Places, output: Output) -> Result<Self, Failure> {
        let place = places.config_file();
        let text = match fs::read_to_string(&place) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed("read", &place, &error)),
        };
        let reading = parse(&text).map_err(|error| unreadable(&place, &error))?;
        for key in &reading.unknown_keys {
            let place = place.display();
            output.note(&format!("{place}: {key} is unknown and has no effect"));
        }
        Ok(Self { place, text, config: reading.config })
    }

    /// Replaces the file in one step. A link stays a link: the file it leads to is the one that is replaced.
    pub(crate) fn replace(&self, text: &str) -> Result<(), Failure> {
        let place = fs::canonicalize(&self.place).unwrap_or_else(|_| self.place.clone());
        let Some(folder) = place.parent() else {
            return Err(Failure::new(Exit::Failed, "the config file has no folder"));
        };
        if !folder.exists() {
            private_folder(folder)?;
        }
        let new = place.with_extension(format!("toml.{}", std::process::id()));
        let written = write_durably(&new, &place, text.as_bytes());
        if written.is_err() {
            // The half-written file is of no use; failing to remove it changes nothing about the error we report.
            drop(fs::remove_file(&new));
        }
        written.map_err(|error| failed("write", &place, &error))
    }
}

/// What the person is told about a file that is not what it should be.
pub(crate) fn unreadable(place: &Path, error: &ostler_config::ConfigError) -> Failure {
    let message = format!("{}: {error}", place.display());
    Failure::new(Exit::Usage, message).hint("correct the file and try again")
}

fn write_durably(new: &Path, place: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(new)?;
    if let Ok(old) = fs::metadata(place) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(new, place)?;
    match place.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn failed(action: &str, place: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot {action} {}: {error}", place.display());
    Failure::new(Exit::Failed, message)
}
