//! What Codex tells without being asked.

pub mod views;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient;
use views::{
    AccountUpdated, AutoReviewEvent, ConfigWarning, Delta, DeprecationNotice, ErrorNotice,
    FileChangePatch, GoalUpdated, ItemEvent, LoginCompleted, McpServerStatus, McpToolCallProgress,
    ModelRerouted, PartDelta, RateLimitsUpdated, RequestResolved, SummaryPartAdded,
    TerminalInteraction, ThreadCompacted, ThreadNamed, ThreadOnly, ThreadSettingsUpdated,
    ThreadStarted, ThreadStatusChanged, TokenUsageUpdated, TurnDiff, TurnEvent, TurnPlan, Warning,
};

/// One notification, by method. Deltas borrow from the message, because they are the volume.
#[derive(Debug, Clone, PartialEq)]
pub enum Notification<'a> {
    ThreadStarted(ThreadStarted),
    ThreadStatusChanged(ThreadStatusChanged),
    ThreadClosed(ThreadOnly),
    ThreadArchived(ThreadOnly),
    ThreadTokenUsageUpdated(TokenUsageUpdated),
    ThreadSettingsUpdated(ThreadSettingsUpdated),
    ThreadCompacted(ThreadCompacted),
    ThreadNameUpdated(ThreadNamed),
    ThreadGoalUpdated(GoalUpdated),
    ThreadGoalCleared(ThreadOnly),
    AutoReviewStarted(AutoReviewEvent),
    AutoReviewCompleted(AutoReviewEvent),
    TurnStarted(TurnEvent),
    TurnCompleted(TurnEvent),
    TurnDiffUpdated(TurnDiff<'a>),
    TurnPlanUpdated(TurnPlan),
    ItemStarted(ItemEvent<'a>),
    ItemCompleted(ItemEvent<'a>),
    AgentMessageDelta(Delta<'a>),
    ReasoningTextDelta(PartDelta<'a>),
    ReasoningSummaryTextDelta(PartDelta<'a>),
    ReasoningSummaryPartAdded(SummaryPartAdded),
    PlanDelta(Delta<'a>),
    CommandOutputDelta(Delta<'a>),
    TerminalInteraction(TerminalInteraction),
    FileChangeOutputDelta(Delta<'a>),
    FileChangePatchUpdated(FileChangePatch),
    McpToolCallProgress(McpToolCallProgress),
    McpServerStatusUpdated(McpServerStatus),
    ServerRequestResolved(RequestResolved),
    Error(ErrorNotice),
    Warning(Warning),
    ConfigWarning(ConfigWarning),
    DeprecationNotice(DeprecationNotice),
    AccountRateLimitsUpdated(RateLimitsUpdated),
    AccountUpdated(AccountUpdated),
    AccountLoginCompleted(LoginCompleted),
    ModelRerouted(ModelRerouted),
    /// A method we know, in a shape we cannot use: not an object, or without the id that says what it is about.
    Unreadable {
        method: &'a str,
        reason: String,
    },
    /// A method we do not use.
    Other {
        method: &'a str,
    },
}

/// Reads one notification. Never fails: the raw message stays with the caller whatever comes out.
pub fn parse_notification<'a>(method: &'a str, params: &'a RawValue) -> Notification<'a> {
    let parsed = match method {
        "item/agentMessage/delta" => read(params).map(Notification::AgentMessageDelta),
        "item/commandExecution/outputDelta" => read(params).map(Notification::CommandOutputDelta),
        "item/reasoning/textDelta" => {
            PartDelta::parse(params).map(Notification::ReasoningTextDelta)
        }
        "item/reasoning/summaryTextDelta" => {
            PartDelta::parse(params).map(Notification::ReasoningSummaryTextDelta)
        }
        "item/reasoning/summaryPartAdded" => {
            read(params).map(Notification::ReasoningSummaryPartAdded)
        }
        "item/plan/delta" => read(params).map(Notification::PlanDelta),
        "item/fileChange/outputDelta" => read(params).map(Notification::FileChangeOutputDelta),
        "item/fileChange/patchUpdated" => read(params).map(Notification::FileChangePatchUpdated),
        "item/commandExecution/terminalInteraction" => {
            read(params).map(Notification::TerminalInteraction)
        }
        "item/mcpToolCall/progress" => read(params).map(Notification::McpToolCallProgress),
        "item/started" => ItemEvent::parse(params).map(Notification::ItemStarted),
        "item/completed" => ItemEvent::parse(params).map(Notification::ItemCompleted),
        "turn/started" => read(params).map(Notification::TurnStarted),
        "turn/completed" => read(params).map(Notification::TurnCompleted),
        "turn/diff/updated" => read(params).map(Notification::TurnDiffUpdated),
        "turn/plan/updated" => read(params).map(Notification::TurnPlanUpdated),
        "thread/started" => read(params).map(Notification::ThreadStarted),
        "thread/status/changed" => read(params).map(Notification::ThreadStatusChanged),
        "thread/closed" => read(params).map(Notification::ThreadClosed),
        "thread/archived" => read(params).map(Notification::ThreadArchived),
        "thread/tokenUsage/updated" => read(params).map(Notification::ThreadTokenUsageUpdated),
        "thread/settings/updated" => read(params).map(Notification::ThreadSettingsUpdated),
        "thread/compacted" => read(params).map(Notification::ThreadCompacted),
        "thread/name/updated" => read(params).map(Notification::ThreadNameUpdated),
        "thread/goal/updated" => read(params).map(Notification::ThreadGoalUpdated),
        "thread/goal/cleared" => read(params).map(Notification::ThreadGoalCleared),
        "item/autoApprovalReview/started" => read(params).map(Notification::AutoReviewStarted),
        "item/autoApprovalReview/completed" => read(params).map(Notification::AutoReviewCompleted),
        "mcpServer/startupStatus/updated" => read(params).map(Notification::McpServerStatusUpdated),
        "serverRequest/resolved" => read(params).map(Notification::ServerRequestResolved),
        "error" => read(params).map(Notification::Error),
        "warning" => read(params).map(Notification::Warning),
        "configWarning" => read(params).map(Notification::ConfigWarning),
        "deprecationNotice" => read(params).map(Notification::DeprecationNotice),
        "account/rateLimits/updated" => read(params).map(Notification::AccountRateLimitsUpdated),
        "account/updated" => read(params).map(Notification::AccountUpdated),
        "account/login/completed" => read(params).map(Notification::AccountLoginCompleted),
        "model/rerouted" => read(params).map(Notification::ModelRerouted),
        _ => return Notification::Other { method },
    };
    parsed.unwrap_or_else(|reason| Notification::Unreadable { method, reason })
}

fn read<'a, T: Deserialize<'a>>(params: &'a RawValue) -> Result<T, String> {
    lenient::message(params).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::value::RawValue;

    use super::views::Delta;
    use super::{Notification, parse_notification};

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.into()).unwrap()
    }

    #[test]
    fn a_delta_borrows_its_text_from_the_message() {
        let params = raw(r#"{"threadId":"t","turnId":"u","itemId":"i","delta":"plain"}"#);

        let Notification::AgentMessageDelta(Delta { delta, item_id, .. }) =
            parse_notification("item/agentMessage/delta", &params)
        else {
            panic!("not a delta");
        };

        assert!(matches!((delta, item_id), (Cow::Borrowed("plain"), Cow::Borrowed("i"))), "copied");
    }

    #[test]
    fn a_known_method_without_its_thread_is_unreadable_and_says_why() {
        let params = raw(r#"{"itemId":"i","delta":"x"}"#);

        let Notification::Unreadable { method, reason } =
            parse_notification("item/agentMessage/delta", &params)
        else {
            panic!("was read");
        };

        assert_eq!(method, "item/agentMessage/delta");
        assert!(reason.starts_with("missing field `threadId`"), "{reason}");
    }

    #[test]
    fn a_method_we_do_not_know_is_passed_on_by_name() {
        assert_eq!(
            parse_notification("moon/phase/changed", &raw("[1]")),
            Notification::Other { method: "moon/phase/changed" }
        );
    }
}
