//! Codex's own lines about a thread, for those who look while they come.
//!
//! Nothing is kept for whoever comes later, and while nobody looks a line costs one look at a number. What waits for
//! those who look is there once and bounded: whoever reads too slowly loses the oldest lines and is told how many.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::secrets::Secrets;
use crate::wire_log::ShownLines;

/// Lines that may wait. A fast turn has some thousand per second, and a reader that is well reads every few milliseconds.
const WAITING_LINES: usize = 2048;

/// Their bytes; one line that is longer waits alone. Most lines have some hundred bytes, the longest some MiB.
const WAITING_BYTES: usize = 4 * 1024 * 1024;

/// Given to a thread with [`WireLines::Overheard`](super::WireLines). Cheap to clone.
#[derive(Clone)]
pub struct Lines(Arc<Shared>);

/// Finds the same [`Lines`] again for as long as somebody has them.
#[derive(Debug, Clone)]
pub struct WeakLines(Weak<Shared>);

/// One who looks. Nothing is lost if `next` is dropped and called again.
#[derive(Debug)]
pub struct Listener {
    lines: Lines,
    told: watch::Receiver<u64>,
    /// The number of the next line.
    next: u64,
}

#[derive(Debug, Clone)]
pub enum Overheard {
    /// As it came, without its secrets.
    Line(Arc<RawValue>),
    /// So many lines came too fast.
    Lost(u64),
}

struct Shared {
    listeners: AtomicUsize,
    /// What a person typed as a secret, whoever looked then, and what is registered of the app-servers it was in.
    known: Secrets,
    waiting: Mutex<Waiting>,
    /// How many lines were told.
    told: watch::Sender<u64>,
}

struct Waiting {
    shown: ShownLines,
    lines: VecDeque<Arc<RawValue>>,
    /// The number of the first of them.
    first: u64,
    bytes: usize,
}

impl Default for Lines {
    fn default() -> Self {
        let known = Secrets::default();
        let shown = ShownLines::new(known.clone());
        let waiting = Waiting { shown, lines: VecDeque::new(), first: 0, bytes: 0 };
        let told = watch::channel(0).0;
        let listeners = AtomicUsize::new(0);
        Self(Arc::new(Shared { listeners, known, waiting: Mutex::new(waiting), told }))
    }
}

impl Lines {
    /// From the next line on.
    pub fn listen(&self) -> Listener {
        let waiting = self.lock();
        self.0.listeners.fetch_add(1, Ordering::Relaxed);
        Listener { lines: self.clone(), told: self.0.told.subscribe(), next: waiting.end() }
    }

    pub fn downgrade(&self) -> WeakLines {
        WeakLines(Arc::downgrade(&self.0))
    }

    /// Whether anybody looks.
    pub(super) fn are_heard(&self) -> bool {
        // Whoever comes while this is looked at begins with the next line.
        self.0.listeners.load(Ordering::Relaxed) > 0
    }

    pub(super) fn tell(&self, line: &[u8]) {
        if self.are_heard() {
            let told = self.lock().add(line);
            self.0.told.send_replace(told);
        }
    }

    /// From now on this is hidden, unless it is too short to be told from ordinary text.
    pub(super) fn hide(&self, secret: &str) {
        let _is_long_enough: bool = self.0.known.add(secret);
    }

    /// From now on the values of this registry are hidden.
    pub(super) fn know(&self, secrets: &Secrets) {
        self.0.known.include(secrets);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// The number of the next line.
    fn end(&self) -> u64 {
        self.first + self.lines.len() as u64
    }

    fn add(&mut self, line: &[u8]) -> u64 {
        if let Some(line) = self.shown.show(line) {
            self.bytes += line.get().len();
            self.lines.push_back(Arc::from(line));
        }
        while self.lines.len() > WAITING_LINES || self.lines.len() > 1 && self.bytes > WAITING_BYTES
        {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.get().len();
            self.first += 1;
        }
        self.end()
    }

    fn read(&self, next: &mut u64) -> Option<Overheard> {
        if *next < self.first {
            let lost = self.first - std::mem::replace(next, self.first);
            return Some(Overheard::Lost(lost));
        }
        let at = usize::try_from(*next - self.first).ok()?;
        let line = self.lines.get(at)?.clone();
        *next += 1;
        Some(Overheard::Line(line))
    }
}

impl WeakLines {
    pub fn upgrade(&self) -> Option<Lines> {
        self.0.upgrade().map(Lines)
    }
}

impl Listener {
    pub async fn next(&mut self) -> Overheard {
        loop {
            self.told.borrow_and_update();
            let overheard = self.lines.lock().read(&mut self.next);
            if let Some(overheard) = overheard {
                return overheard;
            }
            // Never fails: what tells is in what we hold.
            if self.told.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut waiting = self.lines.lock();
        if self.lines.0.listeners.fetch_sub(1, Ordering::Relaxed) == 1 {
            waiting.first = waiting.end();
            waiting.lines = VecDeque::new();
            waiting.bytes = 0;
            // What was begun while somebody looked is not known to go on when the next one does.
            waiting.shown = ShownLines::new(self.lines.0.known.clone());
        }
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Lines").field("are_heard", &self.are_heard()).finish()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
