//! JSON as projected messages carry it: sorted keys, `", "` and `": "` between, non-ASCII as it is, and still JSON when
//! it had to be cut.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cut;

/// How much of each part of a value is written.
#[derive(Clone, Copy)]
struct Caps {
    string: usize,
    entries: usize,
    depth: usize,
    /// Writing stops here, in bytes; what was written then is thrown away.
    total: usize,
}

const NO_CAPS: Caps =
    Caps { string: usize::MAX, entries: usize::MAX, depth: usize::MAX, total: usize::MAX };

/// Longer keys are left out when a value is cut: a cut key could be mistaken for another.
const LONGEST_KEY: usize = 64;

/// Readers of JSON go 128 levels deep; this leaves room for what a message wraps around a value.
const DEEPEST: usize = 120;

/// The value of JSON text. Text that cannot be read, or is nested deeper than readers go, is taken for a string.
pub(crate) fn read(text: &str) -> Value {
    let value = serde_json::from_str(text).ok().filter(|value| is_within(value, DEEPEST));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(list) => levels > 0 && list.iter().all(|it| is_within(it, levels - 1)),
        Value::Object(object) => levels > 0 && object.values().all(|it| is_within(it, levels - 1)),
        _ => true,
    }
}

/// The value as JSON of at most `limit` characters: first long strings and lists are shortened, then deeper ones.
pub(crate) fn write(value: &Value, limit: usize) -> String {
    let fits = |text: &String| text.chars().count() <= limit;
    // No character takes more than four bytes, so a longer text cannot fit.
    let total = limit.saturating_mul(4);
    if let Some(text) = written(value, Caps { total, ..NO_CAPS }).filter(fits) {
        return text;
    }
    for step in 1..=8_u32 {
        let caps = Caps {
            string: (limit >> step).max(16),
            entries: (256_usize >> step).max(2),
            depth: (64_usize >> step).max(2),
            total,
        };
        if let Some(text) = written(value, caps).filter(fits) {
            return text;
        }
    }
    // An object stays an object, because arguments must be one.
    match value {
        Value::Object(object) => {
            format!(r#"{{"…": {}}}"#, left_out(object.len(), "entries"))
        }
        Value::Array(list) => format!("[{}]", left_out(list.len(), "elements")),
        _ => left_out(1, "value"),
    }
}

fn written(value: &Value, caps: Caps) -> Option<String> {
    let mut out = String::new();
    put(&mut out, value, caps, 0).then_some(out)
}

/// False if the text grew over its total.
fn put(out: &mut String, value: &Value, caps: Caps, depth: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
        Value::String(text) => put_string(out, text, caps.string),
        Value::Array(list) if depth >= caps.depth && !list.is_empty() => {
            out.push_str(&left_out(list.len(), "elements"));
        }
        Value::Object(object) if depth >= caps.depth && !object.is_empty() => {
            out.push_str(&left_out(object.len(), "entries"));
        }
        Value::Array(list) => {
            out.push('[');
            for (index, element) in list.iter().take(caps.entries).enumerate() {
                separate(out, index);
                if !put(out, element, caps, depth + 1) {
                    return false;
                }
            }
            if list.len() > caps.entries {
                separate(out, caps.entries);
                out.push_str(&left_out(list.len() - caps.entries, "more elements"));
            }
            out.push(']');
        }
        Value::Object(object) => {
            // The map of serde_json is sorted only as long as no crate asks it to keep the order.
            let sorted: BTreeMap<_, _> = object.iter().collect();
            let short = sorted.iter().filter(|(key, _)| {
                caps.entries == usize::MAX || key.chars().count() <= LONGEST_KEY
            });
            out.push('{');
            let mut count = 0;
            for (key, value) in short.take(caps.entries) {
                separate(out, count);
                put_string(out, key, usize::MAX);
                out.push_str(": ");
                if !put(out, value, caps, depth + 1) {
                    return false;
                }
                count += 1;
            }
            if object.len() > count {
                separate(out, count);
                out.push_str(&format!(
                    r#""…": {}"#,
                    left_out(object.len() - count, "more entries")
                ));
            }
            out.push('}');
        }
    }
    out.len() <= caps.total
}

fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push_str(", ");
    }
}

fn put_string(out: &mut String, text: &str, cap: usize) {
    let characters = text.chars().count();
    let value = if characters <= cap {
        Value::from(text)
    } else {
        let (head, tail) = cut::ends(text, characters, cap);
        Value::from(format!("{head}[… {} characters left out …]{tail}", characters - cap))
    };
    out.push_str(&value.to_string());
}

fn left_out(count: usize, what: &str) -> String {
    format!(r#""[… {count} {what} left out …]""#)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{read, write};

    #[test]
    fn keys_are_sorted_and_the_rest_stays_as_it_is() {
        let value = json!({"b": [1, 2.5, null, true], "a": {"ü": "ö\n\"", "k": {}}, "c": []});

        assert_eq!(
            write(&value, 4_000),
            r#"{"a": {"k": {}, "ü": "ö\n\""}, "b": [1, 2.5, null, true], "c": []}"#
        );
    }

    #[test]
    fn what_is_too_long_is_cut_inside_and_is_still_json() {
        let cases = [
            (
                json!({"text": "x".repeat(500), "n": 1}),
                r#"{"n": 1, "text": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx[… 400 characters left out …]xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#,
            ),
            (
                json!((0..1_000).collect::<Vec<_>>()),
                r#"[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, "[… 968 more elements left out …]"]"#,
            ),
            (json!({"k".repeat(300): 1}), r#"{"…": "[… 1 more entries left out …]"}"#),
        ];

        for (value, expected) in cases {
            let cut = write(&value, 200);
            assert_eq!(cut, expected);
            assert!(cut.chars().count() <= 200);
            serde_json::from_str::<Value>(&cut).unwrap();
        }
    }

    #[test]
    fn text_that_is_no_json_is_a_string() {
        assert_eq!(write(&read("{broken"), 100), r#""{broken""#);
    }
}
