//! A JSON-RPC id, with its JSON type.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The id exactly as it stood on the wire. `0` and `"0"` are different ids: Codex silently ignores an answer whose
/// id has the other type, and the turn hangs, so the text is kept and echoed, never converted.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(Box<str>);

impl RequestId {
    pub fn integer(id: i64) -> Self {
        Self(id.to_string().into())
    }

    /// Reads an id back from the text that [`RequestId::as_json`] gave, as a store keeps it.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<&RawValue>(text).map(Self::from_raw)
    }

    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        Self(raw.get().into())
    }

    /// The id as JSON text, quotes included when it is a string.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    pub(crate) fn as_integer(&self) -> Option<i64> {
        self.0.parse().ok()
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RequestId({})", self.0)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0)
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self::from_raw(&raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_json_type() {
        let number = RequestId::from_json("0").unwrap();
        let text = RequestId::from_json("\"0\"").unwrap();
        assert_ne!(number, text);
        assert_eq!(serde_json::to_string(&[&number, &text]).unwrap(), r#"[0,"0"]"#);
    }

    #[test]
    fn big_negative_and_strange_ids_are_echoed_as_they_came() {
        for id in ["-7", "18446744073709551616", "1.50", "\"a\\u00e9\\n\"", "1e3"] {
            let echoed = serde_json::to_string(&RequestId::from_json(id).unwrap()).unwrap();
            assert_eq!(echoed, id);
        }
    }
}
