//! One setting on a command line: `key=value`.

use serde_json::Value;
use thiserror::Error;
use toml::Table;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no setting; write key=value")]
pub struct OverrideError(String);

/// A dotted key and its value. The value is TOML; what is no TOML is text, so that words need no quotes.
pub fn parse_override(text: &str) -> Result<(String, Value), OverrideError> {
    let named = text.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    let (key, value) = named
        .filter(|(key, _)| !key.is_empty() && !key.contains(char::is_whitespace))
        // The value may be a secret, and an error is shown.
        .ok_or_else(|| OverrideError(text.split('=').next().unwrap_or_default().to_owned()))?;
    let parsed: Option<Table> = toml::from_str(&format!("value = {value}")).ok();
    let parsed =
        parsed.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    let value = match parsed {
        Some(value) => serde_json::to_value(value).unwrap_or(Value::Null),
        None => Value::String(value.to_owned()),
    };
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_toml_or_else_text() {
        let read = |text| parse_override(text).map_err(|error| error.to_string());
        assert_eq!(read("a.b=true"), Ok(("a.b".into(), json!(true))));
        assert_eq!(read("a = [1, \"x\"]"), Ok(("a".into(), json!([1, "x"]))));
        assert_eq!(read("a={ b = 1.5 }"), Ok(("a".into(), json!({"b": 1.5}))));
        assert_eq!(
            read("model_provider=my server"),
            Ok(("model_provider".into(), json!("my server")))
        );
        assert_eq!(read("a=1\nb=2"), Ok(("a".into(), json!("1\nb=2"))));
        assert_eq!(read("a="), Ok(("a".into(), json!(""))));
        assert_eq!(read("just words"), Err("`just words` is no setting; write key=value".into()));
        assert_eq!(read("=hush"), Err("`` is no setting; write key=value".into()));
    }
}
