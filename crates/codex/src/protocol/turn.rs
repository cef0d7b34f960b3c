//! A turn and the plan the model follows in it.

use ostler_model::TurnId;
use serde::Deserialize;

use super::error::TurnError;
use super::item::{Item, UnreadableItem};
use super::json::Json;
use super::lenient;
use super::words::{ItemsLoaded, PlanStepStatus, TurnStatus};

/// One turn, as replies and notifications carry it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    #[serde(default, deserialize_with = "lenient::option")]
    pub id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<TurnStatus>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub error: Option<TurnError>,
    /// Unix seconds.
    #[serde(default, deserialize_with = "lenient::option")]
    pub started_at: Option<i64>,
    /// Unix seconds.
    #[serde(default, deserialize_with = "lenient::option")]
    pub completed_at: Option<i64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub duration_ms: Option<u64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub items_view: Option<ItemsLoaded>,
    /// Kept raw: history holds many and few are looked at. See [`Turn::items`].
    #[serde(default, deserialize_with = "lenient::list")]
    pub items: Vec<Json>,
}

impl Turn {
    /// The items read one by one, in order.
    pub fn items(&self) -> impl Iterator<Item = Result<Item<'_>, UnreadableItem>> {
        self.items.iter().map(|item| Item::parse(item.as_raw()))
    }
}

/// One step of the plan of `turn/plan/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub step: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<PlanStepStatus>,
}
