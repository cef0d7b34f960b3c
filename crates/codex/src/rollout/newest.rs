//! The threads of a Codex home that were begun last, for whoever has lost what else knew of them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use ostler_model::ThreadId;

use super::assemble::read;
use super::find::is_compressed;
use super::line::{Line, Meta};

/// The first line holds the instructions that the thread was begun with, and is some ten kilobytes long.
const FIRST_LINE_BYTES: u64 = 1024 * 1024;

/// A thread as the first line of its file tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadFile {
    pub thread: ThreadId,
    pub path: PathBuf,
    pub cwd: Option<String>,
}

/// At most so many, the newest first. Blocks. What cannot be read is left out.
pub fn newest(codex_home: &Path, most: usize) -> Vec<ThreadFile> {
    let mut files = Vec::new();
    // Years, months and days are folders whose names sort by time, as those of the files do.
    descend(&codex_home.join("sessions"), 3, most, &mut files);
    files
}

fn descend(folder: &Path, depth: usize, most: usize, files: &mut Vec<ThreadFile>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.into_iter().rev() {
        if files.len() >= most {
            return;
        }
        match depth {
            0 => files.extend(first_line(&path)),
            _ => descend(&path, depth - 1, most, files),
        }
    }
}

fn first_line(path: &Path) -> Option<ThreadFile> {
    if is_compressed(path) {
        return None;
    }
    let mut text = String::new();
    let file = File::open(path).ok()?;
    BufReader::new(file.take(FIRST_LINE_BYTES)).read_line(&mut text).ok()?;
    let line: Line<'_> = serde_json::from_str(&text).ok()?;
    if line.kind != "session_meta" {
        return None;
    }
    let meta: Meta = read(line.payload?);
    let thread = ThreadId::new(meta.id?);
    Some(ThreadFile { thread, path: path.to_owned(), cwd: meta.cwd })
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn the_newest_come_first_and_what_is_no_rollout_is_left_out() {
        let home = tempfile::tempdir().unwrap();
        let put = |day: &str, name: &str, text: &str| {
            let folder = home.path().join("sessions/2026").join(day);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
        };
        let meta = |id: &str| {
            format!(r#"{{"type":"session_meta","payload":{{"id":"{id}","cwd":"/work"}}}}"#)
        };
        put("05/01", "rollout-2026-05-01T10-00-00-a.jsonl", &meta("a"));
        put("05/02", "rollout-2026-05-02T09-00-00-b.jsonl", &meta("b"));
        put("05/02", "rollout-2026-05-02T10-00-00-c.jsonl", "{}");
        put("04/30", "rollout-2026-04-30T10-00-00-d.jsonl", &meta("d"));
        let threads = |most| {
            let found = newest(home.path(), most);
            found.iter().map(|found| found.thread.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(threads(9), ["b", "a", "d"]);
        assert_eq!(threads(2), ["b", "a"]);
        assert_eq!(newest(home.path(), 1)[0].cwd.as_deref(), Some("/work"));
    }
}
