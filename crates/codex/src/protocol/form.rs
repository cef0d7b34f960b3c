//! The form inside an elicitation: a flat JSON schema becomes fields, and filled fields become JSON.

use std::collections::BTreeMap;

use ostler_model::form::{FormField, FormFieldKind, FormOption, FormValue};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::json::Json;
use super::lenient;

/// The fields the schema asks for, in alphabetical order because JSON objects have none of their own.
pub fn fields(schema: &Json) -> Vec<FormField> {
    let form: FormSchema = lenient::message(schema.as_raw()).unwrap_or_default();
    form.properties
        .into_iter()
        .map(|(name, property)| FormField {
            required: form.required.contains(&name),
            title: property.title.clone(),
            description: property.description.clone(),
            kind: property.field_kind(),
            name,
        })
        .collect()
}

/// The filled form as the JSON object an MCP server expects.
pub fn content(values: &BTreeMap<String, FormValue>) -> Value {
    let entry = |(name, value): (&String, &FormValue)| {
        let value = match value {
            FormValue::Text(text) => Value::from(text.as_str()),
            FormValue::Number(number) => Value::from(*number),
            FormValue::Integer(number) => Value::from(*number),
            FormValue::Boolean(flag) => Value::from(*flag),
            FormValue::Choices(words) => Value::from(words.clone()),
        };
        (name.clone(), value)
    };
    Value::Object(values.iter().map(entry).collect::<Map<_, _>>())
}

#[derive(Default, Deserialize)]
struct FormSchema {
    #[serde(default, deserialize_with = "lenient::object_map")]
    properties: BTreeMap<String, Property>,
    #[serde(default, deserialize_with = "lenient::list")]
    required: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Property {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    kind: String,
    #[serde(default, deserialize_with = "lenient::option")]
    title: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    description: Option<String>,
    #[serde(default, rename = "enum", deserialize_with = "lenient::list")]
    words: Vec<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    enum_names: Vec<String>,
    #[serde(default, deserialize_with = "lenient::objects")]
    one_of: Vec<ConstOption>,
    #[serde(default, deserialize_with = "lenient::objects")]
    any_of: Vec<ConstOption>,
    #[serde(default, deserialize_with = "lenient::object")]
    items: Option<Box<Self>>,
}

#[derive(Deserialize)]
struct ConstOption {
    #[serde(rename = "const")]
    value: String,
    #[serde(default, deserialize_with = "lenient::option")]
    title: Option<String>,
}

impl Property {
    fn field_kind(&self) -> FormFieldKind {
        match (self.kind.as_str(), &self.items) {
            ("array", Some(items)) => FormFieldKind::Choices(items.options()),
            ("string", _) if !self.options().is_empty() => FormFieldKind::Choice(self.options()),
            ("string", _) => FormFieldKind::Text,
            ("number", _) => FormFieldKind::Number,
            ("integer", _) => FormFieldKind::Integer,
            ("boolean", _) => FormFieldKind::Boolean,
            _ => FormFieldKind::Other(self.kind.clone()),
        }
    }

    fn options(&self) -> Vec<FormOption> {
        let named = self.one_of.iter().chain(&self.any_of);
        let named = named
            .map(|option| FormOption { value: option.value.clone(), title: option.title.clone() });
        let plain = self.words.iter().enumerate().map(|(index, word)| FormOption {
            value: word.clone(),
            title: self.enum_names.get(index).cloned(),
        });
        named.chain(plain).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ostler_model::form::{FormField, FormFieldKind, FormOption, FormValue};
    use serde_json::json;

    use super::{Json, content, fields};

    fn option(value: &str, title: Option<&str>) -> FormOption {
        FormOption { value: value.into(), title: title.map(Into::into) }
    }

    #[test]
    fn every_kind_of_field_of_the_mcp_standard_is_read() {
        let schema: Json = serde_json::from_str(
            r#"{"type":"object","required":["age"],"properties":{
                "age":{"type":"integer","title":"Age"},
                "colour":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]},
                "height":{"type":"number"},
                "many":{"type":"array","items":{"type":"string","enum":["a","b"]}},
                "moon":{"type":"crater"},
                "name":{"type":"string","description":"who"},
                "size":{"type":"string","oneOf":[{"const":"s","title":"Small"}]},
                "sure":{"type":"boolean"},
                "titled":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}}}"#,
        )
        .unwrap();

        let kinds: Vec<_> =
            fields(&schema).into_iter().map(|field| (field.name, field.kind)).collect();

        assert_eq!(
            kinds,
            [
                ("age", FormFieldKind::Integer),
                (
                    "colour",
                    FormFieldKind::Choice(vec![
                        option("r", Some("Red")),
                        option("g", Some("Green"))
                    ])
                ),
                ("height", FormFieldKind::Number),
                ("many", FormFieldKind::Choices(vec![option("a", None), option("b", None)])),
                ("moon", FormFieldKind::Other("crater".into())),
                ("name", FormFieldKind::Text),
                ("size", FormFieldKind::Choice(vec![option("s", Some("Small"))])),
                ("sure", FormFieldKind::Boolean),
                ("titled", FormFieldKind::Choices(vec![option("x", Some("X"))])),
            ]
            .map(|(name, kind)| (name.to_owned(), kind))
        );
        assert_eq!(
            fields(&schema).first(),
            Some(&FormField {
                name: "age".into(),
                title: Some("Age".into()),
                description: None,
                kind: FormFieldKind::Integer,
                required: true,
            })
        );
    }

    #[test]
    fn a_filled_form_is_a_plain_object() {
        let values = BTreeMap::from([
            ("a".to_owned(), FormValue::Integer(3)),
            ("b".to_owned(), FormValue::Choices(vec!["x".into()])),
            ("c".to_owned(), FormValue::Boolean(true)),
        ]);

        assert_eq!(content(&values), json!({"a": 3, "b": ["x"], "c": true}));
    }
}
