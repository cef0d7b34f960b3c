//! Files of ours that are there whole or not at all, also after a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces a file that only we read. What is half written is taken away again.
pub(crate) fn write_durably(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let new = place.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = write_new(&new, bytes).and_then(|()| fs::rename(&new, place));
    if written.is_err() {
        // Why it could not be written is what counts.
        drop(fs::remove_file(&new));
    }
    written?;
    match place.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn write_new(new: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(new)?;
    file.write_all(bytes)?;
    file.sync_all()
}
