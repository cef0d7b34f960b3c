//! What was typed before, also in other chats. One text per line of a file that only we can read.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Nobody looks back further; the file is cut to this when it is read.
const MOST: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct History {
    /// None if it is not kept.
    file: Option<PathBuf>,
    lines: Vec<String>,
}

impl History {
    /// A file that cannot be read is an empty history: nothing depends on it.
    pub(crate) fn load(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(unescape).collect();
        let too_many = lines.len().saturating_sub(MOST);
        if too_many > 0 {
            lines.drain(..too_many);
            let kept: String = lines.iter().map(|line| format!("{}\n", escape(line))).collect();
            if let Err(error) = fs::write(&file, kept) {
                tracing::debug!(%error, "the history of chats is not cut");
            }
        }
        Self { file: Some(file), lines }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&str> {
        self.lines.get(at).map(String::as_str)
    }

    pub(crate) fn add(&mut self, line: &str) {
        if line.trim().is_empty() || self.lines.last().is_some_and(|last| last == line) {
            return;
        }
        self.lines.push(line.to_owned());
        if let Some(file) = &self.file {
            // Several chats may write; each line is one write at the end.
            let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(file);
            let written = opened
                .and_then(|mut file| file.write_all(format!("{}\n", escape(line)).as_bytes()));
            if let Err(error) = written {
                tracing::debug!(%error, "the history of chats is not kept");
            }
        }
    }
}

fn escape(line: &str) -> String {
    line.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "")
}

fn unescape(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let mut history = History::load(file.clone());
        for line in ["one", "two\nlines \\n", "two\nlines \\n", "  "] {
            history.add(line);
        }
        assert_eq!(History::load(file.clone()).lines, ["one", "two\nlines \\n"]);
        let many: String = (0..MOST + 5).map(|number| format!("{number}\n")).collect();
        fs::write(&file, many).unwrap();
        assert_eq!(History::load(file.clone()).get(0), Some("5"));
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), MOST);
    }
}
