//! The files of one log: one for each thread, private, bounded.

use std::collections::{HashMap, HashSet};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::filing::Thread;
use super::name::file_stem;

/// Half of the 128 descriptors that some systems still give a process would be too many; a turn writes to a few.
const MAX_OPEN_FILES: usize = 32;

/// One connection has hundreds of threads at most. What comes of more is filed with the connection.
const MAX_FILES: usize = 4096;

/// Logs of the same thread in one folder, from connections before this one.
const MAX_EARLIER: u32 = 10_000;

/// A batch of short messages goes out in one write.
const BUFFER_BYTES: usize = 64 * 1024;

/// Room for the line that says that a file was cut.
const CUT_LINE_BYTES: u64 = 128;

pub(crate) struct Files {
    folder: PathBuf,
    max_bytes: u64,
    files: HashMap<Thread, LogFile>,
    /// Those with something that is not yet handed to the system.
    dirty: HashSet<Thread>,
    clock: u64,
}

struct LogFile {
    path: PathBuf,
    writer: Option<BufWriter<File>>,
    bytes: u64,
    is_cut: bool,
    last_used: u64,
}

/// What failed, and where.
#[derive(Debug)]
pub(crate) struct FileError {
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

/// Makes the folder, or takes one that is there if nobody else can look into it.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = folder.metadata()?;
    if found.mode() & 0o077 != 0 || found.uid() != rustix::process::geteuid().as_raw() {
        let text =
            "others can look into this folder; name a new one, or one of yours with mode 0700";
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    Ok(())
}

impl Files {
    pub(crate) fn new(folder: PathBuf, max_bytes: u64) -> Self {
        Self { folder, max_bytes, files: HashMap::new(), dirty: HashSet::new(), clock: 0 }
    }

    /// Writes one line to the file of a thread, which is made with the line of `header` if it is new. Nothing, if the
    /// file is cut; `cut` gives the line that says so.
    pub(crate) fn append(
        &mut self,
        thread: &Thread,
        line: &[u8],
        header: impl FnOnce(&Thread) -> Vec<u8>,
        cut: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), FileError> {
        let is_known = self.files.contains_key(thread);
        let thread = if !is_known && self.files.len() >= MAX_FILES { &None } else { thread };
        self.clock += 1;
        if !self.files.contains_key(thread) {
            self.make_room()?;
            let mut file = LogFile::create(&self.folder, thread.as_deref())?;
            file.write(&header(thread))?;
            self.files.insert(thread.clone(), file);
        }
        let must_open = self.files.get(thread).is_some_and(|file| file.writer.is_none());
        if must_open {
            self.make_room()?;
        }
        let Some(file) = self.files.get_mut(thread) else { return Ok(()) };
        if file.is_cut {
            return Ok(());
        }
        file.last_used = self.clock;
        if !self.dirty.contains(thread) {
            self.dirty.insert(thread.clone());
        }
        if file.bytes + line.len() as u64 + CUT_LINE_BYTES > self.max_bytes {
            file.is_cut = true;
            return file.write(&cut());
        }
        file.write(line)
    }

    /// Hands everything to the system: from then on it outlives this process.
    pub(crate) fn flush(&mut self) -> Result<(), FileError> {
        for thread in self.dirty.drain() {
            if let Some(file) = self.files.get_mut(&thread) {
                file.flush()?;
            }
        }
        Ok(())
    }

    fn make_room(&mut self) -> Result<(), FileError> {
        let open = self.files.values_mut().filter(|file| file.writer.is_some());
        if open.count() < MAX_OPEN_FILES {
            return Ok(());
        }
        let open = self.files.values_mut().filter(|file| file.writer.is_some());
        if let Some(oldest) = open.min_by_key(|file| file.last_used) {
            oldest.flush()?;
            oldest.writer = None;
        }
        Ok(())
    }
}

impl LogFile {
    /// Always a new file, never a link or a file of somebody else: one that is there already stays as it is, and this
    /// one gets a number.
    fn create(folder: &Path, thread: Option<&str>) -> Result<Self, FileError> {
        let stem = file_stem(thread);
        let mut number = 1;
        loop {
            let path = folder.join(match number {
                1 => format!("{stem}.jsonl"),
                more => format!("{stem}.{more}.jsonl"),
            });
            match OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(Self::of(path, file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MAX_EARLIER => {
                    number += 1;
                }
                Err(error) => return Err(FileError { path, error }),
            }
        }
    }

    fn of(path: PathBuf, file: File) -> Self {
        let writer = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        Self { path, writer, bytes: 0, is_cut: false, last_used: 0 }
    }

    fn write(&mut self, line: &[u8]) -> Result<(), FileError> {
        self.bytes += line.len() as u64;
        let written = self.writer().and_then(|writer| writer.write_all(line));
        written.map_err(|error| FileError { path: self.path.clone(), error })
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            closed => {
                // It was made by us; if it is gone, it was taken away.
                let file = OpenOptions::new().append(true).open(&self.path)?;
                Ok(closed.insert(BufWriter::with_capacity(BUFFER_BYTES, file)))
            }
        }
    }

    fn flush(&mut self) -> Result<(), FileError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let flushed = writer.flush().and_then(|()| writer.get_ref().metadata());
        match flushed {
            Ok(found) if found.nlink() > 0 => Ok(()),
            Ok(_) => {
                let error = io::Error::new(ErrorKind::NotFound, "the file was removed");
                Err(FileError { path: self.path.clone(), error })
            }
            Err(error) => Err(FileError { path: self.path.clone(), error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn append(files: &mut Files, thread: &str, line: &str) {
        let header =
            |thread: &Thread| format!("head {}\n", thread.as_deref().unwrap()).into_bytes();
        let thread = Some(thread.into());
        files.append(&thread, line.as_bytes(), header, || b"cut\n".to_vec()).unwrap();
    }

    #[test]
    fn files_are_private_new_and_cut_at_their_bound() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("a/log");
        private_folder(&folder).unwrap();
        fs::write(folder.join("t.jsonl"), "of an earlier connection").unwrap();
        let mut files = Files::new(folder.clone(), 7 + 10 + CUT_LINE_BYTES);
        append(&mut files, "t", "12345678\n");
        append(&mut files, "t", "2\n");
        append(&mut files, "t", "3\n");
        files.flush().unwrap();
        assert_eq!(
            fs::read_to_string(folder.join("t.2.jsonl")).unwrap(),
            "head t\n12345678\ncut\n"
        );
        assert_eq!(fs::read_to_string(folder.join("t.jsonl")).unwrap(), "of an earlier connection");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(&folder), mode(&folder.join("t.2.jsonl"))], [0o700, 0o600]);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).unwrap();
        assert!(private_folder(&folder).unwrap_err().to_string().contains("0700"));
    }

    #[test]
    fn more_threads_than_open_files_lose_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut files = Files::new(directory.path().to_owned(), 1 << 20);
        let names: Vec<String> =
            (0..3 * MAX_OPEN_FILES).map(|number| format!("t{number}")).collect();
        for line in ["a\n", "b\n"] {
            for name in &names {
                append(&mut files, name, line);
            }
        }
        assert_eq!(
            files.files.values().filter(|file| file.writer.is_some()).count(),
            MAX_OPEN_FILES
        );
        files.flush().unwrap();
        for name in &names {
            let text = fs::read_to_string(directory.path().join(format!("{name}.jsonl"))).unwrap();
            assert_eq!(text, format!("head {name}\na\nb\n"));
        }
    }

    #[test]
    fn a_full_disk_and_a_removed_file_are_errors() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut file = LogFile::of("/dev/full".into(), full);
        file.write(b"x").unwrap();
        assert_eq!(file.flush().unwrap_err().error.kind(), ErrorKind::StorageFull);
        // What it still holds cannot be written when it is dropped, and need not be.
        let directory = tempfile::tempdir().unwrap();
        let mut files = Files::new(directory.path().to_owned(), 1 << 20);
        append(&mut files, "t", "1\n");
        files.flush().unwrap();
        fs::remove_file(directory.path().join("t.jsonl")).unwrap();
        append(&mut files, "t", "2\n");
        assert_eq!(files.flush().unwrap_err().error.kind(), ErrorKind::NotFound);
    }
}
