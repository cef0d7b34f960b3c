//! Reading threads back, and taking turns away from them.

use ostler_model::{ThreadId, TurnId};
use serde::{Deserialize, Serialize};

use super::ClientRequest;
use crate::protocol::item::{Item, UnreadableItem};
use crate::protocol::json::Json;
use crate::protocol::lenient;
use crate::protocol::thread::Thread;
use crate::protocol::turn::Turn;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRead {
    pub thread_id: ThreadId,
    pub include_turns: bool,
}

impl ClientRequest for ThreadRead {
    const METHOD: &'static str = "thread/read";
    type Reply = OneThread;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct OneThread {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub thread: Thread,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadList {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort_key: Option<ThreadSortKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort_direction: Option<SortDirection>,
    /// Without it only the threads of the default provider are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_providers: Option<Vec<String>>,
    /// Without it only threads that people started are listed; sub-agents are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_kinds: Option<Vec<ThreadSourceKind>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_term: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_thread_id: Option<ThreadId>,
}

impl ClientRequest for ThreadList {
    const METHOD: &'static str = "thread/list";
    type Reply = ThreadPage;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadSortKey {
    CreatedAt,
    UpdatedAt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SortDirection {
    Asc,
    Desc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ThreadSourceKind {
    Cli,
    /// What threads of every app-server client are counted as.
    Vscode,
    Exec,
    AppServer,
    SubAgent,
    SubAgentReview,
    SubAgentCompact,
    SubAgentThreadSpawn,
    SubAgentOther,
    Unknown,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPage {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub data: Vec<Thread>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub next_cursor: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub backwards_cursor: Option<String>,
}

/// The threads this process holds in memory, also ephemeral ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadLoadedList {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl ClientRequest for ThreadLoadedList {
    const METHOD: &'static str = "thread/loaded/list";
    type Reply = LoadedThreads;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadedThreads {
    #[serde(default, deserialize_with = "lenient::list")]
    pub data: Vec<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsList {
    pub thread_id: ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort_direction: Option<SortDirection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_view: Option<ItemsView>,
}

impl ClientRequest for ThreadTurnsList {
    const METHOD: &'static str = "thread/turns/list";
    type Reply = TurnPage;
}

/// How much of each turn's items is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ItemsView {
    NotLoaded,
    Summary,
    Full,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnPage {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub data: Vec<Turn>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub next_cursor: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub backwards_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsList {
    pub thread_id: ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort_direction: Option<SortDirection>,
}

impl ThreadItemsList {
    pub fn new(thread_id: ThreadId) -> Self {
        Self { thread_id, turn_id: None, cursor: None, limit: None, sort_direction: None }
    }
}

impl ClientRequest for ThreadItemsList {
    const METHOD: &'static str = "thread/items/list";
    type Reply = ItemPage;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemPage {
    #[serde(default, deserialize_with = "lenient::objects")]
    pub data: Vec<ItemEntry>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub next_cursor: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub backwards_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemEntry {
    #[serde(default, deserialize_with = "lenient::option")]
    pub turn_id: Option<TurnId>,
    /// Kept raw; see [`ItemEntry::item`].
    pub item: Json,
    /// Unix milliseconds.
    #[serde(default, deserialize_with = "lenient::option")]
    pub started_at_ms: Option<i64>,
    /// Unix milliseconds.
    #[serde(default, deserialize_with = "lenient::option")]
    pub completed_at_ms: Option<i64>,
}

impl ItemEntry {
    pub fn item(&self) -> Result<Item<'_>, UnreadableItem> {
        Item::parse(self.item.as_raw())
    }
}

/// Drops this turn and all later ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRevert {
    pub thread_id: ThreadId,
    pub before_turn_id: TurnId,
}

impl ClientRequest for ThreadRevert {
    const METHOD: &'static str = "thread/revert";
    type Reply = OneThread;
}

/// Drops the last turns; what older versions have instead of [`ThreadRevert`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollback {
    pub thread_id: ThreadId,
    pub num_turns: u32,
}

impl ClientRequest for ThreadRollback {
    const METHOD: &'static str = "thread/rollback";
    type Reply = OneThread;
}
