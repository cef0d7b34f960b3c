//! Writes the audit log, and no more of it than a disk can take: of one kind and one origin only so many entries within a minute. What is
//! left out is counted, and an entry of its own says how much it was.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_model::audit::{AuditEntry, AuditKind};
use ostler_store::{Store, StoreError, Write};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::shared::now;

/// What is counted together.
const WINDOW: Duration = Duration::from_secs(60);

/// Entries of one origin within a window: an attacker in a loop is seen by the first few.
const MOST_OF_ORIGIN: u32 = 10;

/// Entries of one kind within a window, whatever their origin: 14 kinds make no more than some 30 MB a day, until the oldest go.
const MOST_OF_KIND: u32 = 30;

/// Handle to the audit log of a daemon.
pub struct AuditLog {
    store: Store,
    windows: Mutex<HashMap<AuditKind, Window>>,
    opened: Notify,
    ending: CancellationToken,
    telling: Mutex<Option<JoinHandle<()>>>,
}

struct Window {
    ends: Instant,
    written: u32,
    origins: HashMap<String, u32>,
    suppressed: u64,
}

impl AuditLog {
    /// Begins to write. Only inside a runtime; [`AuditLog::end`] writes down what is still counted.
    pub fn open(store: Store) -> Arc<Self> {
        let log = Arc::new(Self {
            store,
            windows: Mutex::default(),
            opened: Notify::new(),
            ending: CancellationToken::new(),
            telling: Mutex::default(),
        });
        let telling = tokio::spawn(Arc::clone(&log).tell_suppressed());
        *log.telling.lock().unwrap_or_else(PoisonError::into_inner) = Some(telling);
        log
    }

    /// Writes the entry down, unless there were too many of its kind or from its origin. Whether it was written.
    pub async fn note(&self, entry: AuditEntry, origin: &str) -> bool {
        if !self.takes(entry.kind, origin) {
            return false;
        }
        let kind = entry.kind.name();
        let written = self.store.commit(Write::Audit(Box::new(entry)).into()).await;
        if let Err(error) = &written {
            tracing::error!(%error, kind, "an entry of the audit log could not be written");
        }
        written.is_ok()
    }

    /// Entries that were left out and are not yet told of.
    pub fn suppressed(&self) -> u64 {
        self.windows().values().map(|window| window.suppressed).sum()
    }

    /// Writes down what was left out, and ends. The store must still be open.
    pub async fn end(&self) {
        self.ending.cancel();
        let telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(telling) = telling
            && let Err(error) = telling.await
        {
            tracing::error!(%error, "the audit log has not ended well");
        }
    }

    fn takes(&self, kind: AuditKind, origin: &str) -> bool {
        let now = Instant::now();
        let mut windows = self.windows();
        let window = windows.entry(kind).or_insert_with(|| {
            self.opened.notify_one();
            Window { ends: now + WINDOW, written: 0, origins: HashMap::new(), suppressed: 0 }
        });
        let of_origin = window.origins.get(origin).copied().unwrap_or(0);
        if window.written >= MOST_OF_KIND || of_origin >= MOST_OF_ORIGIN {
            window.suppressed += 1;
            return false;
        }
        window.written += 1;
        window.origins.insert(origin.to_owned(), of_origin + 1);
        true
    }

    /// One entry for all that a window has left out, when it is over.
    async fn tell_suppressed(self: Arc<Self>) {
        loop {
            let opened = self.opened.notified();
            let next = self.windows().values().map(|window| window.ends).min();
            tokio::select! {
                () = self.ending.cancelled() => break,
                () = opened => {}
                () = wait(next) => {}
            }
            self.close_windows(Instant::now()).await;
        }
        // All of them, whenever they would have ended.
        self.close_windows(Instant::now() + 2 * WINDOW).await;
    }

    async fn close_windows(&self, until: Instant) {
        let over: Vec<(AuditKind, u64)> = {
            let mut windows = self.windows();
            let over = windows.extract_if(|_, window| window.ends <= until);
            over.map(|(kind, window)| (kind, window.suppressed)).collect()
        };
        for (kind, suppressed) in over.into_iter().filter(|(_, suppressed)| *suppressed > 0) {
            if let Err(error) = self.write_suppressed(kind, suppressed).await {
                tracing::error!(%error, suppressed, kind = kind.name(), "entries were left out of the audit log");
            }
        }
    }

    async fn write_suppressed(&self, kind: AuditKind, suppressed: u64) -> Result<(), StoreError> {
        let what = format!("{suppressed} more within a minute, which are not written down");
        let mut entry = AuditEntry::new(kind, now(), "ostler", "audit", &what);
        entry.suppressed = suppressed;
        self.store.commit(Write::Audit(Box::new(entry)).into()).await.map(drop)
    }

    fn windows(&self) -> MutexGuard<'_, HashMap<AuditKind, Window>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for AuditLog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AuditLog")
    }
}

async fn wait(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use ostler_store::{AuditFilter, StoreSettings};

    use super::*;

    fn entry(kind: AuditKind) -> AuditEntry {
        AuditEntry::new(kind, 7, "nobody", "tcp", "GET /")
    }

    /// A flood leaves a few entries and their number, an attacker hides no other, and nothing of it is lost at the end.
    #[tokio::test]
    async fn a_flood_is_counted_and_hides_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(StoreSettings::at(folder.path().join("ostler.db"))).unwrap();
        let log = AuditLog::open(store.clone());
        for _ in 0..500 {
            log.note(entry(AuditKind::HostRefused), "192.0.2.1").await;
        }
        assert!(log.note(entry(AuditKind::HostRefused), "192.0.2.2").await);
        assert!(log.note(entry(AuditKind::SelfApproval), "192.0.2.1").await);
        for address in 0..200 {
            log.note(entry(AuditKind::HostRefused), &format!("198.51.100.{address}")).await;
        }
        assert_eq!(log.suppressed(), 500 - 10 + 200 - 19);
        log.end().await;
        let all = store.audit(&AuditFilter::default(), None, 500).await.unwrap().entries;
        let told: Vec<u64> =
            all.iter().map(|it| it.entry.suppressed).filter(|suppressed| *suppressed > 0).collect();
        assert_eq!((all.len(), told), (30 + 1 + 1, vec![490 + 181]));
        let counts = store.audit_counts().await.unwrap();
        let count = counts.iter().find(|(kind, _)| *kind == AuditKind::HostRefused).unwrap().1;
        assert_eq!((count.written, count.suppressed), (31, 671));
        store.close().await;
    }
}
