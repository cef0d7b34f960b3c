//! Reads a recording back, line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use super::tap::Side;
use super::writer::FORMAT;
use crate::protocol::lenient;
use crate::wire::MAX_MESSAGE_BYTES;

/// A message of full length with its frame; text that is no JSON may double when it is quoted.
const MAX_LINE_BYTES: usize = 2 * MAX_MESSAGE_BYTES + 1024;

/// Opens a recording: a log of ours, or bare lines of `at_ms`, `from` and `line` without a header.
pub fn read(path: &Path) -> Result<Recording, ReadError> {
    Recording::of(BufReader::new(File::open(path)?))
}

/// A recording, read as it is iterated over; one line is in memory at a time. Nothing comes after an error.
#[derive(Debug)]
pub struct Recording<R = BufReader<File>> {
    source: R,
    header: Option<Header>,
    /// The first line of a recording without a header.
    first: Option<Entry>,
    ending: Option<Ending>,
    line: u64,
    buffer: Vec<u8>,
}

/// What the first line of a log says of all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    pub codex_version: Option<String>,
    /// `None`: what belongs to no thread.
    pub thread: Option<String>,
    /// As written, RFC 3339.
    pub started_at: Option<String>,
}

/// One message.
#[derive(Debug)]
pub struct Entry {
    /// Line in the file, from 1.
    pub line: u64,
    /// Since the log was started.
    pub at_ms: u64,
    pub from: Side,
    pub said: Said,
}

#[derive(Debug)]
pub enum Said {
    Json(Box<RawValue>),
    /// What was no JSON.
    Text(String),
    /// What was too long to be read: how it began.
    TooLong {
        bytes: u64,
        head: String,
    },
}

/// How a recording ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With its last message.
    Whole,
    /// The file had reached its bound; more was said.
    Cut,
    /// In the middle of a line: whoever wrote it was killed, or its disk was full.
    Torn,
}

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("the recording cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("the recording is empty")]
    Empty,
    #[error(
        "the recording has format {format}, this ostler reads up to {FORMAT}; use a newer ostler"
    )]
    Newer { format: u64 },
    #[error("line {line} has more than {MAX_LINE_BYTES} bytes; this is no recording")]
    TooLong { line: u64 },
    #[error("line {line} is no recorded message: {reason}")]
    Line { line: u64, reason: String },
}

impl<R: BufRead> Recording<R> {
    /// The same from any source of lines.
    pub fn of(source: R) -> Result<Self, ReadError> {
        let mut recording =
            Self { source, header: None, first: None, ending: None, line: 0, buffer: Vec::new() };
        let Some(view) = recording.next_view()? else {
            return match recording.line {
                0 => Err(ReadError::Empty),
                // Killed while it wrote its header.
                _ => Ok(recording),
            };
        };
        match view.ostler_wire_log {
            Some(format) if format > FORMAT => return Err(ReadError::Newer { format }),
            Some(_) => {
                recording.header = Some(Header {
                    codex_version: view.codex_version,
                    thread: view.thread,
                    started_at: view.started_at,
                });
            }
            None => recording.first = recording.entry(view)?,
        }
        Ok(recording)
    }

    /// `None` for bare lines.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Known once the last entry was read.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        if self.first.is_some() {
            return Ok(self.first.take());
        }
        if self.ending.is_some() {
            return Ok(None);
        }
        match self.next_view()? {
            Some(view) => self.entry(view),
            None => Ok(None),
        }
    }

    /// The next line that is not blank; `None` and an ending when there is none.
    fn next_view(&mut self) -> Result<Option<LineView>, ReadError> {
        loop {
            self.buffer.clear();
            let limit = MAX_LINE_BYTES as u64 + 1;
            let read = (&mut self.source).take(limit).read_until(b'\n', &mut self.buffer)?;
            if read == 0 {
                self.ending = Some(Ending::Whole);
                return Ok(None);
            }
            self.line += 1;
            let is_whole = self.buffer.last() == Some(&b'\n');
            if !is_whole && read > MAX_LINE_BYTES {
                return Err(ReadError::TooLong { line: self.line });
            }
            if self.buffer.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return match parse(&self.buffer) {
                Ok(view) => Ok(Some(view)),
                // Only the last line can lack its end.
                Err(_) if !is_whole => {
                    self.ending = Some(Ending::Torn);
                    Ok(None)
                }
                Err(reason) => Err(ReadError::Line { line: self.line, reason }),
            };
        }
    }

    fn entry(&mut self, view: LineView) -> Result<Option<Entry>, ReadError> {
        if view.cut {
            self.ending = Some(Ending::Cut);
            return Ok(None);
        }
        let wrong = |reason: &str| ReadError::Line { line: self.line, reason: reason.to_owned() };
        let from = match view.from.as_deref() {
            Some("codex") => Side::Codex,
            Some("us") => Side::Us,
            _ => return Err(wrong("`from` must be \"codex\" or \"us\"")),
        };
        let said = match (view.line, view.text, view.too_long_bytes) {
            (Some(json), ..) => Said::Json(json),
            (None, Some(head), Some(bytes)) => Said::TooLong { bytes, head },
            (None, Some(text), None) => Said::Text(text),
            (None, None, _) => return Err(wrong("it has neither `line` nor `text`")),
        };
        let at_ms = view.at_ms.ok_or_else(|| wrong("`at_ms` must be a number"))?;
        Ok(Some(Entry { line: self.line, at_ms: at_ms.max(0.0) as u64, from, said }))
    }
}

impl<R: BufRead> Iterator for Recording<R> {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_entry().transpose();
        if let Some(Err(_)) = next {
            self.ending = Some(Ending::Torn);
        }
        next
    }
}

/// The members of all kinds of lines.
#[derive(Deserialize)]
struct LineView {
    #[serde(default, deserialize_with = "lenient::option")]
    ostler_wire_log: Option<u64>,
    #[serde(default, deserialize_with = "lenient::option")]
    codex_version: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    thread: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    started_at: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    cut: bool,
    /// Other recorders write fractions.
    #[serde(default, deserialize_with = "lenient::option")]
    at_ms: Option<f64>,
    #[serde(default, deserialize_with = "lenient::option")]
    from: Option<String>,
    #[serde(default)]
    line: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "lenient::option")]
    text: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    too_long_bytes: Option<u64>,
}

fn parse(line: &[u8]) -> Result<LineView, String> {
    let raw: &RawValue = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    lenient::message(raw).map_err(|error| error.to_string())
}
