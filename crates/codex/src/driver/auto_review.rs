//! What Codex says of its own automatic reviewer, in our words.

use ostler_model::AutoReview;
use ostler_model::auto_review::AutoVerdict;

use crate::protocol::notification::views::{AutoReviewEvent, ReviewedAction};

pub(super) fn auto_review(event: &AutoReviewEvent) -> AutoReview {
    let verdict = match event.review.status.as_str() {
        "inProgress" => AutoVerdict::InProgress,
        "timedOut" => AutoVerdict::TimedOut,
        word => AutoVerdict::from(word.to_owned()),
    };
    AutoReview {
        id: event.review_id.clone(),
        item: event.target_item_id.clone(),
        verdict,
        action: action(&event.action),
        rationale: event.review.rationale.clone(),
        risk: event.review.risk_level.clone(),
    }
}

fn action(action: &ReviewedAction) -> String {
    match action {
        ReviewedAction::Command { command } => format!("`{command}`"),
        ReviewedAction::Execve { argv } => format!("`{}`", argv.join(" ")),
        ReviewedAction::WriteStdin { stdin } => format!("the input {stdin:?} to a command"),
        ReviewedAction::ApplyPatch { files } => format!("the change of {}", files.join(", ")),
        ReviewedAction::NetworkAccess { target } => format!("access to {target}"),
        ReviewedAction::McpToolCall { server, tool_name } => format!("{tool_name} of {server}"),
        ReviewedAction::RequestPermissions { reason: Some(reason) } => {
            format!("more permissions ({reason})")
        }
        ReviewedAction::RequestPermissions { reason: None } => "more permissions".to_owned(),
        ReviewedAction::Unknown => "an action of an unknown kind".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::auto_review;
    use crate::protocol::{Notification, parse_notification};

    #[test]
    fn each_kind_of_action_is_said_in_one_line() {
        let table = [
            (r#"{"type":"command","command":"rm x","cwd":"/w","source":"shell"}"#, "`rm x`"),
            (r#"{"type":"execve","argv":["rm","x"],"program":"/bin/rm"}"#, "`rm x`"),
            (
                r#"{"type":"applyPatch","cwd":"/w","files":["/w/a","/w/b"]}"#,
                "the change of /w/a, /w/b",
            ),
            (
                r#"{"type":"networkAccess","host":"a.b","target":"https://a.b"}"#,
                "access to https://a.b",
            ),
            (r#"{"type":"mcpToolCall","server":"s","toolName":"t"}"#, "t of s"),
            (r#"{"type":"requestPermissions","permissions":{}}"#, "more permissions"),
            (r#"{"type":"moon"}"#, "an action of an unknown kind"),
        ];
        for (action, said) in table {
            let params = format!(
                r#"{{"threadId":"t","turnId":"u","reviewId":"r","review":{{"status":"denied"}},"action":{action}}}"#
            );
            let params = RawValue::from_string(params).unwrap();
            let Notification::AutoReviewCompleted(event) =
                parse_notification("item/autoApprovalReview/completed", &params)
            else {
                panic!("not read: {action}");
            };
            assert_eq!(auto_review(&event).action, said);
        }
    }
}
