//! What we have written into whose file, and what it was before.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::durable::write_durably;
use crate::failure::Failure;
use crate::overlay;
use crate::places::{Places, private_folder};
use crate::settings::failed;

/// The page of one file.
pub(super) struct Page {
    record: PathBuf,
    /// The file as it was before, if there was one.
    pub(super) backup: PathBuf,
    pub(super) entry: Option<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    version: u32,
    target: PathBuf,
    /// Whether there was a file at all.
    had_file: bool,
    /// The digest of what we have written last.
    written: String,
    /// That of what we had written before, which is there still if we were killed in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaces: Option<String>,
}

impl Entry {
    pub(super) fn new(
        target: &Path,
        had_file: bool,
        written: &str,
        replaces: Option<&str>,
    ) -> Self {
        Self {
            version: 1,
            target: target.to_owned(),
            had_file,
            written: digest(written.as_bytes()),
            replaces: replaces.map(|text| digest(text.as_bytes())),
        }
    }
}

impl Page {
    pub(super) fn of(places: &Places, target: &Path) -> Result<Self, Failure> {
        let folder = overlay::folder(places);
        let name = digest(target.as_os_str().as_encoded_bytes());
        let name = name.get(..16).unwrap_or(&name);
        let record = folder.join(format!("{name}.json"));
        let entry = match fs::read_to_string(&record) {
            Ok(text) => Some(
                serde_json::from_str(&text)
                    .map_err(|error| failed("read", &record, &io::Error::other(error)))?,
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed("read", &record, &error)),
        };
        Ok(Self { backup: folder.join(format!("{name}.before.toml")), record, entry })
    }

    /// Whether the file is as we left it.
    pub(super) fn is_ours(&self, text: &str) -> bool {
        let digest = digest(text.as_bytes());
        self.entry.as_ref().is_some_and(|entry| {
            entry.written == digest || entry.replaces.as_ref() == Some(&digest)
        })
    }

    /// What the file was before we came, if it still is as we left it: the text, or that there was none.
    pub(super) fn before(&self, text: &str) -> Result<Option<Option<String>>, Failure> {
        match &self.entry {
            Some(entry) if self.is_ours(text) && entry.had_file => {
                let before = fs::read_to_string(&self.backup);
                before
                    .map(|before| Some(Some(before)))
                    .map_err(|error| failed("read", &self.backup, &error))
            }
            Some(_) if self.is_ours(text) => Ok(Some(None)),
            _ => Ok(None),
        }
    }

    /// On disk before the file is changed: whoever is killed in between can be undone.
    pub(super) fn keep(
        &self,
        places: &Places,
        entry: &Entry,
        before: Option<&str>,
    ) -> Result<(), Failure> {
        private_folder(&places.state)?;
        private_folder(&overlay::folder(places))?;
        if let Some(before) = before {
            write_durably(&self.backup, before.as_bytes())
                .map_err(|error| failed("write", &self.backup, &error))?;
        }
        let text = serde_json::to_string_pretty(entry)
            .map_err(|error| failed("write", &self.record, &io::Error::other(error)))?;
        write_durably(&self.record, text.as_bytes())
            .map_err(|error| failed("write", &self.record, &error))
    }

    /// All is as it was; the backup goes only when it was put back.
    pub(super) fn forget(&self, with_backup: bool) -> Result<(), Failure> {
        let backup = with_backup.then_some(&self.backup);
        for place in std::iter::once(&self.record).chain(backup) {
            match fs::remove_file(place) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(failed("remove", place, &error)),
            }
        }
        Ok(())
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
