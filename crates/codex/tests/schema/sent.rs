//! The table names exactly what the params and answers write.
//!
//! Instances that together use every field and every word are serialised for every supported version. Whatever they
//! write must be in the table, and whatever is in the table must have been written.

use std::collections::{BTreeMap, BTreeSet};

use ostler_codex::protocol::CodexVersion;
use ostler_codex::protocol::versions::known;
use ostler_codex::schema::reliance::{Direction, Kind, Message, Part, messages};
use serde_json::Value;

use crate::codex_binary::supported;
use crate::sent_answers::answers;
use crate::sent_instances::{Sent, requests};

#[test]
fn what_we_send_is_exactly_what_the_table_says() {
    let mut written: BTreeMap<(Part, &str), BTreeSet<String>> = BTreeMap::new();
    for version in supported() {
        for Sent { part, method, value } in requests(version).into_iter().chain(answers()) {
            let message = messages()
                .find(|message| (message.part, message.method) == (part, method))
                .unwrap_or_else(|| panic!("{part} {method} is not in the table"));
            let paths = written.entry((part, method)).or_default();
            match message.fields {
                Some(fields) => walk(&value, &Kind::Object(fields), "", paths),
                None => assert_eq!(value, Value::Null),
            }
            assert_version_takes(version, message, &value);
        }
    }

    let tabled: BTreeMap<_, _> = messages()
        .filter(|message| message.part.direction() == Direction::Sent)
        .map(|message| ((message.part, message.method), tabled(message)))
        .collect();

    assert_eq!(written, tabled);
}

fn assert_version_takes(version: &str, message: &Message, value: &Value) {
    let version = CodexVersion::parse(version).unwrap();
    if message.part == Part::Request {
        for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
            assert!(known(message.method, Some(name)).covers(&version), "{version} {name}");
        }
    }
}

/// Notes every path and word of the value; panics where the value is not of the kind.
fn walk(value: &Value, kind: &Kind, path: &str, paths: &mut BTreeSet<String>) {
    match (kind, value) {
        (Kind::Any, _) | (Kind::Text, Value::String(_)) | (Kind::Boolean, Value::Bool(_)) => {}
        (Kind::Integer, Value::Number(number)) if number.is_i64() => {}
        (Kind::Words(words), Value::String(word)) if words.contains(&word.as_str()) => {
            paths.insert(format!("{path}={word}"));
        }
        (Kind::List(kind), Value::Array(elements)) => {
            for element in elements {
                walk(element, kind, &format!("{path}[]"), paths);
            }
        }
        (Kind::Map(kind), Value::Object(entries)) => {
            for entry in entries.values() {
                walk(entry, kind, &format!("{path}.*"), paths);
            }
        }
        (Kind::Object(fields), Value::Object(entries)) => {
            for (name, value) in entries {
                let field = fields.iter().find(|field| field.name == name);
                let field = field.unwrap_or_else(|| panic!("{path}.{name} is not in the table"));
                let below = format!("{path}.{name}");
                walk(value, &field.kind, &below, paths);
                paths.insert(below);
            }
        }
        (Kind::Tagged { tag, variants }, Value::Object(entries)) => {
            let word = entries[*tag].as_str().unwrap();
            let variant = variants.iter().find(|variant| variant.word == word);
            let variant = variant.unwrap_or_else(|| panic!("{path}<{word}> is not in the table"));
            let mut entries = entries.clone();
            entries.remove(*tag);
            let below = format!("{path}<{word}>");
            paths.insert(below.clone());
            walk(&Value::Object(entries), &Kind::Object(variant.fields), &below, paths);
        }
        (Kind::Either(options), _) => {
            let option = options.iter().find(|option| fits(value, option));
            walk(value, option.unwrap_or_else(|| panic!("{path}: {value}")), path, paths);
        }
        (Kind::Between(_, kind), _) => walk(value, kind, path, paths),
        _ => panic!("{path}: {value} is not of the kind in the table"),
    }
}

/// Whether the value is meant by this option.
fn fits(value: &Value, option: &Kind) -> bool {
    match (option, value) {
        (Kind::Between(_, option), _) => fits(value, option),
        (Kind::Words(words), Value::String(word)) => words.contains(&word.as_str()),
        (Kind::Text, Value::String(_)) => true,
        (Kind::Object(fields), Value::Object(entries)) => {
            entries.keys().all(|name| fields.iter().any(|field| field.name == name))
        }
        _ => false,
    }
}

/// Every path and word the table has for this message.
fn tabled(message: &Message) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    if let Some(fields) = message.fields {
        list(&Kind::Object(fields), "", &mut paths);
    }
    paths
}

fn list(kind: &Kind, path: &str, paths: &mut BTreeSet<String>) {
    match *kind {
        Kind::Any | Kind::Text | Kind::Integer | Kind::Boolean => {}
        Kind::Words(words) => paths.extend(words.iter().map(|word| format!("{path}={word}"))),
        Kind::List(kind) => list(kind, &format!("{path}[]"), paths),
        Kind::Map(kind) => list(kind, &format!("{path}.*"), paths),
        Kind::Object(fields) => {
            for field in fields {
                let below = format!("{path}.{}", field.name);
                list(&field.kind, &below, paths);
                paths.insert(below);
            }
        }
        Kind::Tagged { variants, .. } => {
            for variant in variants {
                let below = format!("{path}<{}>", variant.word);
                list(&Kind::Object(variant.fields), &below, paths);
                paths.insert(below);
            }
        }
        Kind::Either(options) => options.iter().for_each(|option| list(option, path, paths)),
        Kind::Between(_, kind) => list(kind, path, paths),
    }
}
