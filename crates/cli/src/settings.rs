//! The config file on disk. What its text means is `ostler-config`'s business.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use ostler_config::{Config, Problem, Reading, parse};

use crate::failure::{Exit, Failure};
use crate::places::{Places, private_folder};

/// The file as it was read. A file that is not there is an empty one.
pub(crate) struct ConfigFile {
    pub(crate) place: PathBuf,
    pub(crate) text: String,
    pub(crate) reading: Reading,
}

impl ConfigFile {
    /// Reads the file, or fails with all that is wrong with it.
    pub(crate) fn load(places: &Places) -> Result<Self, Failure> {
        let place = places.config_file();
        let text =
            read(&place).map_err(|error| failed("read", &place, &error))?.unwrap_or_default();
        let reading = parse(&text, &places.surroundings());
        let reading = reading.map_err(|problems| unreadable(&place, &problems))?;
        Ok(Self { place, text, reading })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.reading.config
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

/// The text of a config file, if there is one.
pub(crate) fn read(place: &Path) -> std::io::Result<Option<String>> {
    match fs::read_to_string(place) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the person is told about a file that is not what it should be.
pub(crate) fn unreadable(place: &Path, problems: &[Problem]) -> Failure {
    Failure::new(Exit::Usage, describe(place, problems))
        .hint("correct the file; `ostler config check` shows the places")
}

/// One problem in one line, more of them in a line each.
pub(crate) fn describe(place: &Path, problems: &[Problem]) -> String {
    let place = place.display();
    match problems {
        [problem] => format!("{place}: {problem}"),
        problems => {
            let lines: Vec<String> =
                problems.iter().map(|problem| format!("\n  {problem}")).collect();
            format!("{place} has {} problems:{}", problems.len(), lines.concat())
        }
    }
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

pub(crate) fn failed(action: &str, place: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot {action} {}: {error}", place.display());
    Failure::new(Exit::Failed, message)
}
