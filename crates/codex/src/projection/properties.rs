//! What holds for any items in any order.

use std::collections::BTreeSet;

use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::item::{
    AgentMessage, Command, FileChange, Item, ItemBody, ItemEnd, Outcome, Reasoning, ToolCall,
    ToolPlace, UserMessage,
};
use ostler_model::message::Role;
use ostler_model::{Message, TurnId};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::{KnownInputs, Projector, project_thread, project_turn};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z\"\\\\\n ü]{0,12}",
        1 => ("[a-z\u{0}-\u{1f}\"ü€]{1,3}", 1_000..6_000_usize).prop_map(|(unit, times)| unit.repeat(times)),
    ]
}

/// Any JSON, deep and wide ones among it, and text that is none.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            vec((text(), inner), 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    });
    prop_oneof![
        8 => tree.prop_map(|value| value.to_string()),
        1 => Just("{broken".to_owned()),
        1 => (1..3_000_usize).prop_map(|depth| "[".repeat(depth) + &"]".repeat(depth)),
        1 => (1..9_000_usize).prop_map(|length| format!("[{}0]", "0,".repeat(length))),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Running),
        Just(Outcome::Succeeded),
        Just(Outcome::Failed),
        Just(Outcome::Declined),
        Just(Outcome::Unknown),
        Just(Outcome::Other("odd".to_owned())),
    ]
}

fn body() -> impl Strategy<Value = ItemBody> {
    let user = (text(), proptest::option::of("[ab]")).prop_map(|(text, input)| {
        let input = input.map(Into::into);
        ItemBody::UserMessage(UserMessage {
            text,
            attachments: vec![],
            input,
            ..UserMessage::default()
        })
    });
    let said = text()
        .prop_map(|text| ItemBody::AgentMessage(AgentMessage { text, ..AgentMessage::default() }));
    let thought = vec(text(), 0..3)
        .prop_map(|summary| ItemBody::Reasoning(Reasoning { summary, content: vec![] }));
    let command = (text(), text(), any::<Option<i8>>(), outcome()).prop_map(
        |(command, output, exit_code, outcome)| {
            let exit_code = exit_code.map(i64::from);
            ItemBody::Command(Command { command, output, exit_code, outcome, ..Command::default() })
        },
    );
    let change = (vec((text(), text()), 0..4), outcome()).prop_map(|(files, outcome)| {
        let file = |(path, diff)| FileDiff { path, change: FileChangeKind::Add, diff };
        ItemBody::FileChange(FileChange { files: files.into_iter().map(file).collect(), outcome })
    });
    let call = (
        any::<bool>(),
        text(),
        proptest::option::of(json()),
        proptest::option::of(json()),
        outcome(),
    )
        .prop_map(|(mcp, tool, arguments, result, outcome)| {
            let place = if mcp {
                ToolPlace::Mcp { server: tool.clone() }
            } else {
                ToolPlace::Client { namespace: None }
            };
            ItemBody::ToolCall(ToolCall {
                place,
                tool,
                arguments,
                result,
                error: None,
                succeeded: None,
                duration_ms: None,
                outcome,
            })
        });
    let other = json().prop_map(|json| ItemBody::Other { name: "new".to_owned(), json });
    let note = prop_oneof![
        Just(ItemBody::Compaction),
        text().prop_map(|review| ItemBody::ReviewEnded { review }),
    ];
    prop_oneof![user, said, thought, command, change, call, other, note]
}

fn items() -> impl Strategy<Value = Vec<(Item, ItemEnd)>> {
    let end = prop_oneof![
        8 => Just(ItemEnd::Reported),
        1 => Just(ItemEnd::Interrupted),
        1 => Just(ItemEnd::Superseded),
    ];
    // Few ids, so that they are shared often.
    let item = ("[ab]?|[a-z]{60,90}", body(), end);
    vec(item.prop_map(|(id, body, end)| (Item { id: id.into(), body }, end)), 0..24)
}

fn known() -> KnownInputs {
    KnownInputs { ids: ["a".into()].into(), prompt: Some("a".to_owned()) }
}

fn turn() -> TurnId {
    "turn".into()
}

fn check(messages: &[Message]) -> Result<(), TestCaseError> {
    let mut calls = BTreeSet::new();
    for pair in messages.windows(2) {
        prop_assert!(pair[0].role != pair[1].role, "{:?} twice", pair[0].role);
    }
    for (index, message) in messages.iter().enumerate() {
        let next = messages.get(index + 1);
        for call in &message.tool_calls {
            prop_assert!(calls.insert(call.id.clone()), "{} twice", call.id);
            prop_assert!(call.id.len() <= 64);
            prop_assert_eq!(next.and_then(|next| next.tool_call_id.as_ref()), Some(&call.id));
            let arguments = serde_json::from_str::<Value>(&call.function.arguments);
            prop_assert!(matches!(arguments, Ok(Value::Object(_))), "{}", call.function.arguments);
            prop_assert!(call.function.arguments.chars().count() <= 4_000);
        }
        prop_assert!(message.tool_calls.len() <= 1);
        if message.role == Role::Tool {
            let before = index.checked_sub(1).and_then(|before| messages.get(before));
            let call = before.and_then(|before| before.tool_calls.first());
            prop_assert_eq!(call.map(|call| &call.id), message.tool_call_id.as_ref());
        } else {
            prop_assert!(message.content.is_some() || !message.tool_calls.is_empty());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn roles_alternate_and_every_result_follows_its_call(items in items()) {
        check(&project_turn(&turn(), known(), &items))?;
    }

    #[test]
    fn a_thread_holds_together_across_its_turns(turns in vec(items(), 0..4)) {
        let ids: Vec<TurnId> = (0..turns.len()).map(|turn| format!("turn {turn}").into()).collect();
        check(&project_thread(ids.iter().zip(turns.iter().map(Vec::as_slice))))?;
    }

    #[test]
    fn items_told_again_later_change_nothing(items in items()) {
        let named: Vec<_> =
            items.into_iter().filter(|(item, _)| !item.id.as_str().is_empty()).collect();
        let twice: Vec<_> = named.iter().chain(&named).cloned().collect();
        // A repeated end of a review would make the next equal words a repetition; they are seen already all the same.
        prop_assert_eq!(
            project_turn(&turn(), known(), &twice),
            project_turn(&turn(), known(), &named)
        );
    }

    #[test]
    fn one_by_one_is_all_at_once_and_each_message_is_final(items in items()) {
        let whole = project_turn(&turn(), known(), &items);
        let mut projector = Projector::new(&turn(), known());
        let mut streamed = Vec::new();
        for (item, end) in &items {
            streamed.extend(projector.push(item, *end));
            prop_assert_eq!(&streamed[..], &whole[..streamed.len()]);
        }
        streamed.extend(projector.finish());
        prop_assert_eq!(streamed, whole);
    }

    #[test]
    fn cut_json_is_json_within_its_limit(json in json(), limit in 100..5_000_usize) {
        let cut = super::json::write(&super::json::read(&json), limit);
        prop_assert!(serde_json::from_str::<Value>(&cut).is_ok(), "{}", cut);
        prop_assert!(cut.chars().count() <= limit);
    }
}
