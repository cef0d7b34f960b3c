//! Items: the steps of a turn.

pub mod body;

use std::fmt;

use ostler_model::ItemId;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient;
use body::{
    AgentMessage, CollabAgentToolCall, CommandExecution, DynamicToolCall, FileChange,
    FunctionCallOutput, HookPrompt, ImageGeneration, ImageView, McpToolCall, Plan, Reasoning,
    ReviewMode, Sleep, SubAgentActivity, UserMessage, WebSearch,
};

/// One item with its raw text.
///
/// The id is unique only together with thread and turn: commands carry the call id the model chose.
#[derive(Clone)]
pub struct Item<'a> {
    pub id: ItemId,
    /// Codex's own name of the kind, also for kinds we do not know.
    pub type_name: String,
    pub body: ItemBody,
    pub raw: &'a RawValue,
}

/// What kind of step an item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemBody {
    UserMessage(UserMessage),
    AgentMessage(AgentMessage),
    Reasoning(Reasoning),
    Plan(Plan),
    CommandExecution(CommandExecution),
    FileChange(FileChange),
    McpToolCall(McpToolCall),
    DynamicToolCall(DynamicToolCall),
    CollabAgentToolCall(CollabAgentToolCall),
    SubAgentActivity(SubAgentActivity),
    WebSearch(WebSearch),
    ImageView(ImageView),
    ImageGeneration(ImageGeneration),
    Sleep(Sleep),
    FunctionCallOutput(FunctionCallOutput),
    HookPrompt(HookPrompt),
    EnteredReviewMode(ReviewMode),
    ExitedReviewMode(ReviewMode),
    ContextCompaction,
    /// A kind we do not know; everything about it is in the raw text.
    Other,
}

/// The JSON of an item has no kind or no id, so it cannot be told from others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("item without a readable type and id: {reason}")]
pub struct UnreadableItem {
    pub reason: String,
}

impl<'a> Item<'a> {
    pub fn parse(raw: &'a RawValue) -> Result<Self, UnreadableItem> {
        let header: Header = read(raw)?;
        let body = match header.type_name.as_str() {
            "userMessage" => ItemBody::UserMessage(read(raw)?),
            "agentMessage" => ItemBody::AgentMessage(read(raw)?),
            "reasoning" => ItemBody::Reasoning(read(raw)?),
            "plan" => ItemBody::Plan(read(raw)?),
            "commandExecution" => ItemBody::CommandExecution(read(raw)?),
            "fileChange" => ItemBody::FileChange(read(raw)?),
            "mcpToolCall" => ItemBody::McpToolCall(read(raw)?),
            "dynamicToolCall" => ItemBody::DynamicToolCall(read(raw)?),
            "collabAgentToolCall" => ItemBody::CollabAgentToolCall(read(raw)?),
            "subAgentActivity" => ItemBody::SubAgentActivity(read(raw)?),
            "webSearch" => ItemBody::WebSearch(read(raw)?),
            "imageView" => ItemBody::ImageView(read(raw)?),
            "imageGeneration" => ItemBody::ImageGeneration(read(raw)?),
            "sleep" => ItemBody::Sleep(read(raw)?),
            "functionCallOutput" => ItemBody::FunctionCallOutput(read(raw)?),
            "hookPrompt" => ItemBody::HookPrompt(read(raw)?),
            "enteredReviewMode" => ItemBody::EnteredReviewMode(read(raw)?),
            "exitedReviewMode" => ItemBody::ExitedReviewMode(read(raw)?),
            "contextCompaction" => ItemBody::ContextCompaction,
            _ => ItemBody::Other,
        };
        Ok(Self { id: header.id, type_name: header.type_name, body, raw })
    }
}

impl PartialEq for Item<'_> {
    /// The raw text holds everything the other fields say.
    fn eq(&self, other: &Self) -> bool {
        self.raw.get() == other.raw.get()
    }
}

impl fmt::Debug for Item<'_> {
    /// Leaves the raw text out: it repeats the body and may be megabytes.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Item")
            .field("id", &self.id)
            .field("type_name", &self.type_name)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Header {
    id: ItemId,
    #[serde(rename = "type")]
    type_name: String,
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, UnreadableItem> {
    lenient::message(raw).map_err(|error| UnreadableItem { reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::body::{CommandExecution, McpToolCall};
    use super::{Item, ItemBody};
    use crate::protocol::words::ItemStatus;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.into()).unwrap()
    }

    #[test]
    fn an_item_of_an_unknown_kind_keeps_its_name_and_its_text() {
        let text = r#"{"type":"holodeck","id":"i1","scene":{"a":[1,2]}}"#;
        let raw = raw(text);

        let item = Item::parse(&raw).unwrap();

        assert_eq!(
            (item.id.as_str(), item.type_name.as_str(), &item.body, item.raw.get()),
            ("i1", "holodeck", &ItemBody::Other, text)
        );
    }

    #[test]
    fn a_field_of_an_unexpected_type_leaves_the_rest_of_the_item_readable() {
        let raw = raw(
            r#"{"type":"commandExecution","id":"c","command":["argv"],"status":"paused","exitCode":"zero","cwd":"/w"}"#,
        );

        assert_eq!(
            Item::parse(&raw).unwrap().body,
            ItemBody::CommandExecution(CommandExecution {
                cwd: Some("/w".into()),
                status: Some(ItemStatus::Other("paused".into())),
                ..CommandExecution::default()
            })
        );
    }

    #[test]
    fn a_tool_call_keeps_arguments_and_result_as_they_came() {
        let raw = raw(
            r#"{"type":"mcpToolCall","id":"m","server":"s","tool":"t","arguments":{"a": 1.0},"status":"failed","error":{"message":"no"},"durationMs":5}"#,
        );

        let ItemBody::McpToolCall(McpToolCall { arguments, error, .. }) =
            Item::parse(&raw).unwrap().body
        else {
            panic!("not a tool call");
        };

        assert_eq!(
            (arguments.unwrap().text(), error.unwrap().message.as_str()),
            (r#"{"a": 1.0}"#, "no")
        );
    }

    #[test]
    fn what_has_no_type_or_no_id_is_no_item() {
        for text in ["3", "{}", r#"{"type":"plan"}"#, r#"{"id":"x"}"#, r#"{"id":1,"type":"plan"}"#]
        {
            assert!(Item::parse(&raw(text)).is_err(), "{text}");
        }
    }
}
