//! What must never be written, and what must stay as it is.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const PLAIN: Context<'static> = Context { result: Secrecy::Open, stream: None };

fn redactor(known: &[&str]) -> Redactor {
    let secrets = Secrets::default();
    for value in known {
        assert!(secrets.add(value));
    }
    Redactor::new(secrets)
}

fn redacted(text: &str) -> String {
    redactor(&["hunter2hunter2", "käse"]).json(text, PLAIN).into_owned()
}

#[test]
fn secrets_go_and_everything_else_stays_as_it_was_written() {
    let table = [
        (r#"{"apiKey" : "x" ,"n":1e2, "b":"é"}"#, r#"{"apiKey" : "‹redacted›" ,"n":1e2, "b":"é"}"#),
        (
            r#"{"env":{"A":"x","B":["y",1]},"c":"d"}"#,
            r#"{"env":{"A":"‹redacted›","B":["‹redacted›",1]},"c":"d"}"#,
        ),
        (
            r#"{"config":{"mcp_servers.a.env.FOO":"x"}}"#,
            r#"{"config":{"mcp_servers.a.env.FOO":"‹redacted›"}}"#,
        ),
        (
            r#"{"password":1234,"inputTokens":12,"token":null}"#,
            r#"{"password":0,"inputTokens":12,"token":null}"#,
        ),
        (r#"{"isSecret":true,"token":""}"#, r#"{"isSecret":true,"token":""}"#),
        (r#"["a\nsk-abcdefghijklmnop\t"]"#, r#"["a\n‹redacted›\t"]"#),
        ("[\"\\u0073k-abcdefghijklmnop \\ud800\"]", "[\"‹redacted› \u{fffd}\"]"),
        ("[\"a \\u0068unter2hunter2\"]", r#"["a ‹redacted›"]"#),
        (r#"{"a hunter2hunter2":1}"#, r#"{"a ‹redacted›":1}"#),
        (r#"["käse","käsekuchen"]"#, r#"["‹redacted›","käsekuchen"]"#),
        (
            r#"{"arguments":"{\"api_key\": \"x\"}"}"#,
            r#"{"arguments":"{\"api_key\": \"‹redacted›\"}"}"#,
        ),
        (r#"{"\u0074oken":"x"}"#, r#"{"\u0074oken":"‹redacted›"}"#),
    ];
    for (text, expected) in table {
        assert_eq!(redacted(text), expected);
    }
}

#[test]
fn only_the_result_of_a_secret_answer_is_hidden() {
    let context = Context { result: Secrecy::StringsAndNumbers, stream: None };
    let answer = r#"{"id":"a","result":{"answers":{"q":{"answers":["A",7]}}}}"#;
    let hidden = r#"{"id":"a","result":{"answers":{"q":{"answers":["‹redacted›",0]}}}}"#;
    assert_eq!(redactor(&[]).json(answer, context), hidden);
}

#[test]
fn text_that_is_no_json_is_redacted_too() {
    let text = |text: &str| redactor(&["hunter2hunter2"]).text(text).into_owned();
    assert_eq!(text(r#"{"a":{"env":{"X":"canary"#), "{\"a\":{\"env\":{\"X\":\"‹redacted›\"");
    assert_eq!(
        text("warning: hunter2hunter2 \"token\":\"x\""),
        "warning: ‹redacted› \"token\":\"‹redacted›\""
    );
    assert_eq!(text("plain \u{fffd} text"), "plain \u{fffd} text");
}

/// A token cut anywhere: all that is written of it is the sign by which it is known.
#[test]
fn a_token_that_comes_in_pieces_is_hidden() {
    let known = "Parsifal-am-Montag";
    for (said, shown) in [
        ("use sk-0123456789abcdefghij now", "use sk-"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY----- ok",
            "-----BEGIN RSA PRIVATE KEY-----",
        ),
        ("curl -H 'Bearer Abc123Def456'", "curl -H 'Bearer "),
        ("export MY_API_KEY=Def456 x", "export MY_API_KEY="),
        ("{\"token\": \"Def456\"}", "{\"token\": \""),
        ("it is Parsifal-am-Montag, you know", "it is Pars"),
    ] {
        for size in 1..said.len() {
            let mut redactor = redactor(&[known]);
            let mut pieces = Vec::new();
            for piece in said.as_bytes().chunks(size) {
                let piece = std::str::from_utf8(piece).unwrap();
                let line = json!({"method": "m", "params": {"delta": piece}}).to_string();
                let context = Context { result: Secrecy::Open, stream: Some("s") };
                let written: Value = serde_json::from_str(&redactor.json(&line, context)).unwrap();
                pieces.push(written["params"]["delta"].as_str().unwrap().replace(REDACTED, "•"));
            }
            let written = pieces.concat();
            let start = written.split('•').next().unwrap();
            assert!(shown.starts_with(start), "{said:?} by {size}: {written:?}");
            for secret in ["6789", "MIIabc", "Def456", "Montag"] {
                assert!(!written.contains(secret), "{said:?} by {size}: {written:?}");
            }
        }
    }
}

/// Every line that real Codex wrote, with what is known to be hidden in them.
#[test]
fn recorded_lines_stay_as_they_are() {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
    let mut hidden: BTreeMap<String, usize> = BTreeMap::new();
    let mut lines = 0;
    for version in ["0.130.0", "0.142.5", "0.166.0"] {
        for entry in fs::read_dir(format!("{recorded}/{version}")).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            for line in text.lines() {
                lines += 1;
                let written = redactor(&[]).json(line, PLAIN).into_owned();
                if written != line {
                    *hidden.entry(written).or_default() += 1;
                }
            }
        }
    }
    assert!(lines > 500, "{lines} lines");
    assert_eq!(hidden, BTreeMap::new());
}

const CANARY: &str = "CaNaRy";

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z äöü\"\\\\\n]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn secret_name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "accessToken",
        "refresh_token",
        "API_KEY",
        "apiKey",
        "Authorization",
        "password",
        "clientSecret",
        "env",
        "http_headers",
        "mcp_servers.a.env",
        "OPENAI_API_KEY",
        "token",
        "x-api-key",
        "privateKey",
    ])
    .prop_map(str::to_owned)
}

/// Puts the canary under the name, somewhere in the tree.
fn plant(tree: &mut Value, path: &[usize], name: &str, canary: &Value) {
    match (tree, path.split_first()) {
        (Value::Array(list), Some((at, rest))) if !list.is_empty() => {
            let at = at % list.len();
            plant(&mut list[at], rest, name, canary);
        }
        (Value::Object(map), Some((at, rest))) if !map.is_empty() => {
            let at = at % map.len();
            plant(map.values_mut().nth(at).unwrap(), rest, name, canary);
        }
        (Value::Object(map), _) => drop(map.insert(name.to_owned(), canary.clone())),
        (other, _) => *other = json!({ name: canary }),
    }
}

/// The same tree with every leaf replaced by its kind.
fn shape(tree: &Value) -> Value {
    match tree {
        Value::Array(list) => list.iter().map(shape).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, value)| (name.clone(), shape(value))).collect()
        }
        Value::String(_) => "text".into(),
        Value::Number(_) => 0.into(),
        Value::Bool(_) => false.into(),
        Value::Null => Value::Null,
    }
}

proptest! {
    #[test]
    fn without_secrets_nothing_changes(tree in any_json(), pretty in any::<bool>()) {
        let text = if pretty { format!("{tree:#}") } else { tree.to_string() };
        let written = redactor(&[]).json(&text, PLAIN).into_owned();
        prop_assert_eq!(written, text);
    }

    #[test]
    fn a_canary_under_a_secret_name_never_shows(
        mut tree in any_json(),
        path in prop::collection::vec(0_usize..8, 0..6),
        name in secret_name(),
        canary in prop_oneof![
            Just(json!(CANARY)),
            Just(json!([CANARY, {"a": format!("\"{CANARY}\\")}])),
            Just(json!({"a": CANARY, "b": {"c": [format!("x\n{CANARY}")]}})),
        ],
    ) {
        plant(&mut tree, &path, &name, &canary);
        for text in [tree.to_string(), format!("{tree:#}")] {
            let written = redactor(&[]).json(&text, PLAIN).into_owned();
            prop_assert!(!written.contains(CANARY), "{}", written);
            let read: Value = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(shape(&read), shape(&tree));
        }
    }

    /// Also when the message is torn, or packed as text into another one.
    #[test]
    fn a_canary_in_a_torn_message_never_shows(
        mut tree in any_json(),
        path in prop::collection::vec(0_usize..8, 0..6),
        name in secret_name(),
        cut in 0_usize..400,
    ) {
        tree = json!({ "params": tree });
        plant(&mut tree, &path, &name, &json!(CANARY));
        let text = tree.to_string();
        let torn = &text[..text.floor_char_boundary(cut)];
        let written = redactor(&[]).text(torn).into_owned();
        prop_assert!(!written.contains(CANARY), "{}", written);
        let packed = json!({ "arguments": text }).to_string();
        let written = redactor(&[]).json(&packed, PLAIN).into_owned();
        prop_assert!(!written.contains(CANARY), "{}", written);
        let read: Value = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(shape(&read), shape(&json!({ "arguments": "" })));
    }

    #[test]
    fn no_text_breaks_it(text in "\\PC{0,60}", raw in "[\"\\\\{}:,u0-9a \n-]{0,40}") {
        for text in [text, raw] {
            redactor(&["käse"]).text(&text);
            redactor(&["käse"]).json(&text, Context { result: Secrecy::Strings, stream: Some("s") });
        }
    }
}
