//! The audit log.

use ostler_engine::PlacedAudit;
use serde::{Deserialize, Serialize};

/// `GET /v1/audit`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditList {
    /// The newest first; with `after` the oldest first.
    pub entries: Vec<PlacedAudit>,
    /// Refusals that nobody has looked at, whatever was asked for.
    pub unseen: u64,
    /// The number of the newest entry; 0 if there is none.
    pub newest: i64,
    /// Entries that were left out within the last minute, because there were too many. An entry will say so.
    pub suppressed: u64,
    /// What `before` must be to get the next page; with `after`, what that must be next.
    pub next: Option<i64>,
}

/// `POST /v1/audit/read`: somebody has looked at all up to this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditRead {
    pub up_to: i64,
}
