//! Codex's own record of a thread, its *rollout*: a file of JSON lines that every client of Codex leaves behind, read
//! into the same items as the live stream, so that both project to the same messages.
//!
//! Two formats are read. *Paginated* files (0.166) hold each finished item as the live stream tells it, except for
//! commands that were declined. *Legacy* files hold what went to and came from the model, from which items are put
//! together: a call with its output, or with the event that tells its end.
//!
//! What cannot be the same as live, because the file does not say it:
//! - durations (legacy), and ids of messages (0.130) and of a person's own commands (legacy);
//! - a long output: legacy files have what the model saw, at most some 10 000 tokens of it, paginated ones cut too;
//! - a command that outlived its turn (legacy): it ends as interrupted, with what it had said by then;
//! - states of sub-agents (legacy), and the text of a turn that failed: a failed turn reads as completed.

mod assemble;
mod calls;
mod context;
mod ended;
mod exec;
mod find;
mod given;
mod injected;
mod line;
mod newest;
mod recorded;
mod sandboxing;
mod tail;
mod turns;
mod unheard;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::BytesMut;
use ostler_model::item::ItemEnd;
use ostler_model::{Item, ThreadId, TurnId};
use thiserror::Error;
use tokio_util::codec::Decoder;

use crate::wire::{Frame, FrameError, LineDecoder, Oddity, OddityKind};
use assemble::Assembly;

pub use context::context_given;
pub use ended::has_ended;
pub use find::find;
pub use given::{Given, given};
pub use newest::{ThreadFile, newest};
pub use sandboxing::sandboxing;
pub use unheard::{Unheard, unheard};

/// How much of the file is read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Unreadable lines that are kept; a file of another format would fill memory with them.
const MAX_ODDITIES: usize = 100;

/// One thread as its file tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rollout {
    /// What the file says of itself, which counts more than its name.
    pub thread: Option<ThreadId>,
    /// The version of Codex that began it.
    pub codex_version: Option<String>,
    pub turns: Vec<RolloutTurn>,
    /// The first hundred lines that could not be read.
    pub oddities: Vec<RolloutOddity>,
    /// The last line is not whole: Codex is writing it, or died while it did.
    pub torn: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RolloutTurn {
    /// The id that the live stream gives the turn; made up (`untold-<n>`) where the file has none.
    pub id: TurnId,
    pub end: TurnEnd,
    /// What is over, in order. A step that still runs is not here while its turn is open.
    pub items: Vec<(Item, ItemEnd)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// The file does not say that it ended, and nothing came after it.
    Open,
    Completed,
    /// It ended without a last message. So ends a turn that failed, up to 0.142.5, and one in which the model said nothing.
    Unanswered,
    /// Somebody stopped it, or Codex died in it.
    Interrupted,
}

/// A line that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutOddity {
    /// From 1; blank lines do not count.
    pub line: u64,
    pub oddity: Oddity,
}

#[derive(Debug, Error)]
pub enum RolloutError {
    #[error("there is no rollout of thread {thread} below {home}")]
    NotFound { thread: ThreadId, home: PathBuf },
    #[error("{path} is compressed; unpack it with `zstd -d` first")]
    Compressed { path: PathBuf },
    #[error("{path} cannot be read: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl RolloutError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// Reads one file. Blocks; a file is as long as its conversation.
pub fn read(path: &Path) -> Result<Rollout, RolloutError> {
    if find::is_compressed(path) {
        return Err(RolloutError::Compressed { path: path.to_owned() });
    }
    let file = File::open(path).map_err(|error| RolloutError::io(path, error))?;
    parse(file).map_err(|error| RolloutError::io(path, error))
}

/// Reads the lines of a rollout from anywhere.
pub fn parse(mut source: impl Read) -> io::Result<Rollout> {
    let mut decoder = LineDecoder::default();
    let mut buffer = BytesMut::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut lines = Lines::default();
    loop {
        let count = match source.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if count == 0 {
            break;
        }
        buffer.extend_from_slice(chunk.get(..count).unwrap_or_default());
        while let Some(frame) = decoder.decode(&mut buffer).map_err(plain)? {
            lines.take(&frame);
        }
    }
    // What is left has no line end.
    if let Some(frame) = decoder.decode_eof(&mut buffer).map_err(plain)? {
        lines.take_last(&frame);
    }
    Ok(lines.finish())
}

#[derive(Default)]
struct Lines {
    assembly: Assembly,
    oddities: Vec<RolloutOddity>,
    torn: bool,
    count: u64,
}

impl Lines {
    fn take(&mut self, frame: &Frame) {
        if let Some(oddity) = self.understand(frame)
            && self.oddities.len() < MAX_ODDITIES
        {
            self.oddities.push(RolloutOddity { line: self.count, oddity });
        }
    }

    fn take_last(&mut self, frame: &Frame) {
        self.torn = self.understand(frame).is_some();
    }

    /// What is odd about the line, if it could not be used.
    fn understand(&mut self, frame: &Frame) -> Option<Oddity> {
        self.count += 1;
        match frame {
            Frame::Message(bytes) => {
                let kind = match std::str::from_utf8(bytes) {
                    Ok(text) => self.assembly.line(text).err().map(OddityKind::NotJson),
                    Err(_) => Some(OddityKind::NotUtf8),
                };
                kind.map(|kind| Oddity::of(kind, bytes))
            }
            Frame::TooLong { bytes, head } => {
                Some(Oddity { kind: OddityKind::TooLong, bytes: *bytes, head: head.clone() })
            }
            // A file has neither.
            Frame::Ping(_) | Frame::Goodbye(_) => None,
        }
    }

    fn finish(self) -> Rollout {
        let Self { assembly, oddities, torn, .. } = self;
        Rollout { oddities, torn, ..assembly.finish() }
    }
}

fn plain(error: FrameError) -> io::Error {
    match error {
        FrameError::Io(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests;
