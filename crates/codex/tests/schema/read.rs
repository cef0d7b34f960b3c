//! The table names exactly the fields that the views read.
//!
//! A sample made from the table fills every field of its view, so the view reads nothing else; and taking any one
//! value out of the sample shows in the view, so the table names nothing that is not read.

use std::collections::BTreeMap;

use ostler_codex::protocol::{parse_notification, parse_server_request};
use ostler_codex::schema::reliance::{Direction, Field, Kind, Message, Part, messages};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::read_any::read_any;

fn read_messages() -> impl Iterator<Item = &'static Message> {
    messages().filter(|message| message.part.direction() == Direction::Read)
}

/// What our view of this message makes of the value.
fn shown(message: &Message, value: &Value) -> String {
    let raw: Box<RawValue> = to_raw_value(value).unwrap();
    match message.part {
        Part::Notification => format!("{:?}", parse_notification(message.method, &raw)),
        Part::ServerRequest => format!("{:?}", parse_server_request(message.method, &raw)),
        _ => match read_any(message.method, &raw) {
            Ok(shown) => shown,
            Err(error) => format!("unreadable: {error}"),
        },
    }
}

#[test]
fn a_full_sample_leaves_no_field_of_its_view_empty() {
    // What stays empty for a reason: JSON that is not looked into; the keys that early versions put a thread's id
    // under, which no schema has; the two details of an error class, which never come together; and what Codex adds to
    // an elicitation, which the schema leaves open.
    let exempt = [
        "Json({})",
        "bare_session_id: None, bare_thread_id: None",
        "http_status_code: None, turn_kind: None",
        "ElicitationMeta { codex_approval_kind: None, persist: [], tool_description: None, tool_params: None }",
    ];
    for message in read_messages() {
        let sample = samples(&Kind::Object(message.fields.unwrap())).remove(0);

        let mut shown = shown(message, &sample);

        for reason in exempt {
            shown = shown.replace(reason, "exempt");
        }
        for empty in ["None", "[]", "{}", "\"\"", ": 0", "false", "Unreadable", "unreadable"] {
            assert!(!shown.contains(empty), "{} {}: {shown}", message.part, message.method);
        }
    }
}

#[test]
fn every_value_of_a_sample_shows_in_its_view() {
    for message in read_messages() {
        // A value that happens to be what the view assumes by default does not show, but another sample's does.
        let mut shows: BTreeMap<String, bool> = BTreeMap::new();
        for sample in samples(&Kind::Object(message.fields.unwrap())) {
            let whole = shown(message, &sample);
            for (path, less) in with_one_taken_out(&sample) {
                let shows = shows.entry(path).or_default();
                *shows = *shows || whole != shown(message, &less);
            }
        }
        shows.retain(|_, shows| !*shows);
        assert!(shows.is_empty(), "{} {} does not read {shows:?}", message.part, message.method);
    }
}

#[test]
fn every_word_we_act_on_is_known_to_its_view() {
    for message in read_messages() {
        for sample in samples(&Kind::Object(message.fields.unwrap())) {
            let shown = shown(message, &sample);
            assert!(!shown.contains("Other"), "{} {}: {shown}", message.part, message.method);
        }
    }
}

/// Values of a kind: first one that is full, then one for each further choice the kind has.
fn samples(kind: &Kind) -> Vec<Value> {
    match *kind {
        Kind::Any => vec![json!({})],
        Kind::Text => vec![json!("text")],
        Kind::Words(words) => words.iter().rev().map(|word| json!(word)).collect(),
        Kind::Integer => vec![json!(7)],
        Kind::Boolean => vec![json!(true)],
        Kind::List(element) => samples(element).into_iter().map(|value| json!([value])).collect(),
        Kind::Map(entry) => samples(entry).into_iter().map(|value| json!({"key": value})).collect(),
        Kind::Object(fields) => objects(fields),
        Kind::Tagged { tag, variants } => {
            let tagged = |word: &str, mut value: Value| {
                value[tag] = json!(word);
                value
            };
            variants
                .iter()
                .flat_map(|variant| {
                    objects(variant.fields).into_iter().map(|value| tagged(variant.word, value))
                })
                .collect()
        }
        Kind::Either(options) => options.iter().flat_map(samples).collect(),
        Kind::Between(_, kind) => samples(kind),
    }
}

fn objects(fields: &[Field]) -> Vec<Value> {
    let choices: Vec<_> = fields.iter().map(|field| (field.name, samples(&field.kind))).collect();
    let mut full = json!({});
    for (name, values) in &choices {
        full[*name] = values[0].clone();
    }
    let mut objects = vec![full.clone()];
    for (name, values) in choices {
        for value in values.into_iter().skip(1) {
            let mut other = full.clone();
            other[name] = value;
            objects.push(other);
        }
    }
    objects
}

/// The value again and again, each time with one entry or element missing. The path names the kind of a tagged object,
/// so that the same field of two kinds counts twice.
fn with_one_taken_out(value: &Value) -> Vec<(String, Value)> {
    let mut results = Vec::new();
    match value {
        Value::Object(entries) => {
            let kind = entries.get("type").and_then(Value::as_str).unwrap_or_default();
            for (name, inner) in entries {
                let mut less = value.clone();
                less.as_object_mut().unwrap().remove(name);
                results.push((format!("<{kind}>{name}"), less));
                for (path, inner) in with_one_taken_out(inner) {
                    let mut less = value.clone();
                    less[name] = inner;
                    results.push((format!("<{kind}>{name}.{path}"), less));
                }
            }
        }
        Value::Array(elements) => {
            results.push(("[]".to_owned(), json!([])));
            for (path, inner) in elements.iter().flat_map(with_one_taken_out) {
                results.push((format!("[].{path}"), json!([inner])));
            }
        }
        _ => {}
    }
    results
}
