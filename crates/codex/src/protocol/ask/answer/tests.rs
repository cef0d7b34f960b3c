//! The answers in these tests were given to Codex 0.130.0, 0.142.5 and 0.166.0 and had the effect their names say; those
//! about network hosts, addresses and legacy requests were never asked for and follow the schemas.

use std::collections::BTreeMap;

use ostler_model::QuestionId;
use ostler_model::ask::Permissions;
use ostler_model::decision::{GrantHolds, Remember, ToolOutput};
use ostler_model::form::FormValue;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::{AnswerError, Decision, answer};
use crate::protocol::server_request::parse_server_request;
use crate::protocol::versions::CodexVersion;

fn answered(method: &str, params: &Value, decision: &Decision) -> Result<Value, AnswerError> {
    answered_by("0.166.0", method, params, decision)
}

fn answered_by(
    version: &str,
    method: &str,
    params: &Value,
    decision: &Decision,
) -> Result<Value, AnswerError> {
    let raw = to_raw_value(params).unwrap();
    let version = CodexVersion::parse(version).unwrap();
    answer(&parse_server_request(method, &raw), decision, &version)
}

#[test]
fn a_command_is_answered_with_a_word_or_an_amendment() {
    let params = json!({
        "command": "mkdir x",
        "proposedExecpolicyAmendment": ["mkdir"],
        "proposedNetworkPolicyAmendments": [{"host": "h", "action": "deny"}],
    });
    let prefix = Remember::CommandPrefix(vec!["mkdir".into()]);
    let host = Remember::Host { host: "h".into(), allowed: false };

    let replies = [
        Decision::Once,
        Decision::Session,
        Decision::Always(prefix),
        Decision::Always(host),
        Decision::Deny,
        Decision::Cancel,
    ]
    .map(|decision| answered("item/commandExecution/requestApproval", &params, &decision).unwrap());

    assert_eq!(
        replies,
        [
            json!({"decision": "accept"}),
            json!({"decision": "acceptForSession"}),
            json!({"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["mkdir"]}}}),
            json!({"decision": {"applyNetworkPolicyAmendment": {
                "network_policy_amendment": {"host": "h", "action": "deny"}
            }}}),
            json!({"decision": "decline"}),
            json!({"decision": "cancel"}),
        ]
    );
}

#[test]
fn a_decision_that_is_not_offered_is_never_sent() {
    let params = json!({"command": "mkdir x", "availableDecisions": ["accept", "cancel"]});
    let refused = |decision| {
        matches!(
            answered("item/commandExecution/requestApproval", &params, &decision),
            Err(AnswerError::NotOffered)
        )
    };

    assert!(refused(Decision::Answers(BTreeMap::new())));
    assert!(refused(Decision::Always(Remember::CommandPrefix(vec!["mkdir".into()]))));
    // Codex honours these two although it does not list them.
    assert!(!refused(Decision::Session));
    assert!(!refused(Decision::Deny));
}

#[test]
fn a_file_change_is_answered_with_a_word() {
    let replies =
        [Decision::Once, Decision::Session, Decision::Deny, Decision::Cancel].map(|decision| {
            answered("item/fileChange/requestApproval", &json!({}), &decision).unwrap()
        });

    assert_eq!(
        replies,
        ["accept", "acceptForSession", "decline", "cancel"].map(|word| json!({"decision": word}))
    );
}

#[test]
fn permissions_are_granted_as_asked_or_less_and_never_more() {
    let entry = json!({"path": {"type": "path", "path": "/a"}, "access": "write"});
    let wanted = json!({
        "network": {"enabled": true},
        "fileSystem": {"read": null, "write": ["/a", "/b"], "entries": [entry]},
    });
    let params = json!({"permissions": wanted});
    let method = "item/permissions/requestApproval";
    let grant = |permissions| Decision::Grant { permissions, holds: GrantHolds::Session };
    let less = Permissions { write: vec!["/b".into()], ..Permissions::default() };
    let more = Permissions { write: vec!["/".into()], ..Permissions::default() };

    assert_eq!(
        answered(method, &params, &Decision::Once).unwrap(),
        json!({
            "permissions": {
                "network": {"enabled": true},
                "fileSystem": {"write": ["/a", "/b"], "entries": [entry]},
            },
            "scope": "turn",
        })
    );
    assert_eq!(
        answered(method, &params, &grant(less)).unwrap(),
        json!({"permissions": {"fileSystem": {"write": ["/b"]}}, "scope": "session"})
    );
    assert_eq!(
        answered(method, &params, &Decision::Deny).unwrap(),
        json!({"permissions": {}, "scope": "turn"})
    );
    assert!(matches!(answered(method, &params, &grant(more)), Err(AnswerError::NotOffered)));
}

#[test]
fn questions_are_answered_by_their_ids() {
    let params = json!({"questions": [{"id": "q1", "question": "Which?"}]});
    let answers = BTreeMap::from([(QuestionId::new("q1"), vec!["A".to_owned()])]);
    let method = "item/tool/requestUserInput";

    assert_eq!(
        [Decision::Answers(answers), Decision::Deny]
            .map(|decision| answered(method, &params, &decision).unwrap()),
        [json!({"answers": {"q1": {"answers": ["A"]}}}), json!({"answers": {}})]
    );
}

#[test]
fn an_mcp_tool_is_approved_once_or_for_longer() {
    let params = json!({
        "mode": "form",
        "_meta": {"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"]},
        "requestedSchema": {"type": "object", "properties": {}},
    });
    let method = "mcpServer/elicitation/request";

    assert_eq!(
        [
            Decision::Once,
            Decision::Session,
            Decision::Always(Remember::Tool),
            Decision::Deny,
            Decision::Cancel
        ]
        .map(|decision| answered(method, &params, &decision).unwrap()),
        [
            json!({"action": "accept", "content": {}, "_meta": null}),
            json!({"action": "accept", "content": {}, "_meta": {"persist": "session"}}),
            json!({"action": "accept", "content": {}, "_meta": {"persist": "always"}}),
            json!({"action": "decline", "content": null, "_meta": null}),
            json!({"action": "cancel", "content": null, "_meta": null}),
        ]
    );
}

#[test]
fn a_form_is_answered_with_its_fields_and_an_address_with_consent() {
    let form = json!({
        "mode": "form",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    });
    let url = json!({"mode": "url", "url": "https://example.test"});
    let method = "mcpServer/elicitation/request";
    let filled = Decision::Form(BTreeMap::from([("name".into(), FormValue::Text("Ada".into()))]));

    assert_eq!(
        answered(method, &form, &filled).unwrap(),
        json!({"action": "accept", "content": {"name": "Ada"}, "_meta": null})
    );
    assert_eq!(
        answered(method, &url, &Decision::Once).unwrap(),
        json!({"action": "accept", "content": null, "_meta": null})
    );
    assert!(answered(method, &url, &filled).is_err());
    assert!(answered(method, &form, &Decision::Once).is_err());
}

#[test]
fn a_tool_of_ours_returns_its_output_or_says_it_was_refused() {
    let params = json!({"callId": "c", "tool": "weather", "arguments": {}});
    let outputs = vec![ToolOutput::Text("sunny".into()), ToolOutput::ImageUrl("data:x".into())];
    let method = "item/tool/call";

    assert_eq!(
        [Decision::ToolResult { succeeded: true, outputs }, Decision::Deny]
            .map(|decision| answered(method, &params, &decision).unwrap()),
        [
            json!({
                "contentItems": [
                    {"type": "inputText", "text": "sunny"},
                    {"type": "inputImage", "imageUrl": "data:x"},
                ],
                "success": true,
            }),
            json!({
                "contentItems": [{"type": "inputText", "text": "the tool could not be run"}],
                "success": false,
            }),
        ]
    );
}

#[test]
fn a_legacy_approval_is_refused_in_the_spelling_of_the_version() {
    let refuse =
        |version| answered_by(version, "execCommandApproval", &json!({}), &Decision::Deny).unwrap();

    assert_eq!(
        [refuse("0.142.5"), refuse("0.166.0")],
        [
            json!({"decision": "denied"}),
            json!({"decision": {"denied": {"rejection": "refused by the user"}}}),
        ]
    );
}

#[test]
fn what_only_a_program_can_answer_takes_no_decision() {
    for method in [
        "account/chatgptAuthTokens/refresh",
        "attestation/generate",
        "currentTime/read",
        "moon/phase",
    ] {
        assert!(matches!(
            answered(method, &json!({}), &Decision::Deny),
            Err(AnswerError::NotForPeople)
        ));
    }
}
