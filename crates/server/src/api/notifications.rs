//! Whom tasks have told what.

use ostler_engine::Preview;
use ostler_model::{Notification, TaskId};
use serde::{Deserialize, Serialize};

/// `GET /v1/notifications`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotificationList {
    /// The newest first.
    pub notifications: Vec<Notification>,
    /// How many are shown here and nobody has looked at, whatever was asked for.
    pub unread: u64,
    /// The place of the newest one, by which it is said what was looked at.
    pub newest: Option<i64>,
    /// What `before` must be to get the next page.
    pub next: Option<i64>,
}

/// `POST /v1/notifications/read`: somebody has looked at all up to this place, or at those of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotificationsRead {
    pub up_to: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// `GET /v1/tasks/{id}/notifications/preview`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Previews {
    pub task: TaskId,
    pub previews: Vec<Preview>,
}
