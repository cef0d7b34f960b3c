//! Writes the audit log, and no more of it than a disk can take: of one kind and one origin only so many entries within a minute. What is
//! left out is counted, and an entry of its own says how much it was.
//!
//! Whoever is known by a token, a login or an account is counted by that, wherever they come from, and hides nobody else.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
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

/// Entries of one kind within a window of all that nobody is known for: 14 kinds make no more than some 30 MB a day, until the oldest go.
const MOST_OF_KIND: u32 = 30;

/// Addresses of which the first entry is written all the same.
const MOST_ADDRESSES: usize = 60;

/// What somebody known has tried of which the first entry is written all the same.
const MOST_FIRSTS: usize = 20;

/// Whom an entry is counted for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AuditOrigin {
    /// A token, a login or an account: there are as many as people have made.
    Known(String),
    /// Where it came from: whoever attacks may come from many places.
    Place(String),
}

impl AuditOrigin {
    /// Of nobody that is known. A machine has many addresses of its own, and a network as many as it likes.
    pub fn of_address(address: IpAddr) -> Self {
        let address = address.to_canonical();
        if address.is_loopback() {
            return Self::Place("loopback".to_owned());
        }
        Self::Place(match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => {
                let [one, two, three, four, ..] = address.segments();
                format!("{one:x}:{two:x}:{three:x}:{four:x}::/64")
            }
        })
    }
}

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
    /// Of all that nobody is known for.
    written: u32,
    places: usize,
    origins: HashMap<AuditOrigin, OfOrigin>,
    suppressed: u64,
}

#[derive(Default)]
struct OfOrigin {
    written: u32,
    tried: HashSet<String>,
}

impl Window {
    /// Whether this entry is written. What is not written takes no room here either.
    fn takes(&mut self, origin: &AuditOrigin, what: &str) -> bool {
        let of = self.origins.get(origin);
        let written = of.map_or(0, |of| of.written);
        let takes = match origin {
            AuditOrigin::Known(_) => {
                let tried = of.map_or(0, |of| of.tried.len());
                let is_first = of.is_none_or(|of| !of.tried.contains(what));
                written < MOST_OF_ORIGIN || (is_first && tried < MOST_FIRSTS)
            }
            AuditOrigin::Place(_) => {
                let is_first = written == 0 && self.places < MOST_ADDRESSES;
                is_first || (written < MOST_OF_ORIGIN && self.written < MOST_OF_KIND)
            }
        };
        if !takes {
            self.suppressed += 1;
            return false;
        }
        if let AuditOrigin::Place(_) = origin {
            self.written += 1;
            self.places += usize::from(written == 0);
        }
        let of = self.origins.entry(origin.clone()).or_default();
        of.written += 1;
        if of.tried.len() < MOST_FIRSTS {
            of.tried.insert(what.to_owned());
        }
        true
    }
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
    pub async fn note(&self, entry: AuditEntry, origin: &AuditOrigin) -> bool {
        if !self.takes(entry.kind, origin, &entry.what) {
            return false;
        }
        let entry = match origin {
            AuditOrigin::Known(name) => entry.from_origin(name),
            AuditOrigin::Place(_) => entry,
        };
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

    fn takes(&self, kind: AuditKind, origin: &AuditOrigin, what: &str) -> bool {
        let now = Instant::now();
        let mut windows = self.windows();
        let window = windows.entry(kind).or_insert_with(|| {
            self.opened.notify_one();
            Window {
                ends: now + WINDOW,
                written: 0,
                places: 0,
                origins: HashMap::new(),
                suppressed: 0,
            }
        });
        window.takes(origin, what)
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

    fn from(address: &str) -> AuditOrigin {
        AuditOrigin::of_address(address.parse().unwrap())
    }

    /// A flood leaves a few entries and their number, an attacker hides no other, and nothing of it is lost at the end.
    #[tokio::test]
    async fn a_flood_is_counted_and_hides_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(StoreSettings::at(folder.path().join("ostler.db"))).unwrap();
        let log = AuditLog::open(store.clone());
        for _ in 0..500 {
            log.note(entry(AuditKind::HostRefused), &from("192.0.2.1")).await;
        }
        assert!(log.note(entry(AuditKind::HostRefused), &from("192.0.2.2")).await);
        assert!(log.note(entry(AuditKind::SelfApproval), &from("192.0.2.1")).await);
        for address in 0..200 {
            let origin = from(&format!("198.51.100.{address}"));
            log.note(entry(AuditKind::HostRefused), &origin).await;
        }
        // The first of sixty addresses.
        assert_eq!(log.suppressed(), 500 - 10 + 200 - 58);
        log.end().await;
        let all = store.audit(&AuditFilter::default(), None, 500).await.unwrap().entries;
        let told: Vec<u64> =
            all.iter().map(|it| it.entry.suppressed).filter(|suppressed| *suppressed > 0).collect();
        assert_eq!((all.len(), told), (10 + 1 + 58 + 1 + 1, vec![490 + 142]));
        let counts = store.audit_counts().await.unwrap();
        let count = counts.iter().find(|(kind, _)| *kind == AuditKind::HostRefused).unwrap().1;
        assert_eq!((count.written, count.suppressed), (10 + 1 + 58 + 1, 632));
        store.close().await;
    }

    /// One token from many addresses of the machine is one origin, and another one is written down all the same.
    #[tokio::test]
    async fn whoever_is_known_is_counted_by_that_and_hides_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(StoreSettings::at(folder.path().join("ostler.db"))).unwrap();
        let log = AuditLog::open(store.clone());
        for address in ["127.0.0.1", "127.0.0.2", "127.1.2.3", "::1", "::ffff:127.0.0.9"] {
            assert_eq!(from(address), AuditOrigin::Place("loopback".to_owned()), "{address}");
        }
        assert_eq!(from("2001:db8::1"), from("2001:db8::2"));
        let known = |name: &str| AuditOrigin::Known(name.to_owned());
        let tries = |what: &str| AuditEntry::new(AuditKind::ScopeRefused, 7, "token", "tcp", what);
        for _ in 0..100 {
            log.note(tries("GET /v1/tasks"), &known("token flood")).await;
        }
        // The first of what else it tries is written, up to a bound.
        for number in 0..100 {
            log.note(tries(&format!("GET /{number}")), &known("token flood")).await;
        }
        assert_eq!(log.suppressed(), 200 - 10 - 19);
        assert!(log.note(tries("POST /v1/tokens"), &known("token other")).await);
        assert!(log.note(tries("POST /v1/tokens"), &from("127.0.0.1")).await);
        let all = store.audit(&AuditFilter::default(), None, 500).await.unwrap().entries;
        let origins: Vec<&str> = all.iter().take(3).map(|it| it.entry.origin.as_str()).collect();
        assert_eq!((all.len(), origins), (31, vec!["", "token other", "token flood"]));
        log.end().await;
        store.close().await;
    }
}
