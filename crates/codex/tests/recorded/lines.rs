//! Access to the recorded lines.

use std::fs;
use std::path::PathBuf;

use ostler_codex::protocol::{
    Notification, ServerRequest, parse_notification, parse_server_request,
};
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) const VERSIONS: [&str; 3] = ["0.130.0", "0.142.5", "0.166.0"];

/// One line the server wrote.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    pub(crate) method: String,
    id: Option<i64>,
    params: Box<RawValue>,
}

impl Line {
    pub(crate) fn notification(&self) -> Notification<'_> {
        parse_notification(&self.method, &self.params)
    }

    pub(crate) fn request(&self) -> ServerRequest<'_> {
        parse_server_request(&self.method, &self.params)
    }
}

/// The names of the scenarios recorded for this version.
pub(crate) fn scenarios(version: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder(version))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "replies")
        .collect();
    names.sort();
    assert!(names.len() > 20, "recordings of {version} are missing");
    names
}

pub(crate) fn notifications(version: &str, scenario: &str) -> Vec<Line> {
    lines(version, scenario).into_iter().filter(|line: &Line| line.id.is_none()).collect()
}

pub(crate) fn requests(version: &str, scenario: &str) -> Vec<Line> {
    lines(version, scenario).into_iter().filter(|line: &Line| line.id.is_some()).collect()
}

pub(crate) fn lines<T: for<'de> Deserialize<'de>>(version: &str, scenario: &str) -> Vec<T> {
    let path = folder(version).join(format!("{scenario}.jsonl"));
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn folder(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(version)
}
