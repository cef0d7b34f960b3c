//! Real schemas have not drifted; mutated ones have, exactly where they were mutated.

use std::fs;

use ostler_codex::protocol::CodexVersion;
use ostler_codex::schema::reliance::Part;
use ostler_codex::schema::{Bundle, BundleError, Change, Drift, GenerateError, check, generate};
use serde_json::{Value, json};

use crate::codex_binary::{generated, schema_file, supported};

#[tokio::test]
async fn no_supported_version_has_drifted() {
    for version in supported() {
        let folder = generated(version).await;
        let bundle = Bundle::read(folder.path()).unwrap();

        let drifts = check(&bundle, &CodexVersion::parse(version).unwrap());

        let shown: Vec<_> = drifts.iter().map(ToString::to_string).collect();
        assert!(drifts.is_empty(), "{version}:\n{}", shown.join("\n"));
    }
}

/// The drifts of the newest version after its schema was changed.
async fn drifts_after(mutate: impl FnOnce(&mut Value)) -> Vec<Drift> {
    let folder = generated("0.166.0").await;
    let text = fs::read_to_string(schema_file(folder.path())).unwrap();
    let mut root: Value = serde_json::from_str(&text).unwrap();
    mutate(&mut root["definitions"]);
    check(&Bundle::from(root), &CodexVersion::parse("0.166.0").unwrap())
}

fn drift(part: Part, method: &'static str, path: &str, change: Change) -> Drift {
    Drift { method, part, path: path.into(), change }
}

fn remove(list: &mut Value, unwanted: impl Fn(&Value) -> bool) {
    let list = list.as_array_mut().unwrap();
    let before = list.len();
    list.retain(|element| !unwanted(element));
    assert_eq!(list.len(), before - 1);
}

/// The alternative of a definition whose `type` is this word.
fn tagged<'a>(definition: &'a mut Value, word: &str) -> &'a mut Value {
    let ways = definition["oneOf"].as_array_mut().unwrap();
    ways.iter_mut().find(|way| way["properties"]["type"]["enum"][0] == word).unwrap()
}

#[tokio::test]
async fn a_field_that_we_read_and_that_is_gone_is_named() {
    let drifts = drifts_after(|definitions| {
        definitions["v2"]["TurnSteerResponse"]["properties"]
            .as_object_mut()
            .unwrap()
            .remove("turnId");
    })
    .await;

    assert_eq!(drifts, [drift(Part::Reply, "turn/steer", "turnId", Change::Missing)]);
}

#[tokio::test]
async fn a_field_gone_from_one_kind_of_item_is_named_wherever_items_come() {
    let drifts = drifts_after(|definitions| {
        let command = tagged(&mut definitions["v2"]["ThreadItem"], "commandExecution");
        command["properties"].as_object_mut().unwrap().remove("exitCode");
    })
    .await;

    let path = "item<commandExecution>.exitCode";
    assert_eq!(
        drifts,
        [
            drift(Part::Notification, "item/started", path, Change::Missing),
            drift(Part::Notification, "item/completed", path, Change::Missing),
        ]
    );
}

#[tokio::test]
async fn a_changed_type_is_named_with_both_types() {
    let drifts = drifts_after(|definitions| {
        definitions["v2"]["AgentMessageDeltaNotification"]["properties"]["delta"] =
            json!({"type": ["integer", "array"]});
        definitions["v2"]["TurnInterruptParams"]["properties"]["turnId"] =
            json!({"type": "object"});
    })
    .await;

    let changed = |theirs: &str| Change::TypeChanged { ours: "text".into(), theirs: theirs.into() };
    assert_eq!(
        drifts,
        [
            drift(Part::Request, "turn/interrupt", "turnId", changed("object")),
            drift(
                Part::Notification,
                "item/agentMessage/delta",
                "delta",
                changed("list or integer")
            ),
        ]
    );
}

#[tokio::test]
async fn a_param_that_became_required_is_named() {
    let drifts = drifts_after(|definitions| {
        let params = &mut definitions["v2"]["TurnInterruptParams"];
        params["properties"]["why"] = json!({"type": "string"});
        params["required"].as_array_mut().unwrap().push(json!("why"));
    })
    .await;

    assert_eq!(drifts, [drift(Part::Request, "turn/interrupt", "why", Change::NowRequired)]);
}

#[tokio::test]
async fn a_field_that_we_need_and_that_became_optional_is_named() {
    let drifts = drifts_after(|definitions| {
        remove(&mut definitions["v2"]["TurnDiffUpdatedNotification"]["required"], |name| {
            name == "diff"
        });
    })
    .await;

    assert_eq!(
        drifts,
        [drift(Part::Notification, "turn/diff/updated", "diff", Change::NowOptional)]
    );
}

#[tokio::test]
async fn a_word_that_is_no_longer_accepted_is_named() {
    let drifts = drifts_after(|definitions| {
        remove(&mut definitions["v2"]["SandboxMode"]["enum"], |word| word == "workspace-write");
        remove(&mut definitions["FileChangeApprovalDecision"]["oneOf"], |way| {
            way["enum"][0] == "decline"
        });
    })
    .await;

    let sandbox = |method| {
        drift(Part::Request, method, "sandbox", Change::WordGone { word: "workspace-write" })
    };
    assert_eq!(
        drifts,
        [
            sandbox("thread/start"),
            sandbox("thread/resume"),
            sandbox("thread/fork"),
            drift(
                Part::Answer,
                "item/fileChange/requestApproval",
                "decision",
                Change::WordGone { word: "decline" }
            ),
        ]
    );
}

#[tokio::test]
async fn a_kind_of_item_that_was_renamed_is_named() {
    let drifts = drifts_after(|definitions| {
        let view = tagged(&mut definitions["v2"]["ThreadItem"], "imageView");
        view["properties"]["type"]["enum"] = json!(["pictureView"]);
    })
    .await;

    let gone = Change::WordGone { word: "imageView" };
    assert_eq!(
        drifts,
        [
            drift(Part::Notification, "item/started", "item", gone.clone()),
            drift(Part::Notification, "item/completed", "item", gone),
        ]
    );
}

#[tokio::test]
async fn an_amendment_in_another_shape_is_named() {
    let drifts = drifts_after(|definitions| {
        let ways = definitions["CommandExecutionApprovalDecision"]["oneOf"].as_array_mut().unwrap();
        let way = ways
            .iter_mut()
            .find(|way| way["properties"].get("acceptWithExecpolicyAmendment").is_some())
            .unwrap();
        let amendment = &mut way["properties"]["acceptWithExecpolicyAmendment"];
        let properties = amendment["properties"].as_object_mut().unwrap();
        let tokens = properties.remove("execpolicy_amendment").unwrap();
        properties.insert("execpolicyAmendment".into(), tokens);
        amendment["required"] = json!(["execpolicyAmendment"]);
    })
    .await;

    let path = "decision.acceptWithExecpolicyAmendment";
    let method = "item/commandExecution/requestApproval";
    assert_eq!(
        drifts,
        [
            drift(
                Part::ServerRequest,
                method,
                "availableDecisions[].acceptWithExecpolicyAmendment.execpolicy_amendment",
                Change::Missing
            ),
            drift(Part::Answer, method, &format!("{path}.execpolicy_amendment"), Change::Missing),
            drift(
                Part::Answer,
                method,
                &format!("{path}.execpolicyAmendment"),
                Change::NowRequired
            ),
        ]
    );
}

#[tokio::test]
async fn a_method_that_is_gone_is_named_for_both_of_its_halves() {
    let drifts = drifts_after(|definitions| {
        remove(&mut definitions["ClientRequest"]["oneOf"], |way| {
            way["properties"]["method"]["enum"][0] == "turn/steer"
        });
        remove(&mut definitions["ServerNotification"]["oneOf"], |way| {
            way["properties"]["method"]["enum"][0] == "turn/completed"
        });
    })
    .await;

    assert_eq!(
        drifts,
        [
            drift(Part::Request, "turn/steer", "", Change::MethodGone),
            drift(Part::Reply, "turn/steer", "", Change::MethodGone),
            drift(Part::Notification, "turn/completed", "", Change::MethodGone),
        ]
    );
}

#[tokio::test]
async fn params_where_there_were_none_are_named() {
    let drifts = drifts_after(|definitions| {
        let methods = definitions["ClientRequest"]["oneOf"].as_array_mut().unwrap();
        let read = methods
            .iter_mut()
            .find(|way| way["properties"]["method"]["enum"][0] == "account/rateLimits/read")
            .unwrap();
        read["properties"]["params"] = json!({"type": "object"});
    })
    .await;

    assert_eq!(drifts, [drift(Part::Request, "account/rateLimits/read", "", Change::NowRequired)]);
}

#[test]
fn a_drift_says_what_to_look_at() {
    let drift = drift(
        Part::Reply,
        "turn/steer",
        "turnId",
        Change::TypeChanged { ours: "text".into(), theirs: "integer".into() },
    );

    assert_eq!(
        drift.to_string(),
        "reply we read from turn/steer, `turnId`: we handle text, the schema says integer"
    );
}

#[test]
fn a_folder_without_a_schema_is_an_error_and_not_a_drift() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Bundle::read(folder.path());
    fs::write(schema_file(folder.path()), "{}").unwrap();
    let strange = Bundle::read(folder.path());

    assert!(matches!(missing, Err(BundleError::Unreadable { .. })));
    assert!(matches!(strange, Err(BundleError::Layout { group: "ClientRequest", .. })));
}

#[tokio::test]
async fn a_binary_that_fails_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let absent = generate(&folder.path().join("codex"), folder.path()).await;
    let failing = generate("/bin/false".as_ref(), folder.path()).await;

    assert!(matches!(absent, Err(GenerateError::Start { .. })));
    assert!(matches!(failing, Err(GenerateError::Failed { .. })));
}
