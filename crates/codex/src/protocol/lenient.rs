//! Field readers that survive a field of an unexpected type.
//!
//! Codex changes while we run: an optional text becomes an object, a list gets a new kind of element. Such a field
//! reads as absent, such an element is left out, and the message around it still arrives; its raw text is kept by the
//! caller, so nothing is lost.
//!
//! Two things to know. A field read here must come from JSON *text*, not from `serde_json::Value`: the raw text of the
//! field is read twice, which only borrowed text allows without copies. And a field whose type is a struct uses the
//! `object` readers, because serde would also fill a struct from a list, by position.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A whole message. Anything but an object is an error.
pub(crate) fn message<'de, T: Deserialize<'de>>(raw: &'de RawValue) -> serde_json::Result<T> {
    if !is_object(raw) {
        return Err(serde_json::Error::custom("expected an object"));
    }
    serde_json::from_str(raw.get())
}

/// The field if it has the expected type.
pub(crate) fn option<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw = <&'de RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str::<Option<T>>(raw.get()).ok().flatten())
}

/// The field if it is an object of the expected shape.
pub(crate) fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(message(<&'de RawValue>::deserialize(deserializer)?).ok())
}

/// The field if it is an object of the expected shape, else its type's default.
pub(crate) fn object_or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(object(deserializer)?.unwrap_or_default())
}

/// The elements that are objects of the expected shape; none if the field is not a list.
pub(crate) fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let elements: Vec<&'de RawValue> = list(deserializer)?;
    Ok(elements.into_iter().filter_map(|raw| message(raw).ok()).collect())
}

/// The entries whose value is an object of the expected shape; none if the field is not an object.
pub(crate) fn object_map<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let entries: Option<BTreeMap<String, &'de RawValue>> = option(deserializer)?;
    let read = |(name, raw)| Some((name, message(raw).ok()?));
    Ok(entries.unwrap_or_default().into_iter().filter_map(read).collect())
}

/// The field if it is text, borrowed where it has no escapes.
pub(crate) fn borrowed_text<'de, D>(deserializer: D) -> Result<Option<Cow<'de, str>>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(option::<D, Text<'de>>(deserializer)?.map(|text| text.0))
}

/// `Cow` alone would copy; the attribute makes it borrow.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The field if it has the expected type, else its type's default.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(option(deserializer)?.unwrap_or_default())
}

/// The elements that have the expected type; none if the field is not a list.
pub(crate) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(option_list(deserializer)?.unwrap_or_default())
}

/// The elements that have the expected type; `None` if the field is not a list, which differs from an empty list.
pub(crate) fn option_list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let elements: Option<Vec<&'de RawValue>> = option(deserializer)?;
    Ok(elements.map(|elements| {
        elements.into_iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect()
    }))
}

/// The texts of a list whose elements are texts, or objects that carry one as `text`.
pub(crate) fn texts<'de, D>(deserializer: D) -> Result<Vec<String>, D::Error>
where
    D: Deserializer<'de>,
{
    let elements: Vec<&'de RawValue> = list(deserializer)?;
    let text = |raw: &'de RawValue| {
        let plain = serde_json::from_str::<String>(raw.get()).ok();
        plain.or_else(|| message::<TextPart>(raw).ok()?.text)
    };
    Ok(elements.into_iter().filter_map(text).collect())
}

#[derive(Deserialize)]
struct TextPart {
    #[serde(default, deserialize_with = "option")]
    text: Option<String>,
}

fn is_object(raw: &RawValue) -> bool {
    raw.get().trim_start().starts_with('{')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
    struct Inner {
        #[serde(default, deserialize_with = "super::or_default")]
        number: u64,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    struct View {
        #[serde(default, deserialize_with = "super::option")]
        text: Option<String>,
        #[serde(default, deserialize_with = "super::or_default")]
        number: u64,
        #[serde(default, deserialize_with = "super::list")]
        list: Vec<String>,
        #[serde(default, deserialize_with = "super::option_list")]
        maybe: Option<Vec<String>>,
        #[serde(default, deserialize_with = "super::object")]
        object: Option<Inner>,
        #[serde(default, deserialize_with = "super::object_or_default")]
        inner: Inner,
        #[serde(default, deserialize_with = "super::objects")]
        objects: Vec<Inner>,
        #[serde(default, deserialize_with = "super::object_map")]
        map: BTreeMap<String, Inner>,
        #[serde(default, deserialize_with = "super::texts")]
        texts: Vec<String>,
    }

    fn read(text: &str) -> View {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_field_of_another_type_reads_as_absent_and_costs_no_other_field() {
        let view = read(
            r#"{"text":{"a":[1]},"number":7,"list":3,"maybe":true,"object":"x","inner":1,"objects":{},"map":[],"new":0}"#,
        );

        assert_eq!(view, View { number: 7, ..View::default() });
    }

    #[test]
    fn a_list_is_never_taken_for_an_object() {
        let view =
            read(r#"{"object":[1],"inner":[2],"objects":[[3],{"number":4}],"map":{"a":[5]}}"#);

        assert_eq!(view, View { objects: vec![Inner { number: 4 }], ..View::default() });
    }

    #[test]
    fn elements_of_another_type_are_left_out_one_by_one() {
        let view = read(
            r#"{"text":"t","number":-1,"list":["a",1,"b",null],"maybe":[],"map":{"a":{"number":1},"b":"x"}}"#,
        );

        assert_eq!(
            view,
            View {
                text: Some("t".into()),
                list: vec!["a".into(), "b".into()],
                maybe: Some(vec![]),
                map: BTreeMap::from([("a".into(), Inner { number: 1 })]),
                ..View::default()
            }
        );
    }

    #[test]
    fn texts_may_come_inside_objects() {
        let view = read(r#"{"texts":["a",{"type":"summary_text","text":"b"},{"text":7},3,null]}"#);

        assert_eq!(view, View { texts: vec!["a".into(), "b".into()], ..View::default() });
    }

    #[test]
    fn null_and_missing_are_the_same() {
        let null = read(
            r#"{"text":null,"number":null,"list":null,"maybe":null,"object":null,"inner":null,"objects":null,"map":null}"#,
        );

        assert_eq!((null, read("{}")), (View::default(), View::default()));
    }
}
