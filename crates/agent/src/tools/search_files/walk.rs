//! The walk through a folder, and what is found on it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use regex::bytes::Regex;
use tokio_util::sync::CancellationToken;

/// Longer files are data; they are counted and not searched.
const MOST_BYTES: u64 = 10 * 1024 * 1024;

/// What is shown of a line.
const LINE_CHARACTERS: usize = 300;

/// What is looked at to tell a text from something else.
const SNIFFED: usize = 8000;

pub(super) struct Search {
    pub(super) root: PathBuf,
    pub(super) matcher: Matcher,
    pub(super) glob: Option<Override>,
    pub(super) limit: usize,
    pub(super) deadline: Instant,
}

pub(super) enum Matcher {
    Content(Regex),
    Glob(Override),
    /// A part of the name, in lower case.
    Part(String),
}

impl Matcher {
    pub(super) fn content(pattern: &str) -> Result<Self, String> {
        let wrong = |error| format!("`pattern` is no regular expression: {error}");
        Regex::new(pattern).map(Self::Content).map_err(wrong)
    }

    pub(super) fn name(pattern: &str) -> Result<Self, String> {
        if pattern.contains(['*', '?', '[', '{']) {
            return glob(pattern).map(Self::Glob);
        }
        Ok(Self::Part(pattern.to_lowercase()))
    }
}

/// As git reads it: without a `/` it is about the name alone. The walker itself is not given it, because there a glob would
/// bring back what .gitignore leaves out.
pub(super) fn glob(pattern: &str) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new("");
    builder.add(pattern).map_err(|error| format!("this is no glob: {error}"))?;
    builder.build().map_err(|error| format!("this is no glob: {error}"))
}

#[derive(Default)]
struct Found {
    lines: Vec<String>,
    too_long: usize,
    unreadable: usize,
    /// Why there may be more.
    ended: Option<&'static str>,
}

impl Search {
    pub(super) fn run(&self, stop: &CancellationToken) -> String {
        let mut found = Found::default();
        let is_git = |entry: &DirEntry| entry.file_name() == ".git";
        let walk = WalkBuilder::new(&self.root)
            .hidden(false)
            .require_git(false)
            .sort_by_file_path(Path::cmp)
            .filter_entry(move |entry| !is_git(entry) || entry.depth() == 0)
            .build();
        for entry in walk {
            if stop.is_cancelled() {
                found.ended = Some("the turn was stopped");
            } else if Instant::now() > self.deadline {
                found.ended = Some("it took too long; search in a smaller folder");
            } else if found.lines.len() >= self.limit {
                found.ended = Some("that is the limit; be more precise, or raise `limit`");
            }
            if found.ended.is_some() {
                break;
            }
            match entry {
                Ok(entry) => self.look(&entry, &mut found),
                Err(_) => found.unreadable += 1,
            }
        }
        found.tell()
    }

    fn look(&self, entry: &DirEntry, found: &mut Found) {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let below = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
        let below = if below.as_os_str().is_empty() { Path::new(entry.file_name()) } else { below };
        let is_wanted = |glob: &Override| glob.matched(below, !is_file).is_whitelist();
        if entry.depth() == 0 && !is_file || self.glob.as_ref().is_some_and(|glob| !is_wanted(glob))
        {
            return;
        }
        match &self.matcher {
            Matcher::Content(regex) if is_file => self.look_inside(regex, entry, below, found),
            Matcher::Content(_) => {}
            Matcher::Glob(glob) if is_wanted(glob) => found.name(below, is_file),
            Matcher::Part(part) => {
                if entry.file_name().to_string_lossy().to_lowercase().contains(part) {
                    found.name(below, is_file);
                }
            }
            Matcher::Glob(_) => {}
        }
    }

    fn look_inside(&self, regex: &Regex, entry: &DirEntry, below: &Path, found: &mut Found) {
        if entry.metadata().is_ok_and(|metadata| metadata.len() > MOST_BYTES) {
            found.too_long += 1;
            return;
        }
        let mut content = Vec::new();
        // The size may be a lie, as below /proc.
        let read = File::open(entry.path())
            .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut content));
        if read.is_err() {
            found.unreadable += 1;
            return;
        }
        if content.iter().take(SNIFFED).any(|byte| *byte == 0) {
            return;
        }
        for (number, line) in content.split(|byte| *byte == b'\n').enumerate() {
            if regex.is_match(line) && found.lines.len() < self.limit {
                let text = String::from_utf8_lossy(line);
                let text: String = text.trim_end().chars().take(LINE_CHARACTERS).collect();
                found.lines.push(format!("{}:{}:{text}", below.display(), number + 1));
            }
        }
    }
}

impl Found {
    fn name(&mut self, below: &Path, is_file: bool) {
        let end = if is_file { "" } else { "/" };
        self.lines.push(format!("{}{end}", below.display()));
    }

    fn tell(self) -> String {
        let mut lines = self.lines;
        if lines.is_empty() {
            lines.push("nothing was found".to_owned());
        }
        let count = |count: usize, what: &str| (count > 0).then(|| format!("[{count} {what}]"));
        lines.extend(count(self.too_long, "files longer than 10 MiB were not searched"));
        lines.extend(count(self.unreadable, "files or folders could not be read"));
        lines.extend(self.ended.map(|why| format!("[there may be more: {why}]")));
        lines.join("\n")
    }
}
