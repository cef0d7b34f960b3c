//! What every route finds behind the door. The engine's handle will stand here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock};

use jiff::Timestamp;
use ostler_engine::AuditLog;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// How the daemon ends. Keepers and their turns live on in every case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    /// Requests under way are answered first, as long as that takes no longer than a few seconds.
    #[default]
    Graceful,
    /// Connections are cut.
    Now,
}

/// Where browsers and programs reach the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listens {
    pub address: SocketAddr,
    pub tls: bool,
}

impl Listens {
    /// As it stands in the address bar of a browser on this machine.
    pub fn url(&self) -> String {
        let Self { mut address, tls } = *self;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("{}://{address}", if tls { "https" } else { "http" })
    }
}

/// One daemon: who it is, and whether it is about to end.
#[derive(Debug)]
pub struct Hall {
    pub version: String,
    pub pid: u32,
    pub started_at: Timestamp,
    /// Counts the daemons of one state folder: what a smaller epoch wants to write is out of date.
    pub epoch: u64,
    listens: OnceLock<Listens>,
    audit: OnceLock<Arc<AuditLog>>,
    closing: CancellationToken,
    cut: CancellationToken,
    reason: Mutex<Option<String>>,
}

impl Hall {
    pub fn new(version: impl Into<String>, pid: u32, started_at: Timestamp, epoch: u64) -> Self {
        Self {
            version: version.into(),
            pid,
            started_at,
            epoch,
            listens: OnceLock::new(),
            audit: OnceLock::new(),
            closing: CancellationToken::new(),
            cut: CancellationToken::new(),
            reason: Mutex::new(None),
        }
    }

    /// That there is a door over TCP, too. Only the first word counts.
    pub fn listens_on(&self, listens: Listens) {
        self.listens.get_or_init(|| listens);
    }

    /// Where refusals are written down. Only the first one counts.
    pub fn audits_to(&self, log: Arc<AuditLog>) {
        self.audit.get_or_init(|| log);
    }

    /// The audit log, if there is a store behind the door.
    pub(crate) fn audit(&self) -> Option<&Arc<AuditLog>> {
        self.audit.get()
    }

    /// The door over TCP, if there is one.
    pub fn listens(&self) -> Option<&Listens> {
        self.listens.get()
    }

    /// Begins the end. The first reason given is the one that is told.
    pub fn close(&self, mode: StopMode, reason: impl Into<String>) {
        if let Ok(mut kept) = self.reason.lock() {
            kept.get_or_insert_with(|| reason.into());
        }
        self.closing.cancel();
        if mode == StopMode::Now {
            self.cut.cancel();
        }
    }

    /// Whoever serves a long stream ends it when this is cancelled.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Why the daemon ends, once it does.
    pub fn reason(&self) -> Option<String> {
        self.reason.lock().ok().and_then(|kept| kept.clone())
    }

    pub(crate) fn cut(&self) -> &CancellationToken {
        &self.cut
    }
}
