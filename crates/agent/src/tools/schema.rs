//! Whether arguments fit a tool's schema, said so that a model can do better.

use serde_json::{Map, Value};

/// What is wrong, for the model. Fields that are `null` count as left out: some models fill in every field.
pub(super) fn check(arguments: &mut Value, schema: &Value) -> Result<(), String> {
    drop_nulls(arguments);
    fits(arguments, schema, "the arguments")
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn fits(value: &Value, schema: &Value, place: &str) -> Result<(), String> {
    if let Some(wanted) = schema.get("type").and_then(Value::as_str)
        && !is_a(value, wanted)
    {
        return Err(format!("{place} must be of type {wanted}, not {}", kind(value)));
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        let choices: Vec<_> = choices.iter().map(Value::to_string).collect();
        return Err(format!("{place} must be one of {}, not {value}", choices.join(", ")));
    }
    if let Some(wrong) = out_of_bounds(value, schema) {
        return Err(format!("{place} {wrong}"));
    }
    match value {
        Value::Object(fields) => object_fits(fields, schema, place),
        Value::Array(items) => {
            let Some(of) = schema.get("items") else { return Ok(()) };
            let mut items = items.iter().enumerate();
            items.try_for_each(|(index, item)| fits(item, of, &format!("{place}[{index}]")))
        }
        _ => Ok(()),
    }
}

/// Of a number its value, of a text its letters, of a list its items.
fn out_of_bounds(value: &Value, schema: &Value) -> Option<String> {
    let (amount, names, what) = match value {
        Value::Number(number) => (number.as_f64()?, ["minimum", "maximum"], ""),
        Value::String(text) => {
            (text.chars().count() as f64, ["minLength", "maxLength"], " characters")
        }
        Value::Array(items) => (items.len() as f64, ["minItems", "maxItems"], " items"),
        _ => return None,
    };
    let [least, most] = names.map(|name| schema.get(name).and_then(Value::as_f64));
    let verb = if what.is_empty() { "be" } else { "have" };
    if let Some(least) = least.filter(|least| amount < *least) {
        return Some(format!("must {verb} at least {least}{what}, not {amount}"));
    }
    let most = most.filter(|most| amount > *most)?;
    Some(format!("must {verb} at most {most}{what}, not {amount}"))
}

fn object_fits(fields: &Map<String, Value>, schema: &Value, place: &str) -> Result<(), String> {
    let known = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    if let Some(missing) =
        required.filter_map(Value::as_str).find(|name| !fields.contains_key(*name))
    {
        return Err(format!("{place}: `{missing}` is missing"));
    }
    let Some(known) = known else { return Ok(()) };
    for (name, field) in fields {
        match known.get(name) {
            Some(schema) => fits(field, schema, &format!("`{name}`"))?,
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                let names: Vec<_> = known.keys().map(|name| format!("`{name}`")).collect();
                return Err(format!(
                    "{place}: there is no field `{name}`; the fields are {}",
                    names.join(", ")
                ));
            }
            None => {}
        }
    }
    Ok(())
}

fn is_a(value: &Value, wanted: &str) -> bool {
    match wanted {
        "integer" => value.is_i64() || value.is_u64(),
        other => kind(value) == other,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::json;

    #[test]
    fn what_does_not_fit_is_named_with_its_field() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
                "word": { "type": "string", "minLength": 1 },
                "urls": { "type": "array", "maxItems": 2 },
                "mode": { "type": "string", "enum": ["content", "name"] },
                "todos": { "type": "array", "items": {
                    "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"],
                } },
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let cases = [
            (json!({ "path": "a", "limit": 3, "mode": "name" }), ""),
            (json!({ "path": "a", "limit": null }), ""),
            (json!([]), "the arguments must be of type object, not array"),
            (json!({ "limit": 3 }), "the arguments: `path` is missing"),
            (json!({ "path": 3 }), "`path` must be of type string, not number"),
            (json!({ "path": "a", "limit": 1.5 }), "`limit` must be of type integer, not number"),
            (
                json!({ "path": "a", "mode": "x" }),
                "`mode` must be one of \"content\", \"name\", not \"x\"",
            ),
            (json!({ "path": "a", "limit": 0 }), "`limit` must be at least 1, not 0"),
            (json!({ "path": "a", "limit": 101 }), "`limit` must be at most 100, not 101"),
            (json!({ "path": "a", "word": "" }), "`word` must have at least 1 characters, not 0"),
            (json!({ "path": "a", "urls": [1, 2, 3] }), "`urls` must have at most 2 items, not 3"),
            (json!({ "path": "a", "todos": [{}] }), "`todos`[0]: `id` is missing"),
            (
                json!({ "path": "a", "lines": 3 }),
                "the arguments: there is no field `lines`; the fields are `limit`, `mode`, `path`, `todos`, `urls`, `word`",
            ),
        ];
        for (mut arguments, wanted) in cases {
            assert_eq!(check(&mut arguments, &schema).err().unwrap_or_default(), wanted);
        }
    }
}
