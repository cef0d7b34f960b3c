//! An optional log of every message of one connection, in both directions, without its secrets.
//!
//! A recorded incident can be read back with [`read`] and played through the same code again.
//!
//! * One file for each thread, `<folder>/<thread id>.jsonl`; what belongs to no thread is in `connection.jsonl`. An
//!   exchange that opens a thread is in both. The messages of a sub-agent go to its own file and, from
//!   [`WireLog::adopt`] on, to that of its parent as well.
//! * The first line says what the file is: `{"ostler_wire_log":1,"codex_version":…,"thread":…,"started_at":…}`. Each
//!   further line is one message, `{"at_ms":…,"from":"codex"|"us","line":…}`, the message as it was on the wire; text
//!   that is no JSON stands as `"text"` instead. A file that reached its bound ends in `{"cut":true,…}`.
//! * Files have mode 0600 in a folder of mode 0700 and are always new: a thread that an earlier connection recorded in
//!   the same folder gets `<thread id>.2.jsonl`.
//! * Secrets do not reach the disk: see [`REDACTED`]. Known by name, by shape, by registration, or typed as the answer to
//!   a question that is marked secret.
//! * The queue to the log's thread is bounded and its overflow rule is back-pressure: an incident log with holes is
//!   worthless. But a disk that fails ends the log, not the conversation: [`WireLog::failure`].
//!
//! What redaction cannot see: a secret without a known shape or name that nobody registered; one that is encoded (in
//! base64, compressed), except that members named so are hidden whole; and of one that comes in pieces, what was said
//! before it could be known (`sk-`, the first four letters of a registered value, a password in an address).

mod files;
mod filing;
mod name;
mod reader;
mod redact;
mod remembered;
mod shown;
mod tap;
mod writer;

pub use crate::secrets::REDACTED;
pub use reader::{Ending, Entry, Header, ReadError, Recording, Said, read};
pub use tap::{Side, Tap, WireLogFailure};

use std::io;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ostler_model::ThreadId;
use thiserror::Error;
use tokio::sync::oneshot;

use crate::secrets::{SHORTEST_KNOWN_BYTES, Secrets};
use files::private_folder;
pub(crate) use shown::ShownLines;
pub(crate) use tap::Body;
use tap::{Input, Outcome, tap};
use writer::Writer;

/// How long [`WireLog::flush`] and [`WireLog::close`] wait for a disk: a full queue of 8 MiB takes less than a second.
const FLUSH_DEADLINE: Duration = Duration::from_secs(10);

/// What to record where.
#[derive(Clone)]
pub struct WireLogSettings {
    /// Made with mode 0700 if it is not there.
    pub folder: PathBuf,
    /// For the headers; without it, it is learnt from the greeting.
    pub codex_version: Option<String>,
    /// Bound of each file. An hour of a busy thread has some MiB.
    pub max_file_bytes: u64,
    /// Values that must not be written, whatever they look like; each of at least four bytes.
    pub secrets: Vec<String>,
    /// The values that the connection's connector registers, also later ones.
    pub registered: Secrets,
}

/// The log of one connection. Dropped, it goes on until the connection ends; [`WireLog::close`] waits for its end.
#[derive(Debug)]
pub struct WireLog {
    tap: Tap,
    known: Secrets,
    thread: JoinHandle<()>,
    ended: oneshot::Receiver<()>,
}

#[derive(Debug, Error)]
pub enum WireLogError {
    #[error("the folder of the wire log, {path}, cannot be used: {error}")]
    Folder { path: PathBuf, error: io::Error },
    #[error("the wire log's thread cannot be started: {0}")]
    Thread(io::Error),
    #[error(transparent)]
    Secret(#[from] SecretTooShort),
}

/// A value that stands in ordinary text all the time cannot be hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a secret of less than {SHORTEST_KNOWN_BYTES} bytes cannot be told from ordinary text; use a longer one"
)]
pub struct SecretTooShort;

impl WireLogSettings {
    /// Bounds as they are right for Codex.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            codex_version: None,
            max_file_bytes: 64 * 1024 * 1024,
            secrets: Vec::new(),
            registered: Secrets::default(),
        }
    }
}

impl WireLog {
    /// Makes the folder and starts the thread that writes. Files are made when there is something to write.
    pub fn start(settings: WireLogSettings) -> Result<Self, WireLogError> {
        let WireLogSettings { folder, codex_version, max_file_bytes, secrets, registered } =
            settings;
        let known = Secrets::default();
        known.include(&registered);
        for secret in &secrets {
            add(&known, secret)?;
        }
        private_folder(&folder)
            .map_err(|error| WireLogError::Folder { path: folder.clone(), error })?;
        let (tap, queue) = tap();
        let writer = Writer {
            folder,
            known: known.clone(),
            codex_version,
            max_file_bytes,
            started: Instant::now(),
            started_at: Timestamp::now(),
        };
        let outcome = tap.outcome().clone();
        let (ending, ended) = oneshot::channel();
        let work = move || {
            let guard = PanicNote(&outcome);
            writer.run(queue, &outcome);
            std::mem::forget(guard);
            drop(ending);
        };
        let thread = thread::Builder::new()
            .name("wire-log".to_owned())
            .spawn(work)
            .map_err(WireLogError::Thread)?;
        Ok(Self { tap, known, thread, ended })
    }

    /// What one connection is given, in [`crate::peer::PeerSettings`]. Request ids of two connections would be
    /// mistaken for one another, so each has a log of its own.
    pub fn tap(&self) -> Tap {
        self.tap.clone()
    }

    /// From now on the messages of `child` are in the file of `parent` as well, so that it can be played on its own.
    pub async fn adopt(&self, child: &ThreadId, parent: &ThreadId) {
        let (child, parent) = (child.as_str().to_owned(), parent.as_str().to_owned());
        self.tap.command(Input::Adopt { child, parent }).await;
    }

    /// From now on this value is not written, whatever it stands in.
    pub fn add_secret(&self, value: &str) -> Result<(), SecretTooShort> {
        add(&self.known, value)
    }

    /// Why nothing is recorded any more. It is also told once as a warning.
    pub fn failure(&self) -> Option<WireLogFailure> {
        self.tap.outcome().failure().cloned()
    }

    /// Returns when all that was said before is in the files.
    pub async fn flush(&self) -> Result<(), WireLogFailure> {
        let (waiter, flushed) = oneshot::channel();
        self.tap.command(Input::Flush(waiter)).await;
        self.within(flushed).await
    }

    /// Writes what is still under way and ends the log, also if its connection goes on.
    pub async fn close(mut self) -> Result<(), WireLogFailure> {
        self.tap.command(Input::Close).await;
        let ended = std::mem::replace(&mut self.ended, oneshot::channel().1);
        let outcome = self.within(ended).await;
        if outcome != Err(WireLogFailure::Stalled) && self.thread.join().is_err() {
            return Err(WireLogFailure::Panicked);
        }
        outcome
    }

    /// Waits for word from the thread. If it is gone, its failure tells why; without one it ended in good order.
    async fn within(&self, word: oneshot::Receiver<()>) -> Result<(), WireLogFailure> {
        if tokio::time::timeout(FLUSH_DEADLINE, word).await.is_err() {
            self.tap.outcome().fail(WireLogFailure::Stalled);
        }
        self.failure().map_or(Ok(()), Err)
    }
}

fn add(known: &Secrets, value: &str) -> Result<(), SecretTooShort> {
    if known.add(value) { Ok(()) } else { Err(SecretTooShort) }
}

/// Says that the thread has panicked; forgotten when it has not.
struct PanicNote<'a>(&'a Outcome);

impl Drop for PanicNote<'_> {
    fn drop(&mut self) {
        self.0.fail(WireLogFailure::Panicked);
    }
}
