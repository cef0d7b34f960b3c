//! Nothing that JSON can hold makes a parser panic, and what we do not know survives.

use proptest::prelude::*;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::ask::{answer, ask};
use super::item::Item;
use super::thread::thread_id_of;
use super::versions::CodexVersion;
use super::{Notification, parse_notification, parse_server_request};
use crate::schema::reliance::{Part, messages};

/// Field names that our views look for, so that arbitrary objects hit them often.
const NAMES: &[&str] = &[
    "threadId",
    "turnId",
    "itemId",
    "item",
    "turn",
    "thread",
    "id",
    "type",
    "status",
    "error",
    "delta",
    "changes",
    "kind",
    "diff",
    "path",
    "codexErrorInfo",
    "tokenUsage",
    "last",
    "rateLimits",
    "primary",
    "availableDecisions",
    "questions",
    "permissions",
    "fileSystem",
    "entries",
    "_meta",
    "persist",
    "requestedSchema",
    "properties",
    "mode",
    "arguments",
    "content",
    "plan",
    "requestId",
    "threadSettings",
    "sandboxPolicy",
    "approvalPolicy",
    "granular",
    "command",
    "agentsStates",
];

const WORDS: &[&str] = &[
    "commandExecution",
    "fileChange",
    "agentMessage",
    "mcpToolCall",
    "completed",
    "active",
    "form",
    "update",
    "workspaceWrite",
    "text",
    "accept",
    "granular",
    "brandNew",
];

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        4 => prop::sample::select(NAMES).prop_map(ToOwned::to_owned),
        1 => ".{0,8}",
    ];
    prop::collection::btree_map(name, inner, 0..7)
        .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>()))
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}

proptest! {
    #[test]
    fn no_json_makes_a_parser_panic(value in prop_oneof![json(), object(json())]) {
        let raw = raw(&value);
        let version = CodexVersion::parse("0.166.0").unwrap();
        for message in messages().filter(|message| message.part != Part::Reply) {
            parse_notification(message.method, &raw);
            let request = parse_server_request(message.method, &raw);
            for decision in ask(&request).offers {
                prop_assert!(answer(&request, &decision, &version).is_ok(), "{decision:?}");
            }
        }
        if let Ok(item) = Item::parse(&raw) {
            prop_assert_eq!(item.raw.get(), raw.get());
        }
        thread_id_of(&raw);
    }

    #[test]
    fn fields_we_do_not_know_change_nothing(extra in json(), name in "x[a-z]{1,8}") {
        let item = json!({"type": "plan", "id": "i", "text": "t"});
        let params = json!({"threadId": "t", "turnId": "u", "item": item});
        let mut more = params.clone();
        more["item"][&name] = extra.clone();
        more[&name] = extra;
        let (params, more) = (raw(&params), raw(&more));

        let [plain, extended] = [&params, &more].map(|raw| {
            match parse_notification("item/completed", raw) {
                Notification::ItemCompleted(event) => (event.thread_id, event.item.body),
                other => panic!("{other:?}"),
            }
        });

        prop_assert_eq!(plain, extended);
    }

    #[test]
    fn an_item_of_any_kind_keeps_its_name_and_its_text(kind in "[a-zA-Z]{1,20}", body in json()) {
        let raw = raw(&json!({"type": kind, "id": "i", "body": body}));

        let item = Item::parse(&raw).unwrap();

        prop_assert_eq!((item.type_name.as_str(), item.raw.get()), (kind.as_str(), raw.get()));
    }

    #[test]
    fn a_turn_status_of_any_name_survives(word in "[a-z]{1,12}[A-Z]") {
        let raw = raw(&json!({"threadId": "t", "turn": {"id": "u", "status": word}}));

        match parse_notification("turn/completed", &raw) {
            Notification::TurnCompleted(event) => prop_assert_eq!(
                event.turn.status,
                Some(super::words::TurnStatus::Other(word))
            ),
            other => panic!("{other:?}"),
        }
    }
}
