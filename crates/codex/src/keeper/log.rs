//! Log files that cannot fill the disk and never stop the one who writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How much a log may hold: the file in use and older ones named `.1`, `.2` and so on.
#[derive(Debug, Clone, Copy)]
pub struct LogLimit {
    pub file_bytes: u64,
    pub files: u32,
}

/// Codex at `RUST_LOG=warn` writes a few kB per turn, so 3 × 4 MiB hold weeks; at `trace` they hold the last minutes.
pub(super) const CODEX_LOG: LogLimit = LogLimit { file_bytes: 4 * 1024 * 1024, files: 3 };

/// A keeper says about ten lines in its life; only a flood of signals could fill this.
pub(super) const KEEPER_LOG: LogLimit = LogLimit { file_bytes: 64 * 1024, files: 2 };

/// Mode 0600, because Codex may print what it should not. What cannot be written (a full disk) is counted and dropped.
#[derive(Debug)]
pub struct RotatingLog {
    path: PathBuf,
    limit: LogLimit,
    file: Option<File>,
    file_bytes: u64,
    lost_bytes: u64,
}

impl RotatingLog {
    pub fn new(path: PathBuf, limit: LogLimit) -> Self {
        Self { path, limit, file: None, file_bytes: 0, lost_bytes: 0 }
    }

    pub fn append(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        match self.try_append(bytes) {
            Ok(()) => self.file_bytes += length,
            Err(_) => {
                // The next append opens the file anew and says how much is missing.
                self.file = None;
                self.lost_bytes += length;
            }
        }
    }

    fn try_append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let full = self.file_bytes + bytes.len() as u64 > self.limit.file_bytes;
        if full && self.file_bytes > 0 {
            self.file = None;
            self.rotate()?;
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                let file = open_private(&self.path)?;
                self.file_bytes = file.metadata()?.len();
                file
            }
        };
        if self.lost_bytes > 0 {
            writeln!(file, "\n[{} bytes are missing here]", self.lost_bytes)?;
            self.lost_bytes = 0;
        }
        file.write_all(bytes)?;
        self.file = Some(file);
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.limit.files).rev() {
            let from = match number {
                1 => self.path.clone(),
                older => numbered(&self.path, older - 1),
            };
            match fs::rename(&from, numbered(&self.path, number)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.file_bytes = 0;
        Ok(())
    }
}

/// Opens a log for appending; only its owner may read it.
pub fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// The last whole lines of a log, at most `limit_bytes` of it; nothing if there is no log.
pub fn tail(path: &Path, limit_bytes: u64) -> String {
    read_tail(path, limit_bytes).unwrap_or_default()
}

fn read_tail(path: &Path, limit_bytes: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(limit_bytes);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(limit_bytes).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = match text.split_once('\n') {
        Some((_, rest)) if skipped > 0 => rest,
        _ => &text,
    };
    Ok(whole.trim().to_owned())
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn contents(directory: &Path) -> Vec<(String, String)> {
        let mut files: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let pair = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        files.iter().map(pair).collect()
    }

    const SMALL: LogLimit = LogLimit { file_bytes: 10, files: 3 };

    #[test]
    fn only_the_newest_files_are_kept_and_only_for_us() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut log = RotatingLog::new(path.clone(), SMALL);
        for text in ["one 1234\n", "two 1234\n", "three 12\n", "four\n", "5\n"] {
            log.append(text.as_bytes());
        }
        assert_eq!(
            contents(directory.path()),
            owned(&[("log", "four\n5\n"), ("log.1", "three 12\n"), ("log.2", "two 1234\n")])
        );
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(tail(&path, 4), "5");
        assert_eq!(tail(&directory.path().join("none"), 4), "");
    }

    #[test]
    fn a_log_that_cannot_be_written_says_afterwards_how_much_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("folder");
        let mut log = RotatingLog::new(folder.join("log"), CODEX_LOG);
        log.append(b"12345");
        log.append(b"678");
        fs::create_dir(&folder).unwrap();
        log.append(b"later\n");
        assert_eq!(contents(&folder), owned(&[("log", "\n[8 bytes are missing here]\nlater\n")]));
    }
}
