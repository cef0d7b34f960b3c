//! A JSON schema node, spread out into the alternatives it allows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::bundle::Bundle;

/// The types of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum JsonType {
    Array,
    Boolean,
    Integer,
    Null,
    Number,
    Object,
    String,
}

const ALL_TYPES: [JsonType; 7] = [
    JsonType::Array,
    JsonType::Boolean,
    JsonType::Integer,
    JsonType::Null,
    JsonType::Number,
    JsonType::Object,
    JsonType::String,
];

/// One way in which a value may satisfy a schema: `$ref`, `allOf`, `anyOf` and `oneOf` resolved.
#[derive(Debug, Clone, Default)]
pub(super) struct Alternative<'a> {
    pub(super) types: BTreeSet<JsonType>,
    pub(super) properties: BTreeMap<&'a str, Vec<&'a Value>>,
    pub(super) required: BTreeSet<&'a str>,
    /// The only texts allowed; `None` if any text is.
    pub(super) words: Option<Vec<&'a str>>,
    pub(super) items: Vec<&'a Value>,
    pub(super) entries: Vec<&'a Value>,
}

impl JsonType {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "array" => Some(Self::Array),
            "boolean" => Some(Self::Boolean),
            "integer" => Some(Self::Integer),
            "null" => Some(Self::Null),
            "number" => Some(Self::Number),
            "object" => Some(Self::Object),
            "string" => Some(Self::String),
            _ => None,
        }
    }
}

impl fmt::Display for JsonType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Array => "list",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Null => "null",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "text",
        })
    }
}

/// All alternatives of a node. A node that says nothing allows everything.
pub(super) fn alternatives<'a>(bundle: &'a Bundle, node: &'a Value) -> Vec<Alternative<'a>> {
    let mut ways = vec![own(node)];
    if let Some(target) = reference(bundle, node) {
        ways = combined(&ways, &alternatives(bundle, target));
    }
    for part in list(node, "allOf") {
        ways = combined(&ways, &alternatives(bundle, part));
    }
    for choice in ["anyOf", "oneOf"] {
        let options: Vec<_> =
            list(node, choice).flat_map(|option| alternatives(bundle, option)).collect();
        if !options.is_empty() {
            ways = combined(&ways, &options);
        }
    }
    ways
}

/// What the node says by itself.
fn own(node: &Value) -> Alternative<'_> {
    let words = node.get("enum").and_then(Value::as_array);
    Alternative {
        types: types(node),
        properties: node
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, property)| (name.as_str(), vec![property]))
            .collect(),
        required: list(node, "required").filter_map(Value::as_str).collect(),
        words: words
            .map(|words| words.iter().filter_map(Value::as_str).collect())
            .or_else(|| Some(vec![node.get("const")?.as_str()?])),
        items: node.get("items").into_iter().collect(),
        entries: node
            .get("additionalProperties")
            .filter(|more| more.is_object())
            .into_iter()
            .collect(),
    }
}

fn types(node: &Value) -> BTreeSet<JsonType> {
    match node.get("type") {
        Some(Value::String(name)) => JsonType::parse(name).into_iter().collect(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter_map(JsonType::parse).collect()
        }
        _ if node.is_null() => BTreeSet::from([JsonType::Null]),
        _ => BTreeSet::from(ALL_TYPES),
    }
}

fn reference<'a>(bundle: &'a Bundle, node: &Value) -> Option<&'a Value> {
    bundle.resolve(node.get("$ref")?.as_str()?)
}

fn list<'a>(node: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    node.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// Every pair of ways that can hold at once.
fn combined<'a>(left: &[Alternative<'a>], right: &[Alternative<'a>]) -> Vec<Alternative<'a>> {
    left.iter().flat_map(|left| right.iter().map(|right| both(left, right))).collect()
}

fn both<'a>(left: &Alternative<'a>, right: &Alternative<'a>) -> Alternative<'a> {
    let mut properties = left.properties.clone();
    for (name, nodes) in &right.properties {
        properties.entry(name).or_default().extend(nodes);
    }
    let words = match (&left.words, &right.words) {
        (Some(left), Some(right)) => {
            Some(left.iter().filter(|word| right.contains(word)).copied().collect())
        }
        (words, None) | (None, words) => words.clone(),
    };
    Alternative {
        types: left.types.intersection(&right.types).copied().collect(),
        properties,
        required: left.required.union(&right.required).copied().collect(),
        words,
        items: left.items.iter().chain(&right.items).copied().collect(),
        entries: left.entries.iter().chain(&right.entries).copied().collect(),
    }
}
