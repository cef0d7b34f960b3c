//! What we remember of the threads that we ran: where each is, and what it may do. Whoever goes on with one need not say
//! it again, and finds the app-server in which a turn of it still runs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ostler_codex::keeper::KeeperId;
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure};
use crate::places;

/// Threads that are remembered. Each takes half a kilobyte; older ones need their options again.
const MOST_THREADS: usize = 1000;

/// One thread, as it stands in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub(super) thread: String,
    /// Where its last turn ran.
    #[serde(default)]
    pub(super) keeper: Option<KeeperId>,
    #[serde(default)]
    pub(super) codex_home: Option<PathBuf>,
    pub(super) cwd: String,
    pub(super) sandbox: RememberedSandbox,
    pub(super) approval: String,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) effort: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RememberedSandbox {
    /// As the option `--sandbox` names it.
    pub(super) mode: String,
    #[serde(default)]
    pub(super) writable_roots: Vec<String>,
    #[serde(default)]
    pub(super) network: bool,
}

/// The folder with one file per thread.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    folder: PathBuf,
}

impl Memory {
    pub(super) fn below(state: &Path) -> Self {
        Self { folder: state.join("threads") }
    }

    /// The thread by its id or the first part of it. None if we never ran it.
    pub(super) fn recall(&self, id: &str) -> Result<Option<Remembered>, Failure> {
        let mut found = Vec::new();
        for (name, path) in self.files() {
            if name == id {
                found = vec![path];
                break;
            }
            if !id.is_empty() && name.starts_with(id) {
                found.push(path);
            }
        }
        match found.as_slice() {
            [] => Ok(None),
            // One that cannot be read is as good as none.
            [path] => Ok(fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok())),
            several => {
                let message = format!("{} threads begin with {id}", several.len());
                Err(Failure::new(Exit::Usage, message).hint("give more of the id"))
            }
        }
    }

    pub(super) fn keep(&self, remembered: &Remembered) -> Result<(), Failure> {
        // The id becomes a file name.
        if !remembered.thread.chars().all(|it| it.is_ascii_alphanumeric() || it == '-') {
            return Ok(());
        }
        places::private_folder(&self.folder)?;
        let path = self.folder.join(format!("{}.json", remembered.thread));
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let text = serde_json::to_vec(remembered).unwrap_or_default();
        let written = fs::File::create(&new)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&new, &path));
        written.map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot write {}: {error}", path.display()))
        })?;
        self.forget_oldest();
        Ok(())
    }

    fn files(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_suffix(".json")?.to_owned(), entry.path()))
        });
        named.collect()
    }

    fn forget_oldest(&self) {
        let files = self.files();
        if files.len() <= MOST_THREADS {
            return;
        }
        let age = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
        let mut aged: Vec<_> = files.into_iter().map(|(_, path)| (age(&path), path)).collect();
        aged.sort();
        let surplus = aged.len() - MOST_THREADS;
        for (_, path) in aged.into_iter().take(surplus) {
            if let Err(error) = fs::remove_file(&path) {
                tracing::debug!(%error, path = %path.display(), "an old thread stays remembered");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remembered(thread: &str) -> Remembered {
        Remembered {
            thread: thread.into(),
            keeper: Some(KeeperId::parse("0123abcd").unwrap()),
            codex_home: Some("/home/somebody/.codex".into()),
            cwd: "/inn".into(),
            sandbox: RememberedSandbox {
                mode: "workspace-write".into(),
                writable_roots: vec!["/barn".into()],
                network: true,
            },
            approval: "untrusted".into(),
            model: None,
            effort: Some("high".into()),
        }
    }

    #[test]
    fn a_thread_is_recalled_by_its_id_or_the_beginning_of_it() {
        let state = tempfile::tempdir().unwrap();
        let memory = Memory::below(state.path());
        for thread in ["0199-a", "0199-b", "0200-c"] {
            memory.keep(&remembered(thread)).unwrap();
        }

        assert_eq!(memory.recall("0200").unwrap(), Some(remembered("0200-c")));
        assert_eq!(memory.recall("0199-a").unwrap(), Some(remembered("0199-a")));
        assert_eq!(memory.recall("0201").unwrap(), None);
        assert_eq!(memory.recall("").unwrap(), None);
        assert_eq!(memory.recall("0199").unwrap_err().message, "2 threads begin with 0199");
    }

    #[test]
    fn an_id_that_is_a_path_is_not_written() {
        let state = tempfile::tempdir().unwrap();
        let memory = Memory::below(state.path());

        memory.keep(&remembered("../config")).unwrap();

        assert_eq!(memory.files(), Vec::new());
        assert_eq!(memory.recall("../config").unwrap(), None);
    }
}
