//! Views of the lines of a rollout: the union of the fields we use, each optional.

use std::collections::BTreeMap;

use ostler_model::TurnId;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::protocol::item::body::{CollabAgentState, HookPromptFragment, WebSearchAction};
use crate::protocol::user_input::UserInput;
use crate::protocol::words::{ItemStatus, MessagePhase};
use crate::protocol::{Json, lenient};

#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub(super) kind: String,
    #[serde(borrow)]
    pub(super) payload: Option<&'a RawValue>,
}

/// The payload of `session_meta`, and the parts of `turn_context` we use.
#[derive(Default, Deserialize)]
pub(super) struct Meta {
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) session_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) cli_version: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) history_mode: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) turn_id: Option<TurnId>,
}

/// The payload of `response_item`: what went to the model, or came from it.
#[derive(Default, Deserialize)]
pub(super) struct Response {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) role: String,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub(super) content: Vec<String>,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub(super) summary: Vec<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) phase: Option<MessagePhase>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) call_id: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) namespace: String,
    /// JSON in a text.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) arguments: String,
    /// What a custom tool was given.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) input: String,
    /// A text, or a list of parts.
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) output: Option<Json>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) action: Option<Action>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) status: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) revised_prompt: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub(super) internal_chat_message_metadata_passthrough: Passthrough,
}

#[derive(Default, Deserialize)]
pub(super) struct Passthrough {
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) turn_id: Option<TurnId>,
}

/// What a search or a local shell call does.
#[derive(Default, Deserialize)]
pub(super) struct Action {
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) command: Vec<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) working_directory: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) query: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) queries: Vec<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) url: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) pattern: Option<String>,
}

/// The payload of `event_msg`, as far as it is not an item.
#[derive(Default, Deserialize)]
pub(super) struct Event {
    /// Of the end of a turn: there is no last message.
    #[serde(default, rename = "last_agent_message", deserialize_with = "is_null")]
    pub(super) is_unanswered: bool,
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) turn_id: Option<TurnId>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) message: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) client_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) images: Vec<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) local_images: Vec<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) num_turns: Option<usize>,
    /// The item of `item_completed`.
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) item: Option<Json>,
}

/// A finished item, either as `item_completed` has it (0.166) or as the events of older versions do.
#[derive(Default, Deserialize)]
pub(super) struct Recorded {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) call_id: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) client_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub(super) content: Vec<UserInput>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) text: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) phase: Option<MessagePhase>,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub(super) summary_text: Vec<String>,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub(super) raw_content: Vec<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) command: Vec<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) source: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) status: Option<ItemStatus>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) aggregated_output: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) exit_code: Option<i64>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) duration: Option<Duration>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) duration_ms: Option<u64>,
    #[serde(default, deserialize_with = "lenient::object_map")]
    pub(super) changes: BTreeMap<String, Change>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) invocation: Option<Invocation>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) server: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) tool: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) namespace: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) arguments: Option<Json>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) result: Option<ToolResult>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) error: Option<Json>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) content_items: Vec<Json>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) success: Option<bool>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) query: String,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) action: Option<WebSearchAction>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) path: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) revised_prompt: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) saved_path: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) user_facing_hint: String,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub(super) review_output: Review,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub(super) fragments: Vec<HookPromptFragment>,
    /// Of a sub-agent's activity: what it did.
    #[serde(default, rename = "kind", deserialize_with = "lenient::or_default")]
    pub(super) activity: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) agent_thread_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) receiver_thread_ids: Vec<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) prompt: Option<String>,
    #[serde(default, deserialize_with = "lenient::object_map")]
    pub(super) agents_states: BTreeMap<String, CollabAgentState>,
}

#[derive(Default, Deserialize)]
pub(super) struct Duration {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) secs: u64,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) nanos: u64,
}

#[derive(Default, Deserialize)]
pub(super) struct Change {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) content: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) unified_diff: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) move_path: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct Invocation {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) server: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) tool: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) arguments: Option<Json>,
}

/// The result itself (0.166), or one that says in a word of Rust's whether there is one (older).
#[derive(Default, Deserialize)]
pub(super) struct ToolResult {
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) content: Vec<Json>,
    #[serde(default, rename = "structuredContent", deserialize_with = "lenient::option")]
    pub(super) structured_content: Option<Json>,
    #[serde(default, rename = "isError", deserialize_with = "lenient::or_default")]
    pub(super) is_error: bool,
    #[serde(default, rename = "Ok", deserialize_with = "lenient::object")]
    pub(super) ok: Option<Box<ToolResult>>,
    #[serde(default, rename = "Err", deserialize_with = "lenient::option")]
    pub(super) err: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct Review {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(super) overall_explanation: String,
}

fn is_null<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(value)?.is_none())
}
