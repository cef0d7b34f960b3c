//! Settings of Codex by dotted key, on top of those of its home.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// Dotted key to value. The values may hold secrets, so `Debug` names the keys alone.
#[derive(Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ConfigOverrides(BTreeMap<String, Value>);

impl ConfigOverrides {
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Value)> for ConfigOverrides {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl fmt::Debug for ConfigOverrides {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ConfigOverrides;

    #[test]
    fn values_are_sent_and_never_shown() {
        let overrides: ConfigOverrides = [("a.b".to_owned(), json!("hush"))].into_iter().collect();

        assert_eq!(serde_json::to_value(&overrides).unwrap(), json!({"a.b": "hush"}));
        assert_eq!(format!("{overrides:?}"), r#"{"a.b"}"#);
    }
}
